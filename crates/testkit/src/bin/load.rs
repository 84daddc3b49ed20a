//! A load generator for loopback, bounded in connections and time. Prints one JSON object: requests,
//! failures, seconds, latencies and gaps in microseconds, and pieces of streams.
//!
//! `load URL CONNECTIONS SECONDS BODY [HEADER:VALUE…]`

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use memchr::memmem::find_iter;
use std::io::{self, Write};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

const CONNECTIONS_MAX: usize = 1024;
const SECONDS_MAX: f64 = 60.0;
/// What stands before the words of a chunk.
const CONTENT: &[u8] = b"\"content\":";

/// What one connection saw.
#[derive(Default)]
struct Tally {
    failed: usize,
    /// To the end of each answer.
    whole: Vec<f64>,
    /// To the first word of each stream; to the first byte of what is none.
    first: Vec<f64>,
    /// The longest silence inside each answer.
    gap: Vec<f64>,
    /// `data:` lines.
    pieces: usize,
}

#[derive(Clone)]
struct Job {
    url: Uri,
    body: Bytes,
    headers: Vec<(String, String)>,
    until: Instant,
}

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(run()).map_err(io::Error::other)?;
    writeln!(io::stdout(), "{report}")
}

async fn run() -> Result<serde_json::Value, Box<dyn std::error::Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let mut next = |name: &str| args.next().ok_or(format!("{name} is missing"));
    let url: Uri = next("URL")?.parse()?;
    let connections = next("CONNECTIONS")?.parse::<usize>()?.clamp(1, CONNECTIONS_MAX);
    let seconds = next("SECONDS")?.parse::<f64>()?.clamp(0.1, SECONDS_MAX);
    let body = Bytes::from(next("BODY")?);
    if !matches!(url.host(), Some("127.0.0.1" | "localhost")) {
        return Err("load goes to loopback only".into());
    }
    let header = |it: String| {
        it.split_once(':').map(|(name, value)| (name.to_string(), value.trim().to_string()))
    };
    let headers = args.filter_map(header).collect();
    let began = Instant::now();
    let job = Job { url, body, headers, until: began + Duration::from_secs_f64(seconds) };
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        tasks.spawn(ask_on(job.clone()));
    }
    let mut all = Tally::default();
    while let Some(done) = tasks.join_next().await {
        let tally = done??;
        all.failed += tally.failed;
        all.pieces += tally.pieces;
        all.whole.extend(tally.whole);
        all.first.extend(tally.first);
        all.gap.extend(tally.gap);
    }
    let took = began.elapsed().as_secs_f64();
    Ok(serde_json::json!({
        "requests": all.whole.len(), "failed": all.failed, "seconds": took,
        "per_second": all.whole.len() as f64 / took,
        "pieces_per_second": all.pieces as f64 / took,
        "p50_us": quantile(&mut all.whole, 0.5), "p99_us": quantile(&mut all.whole, 0.99),
        "first_p50_us": quantile(&mut all.first, 0.5),
        "gap_p50_us": quantile(&mut all.gap, 0.5),
    }))
}

fn quantile(times: &mut [f64], at: f64) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(((times.len() as f64 * at) as usize).min(times.len().saturating_sub(1))).copied()
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// One request after another on one connection.
async fn ask_on(job: Job) -> Result<Tally, Failed> {
    let at = job.url.authority().ok_or("no host")?.to_string();
    let socket = TcpStream::connect(&at).await?;
    socket.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    let mut tally = Tally::default();
    while Instant::now() < job.until {
        sender.ready().await?;
        ask(&mut sender, &job, &at, &mut tally).await?;
    }
    Ok(tally)
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    job: &Job,
    at: &str,
    tally: &mut Tally,
) -> Result<(), Failed> {
    let path = job.url.path_and_query().map_or("/", |it| it.as_str());
    let mut request = Request::post(path).header("host", at);
    request = request.header("content-type", "application/json");
    for (name, value) in &job.headers {
        request = request.header(name, value);
    }
    let began = Instant::now();
    let answer = sender.send_request(request.body(Full::new(job.body.clone()))?).await?;
    let ok = answer.status().is_success();
    let (mut body, mut last, mut first, mut gap) = (answer.into_body(), began, None, 0.0_f64);
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        let Some(bytes) = frame.data_ref() else { continue };
        let (now, pieces) = (Instant::now(), find_iter(bytes, b"data:").count());
        tally.pieces += pieces;
        match first {
            None if pieces > 0 && !has_words(bytes) => {}
            None => first = Some((now - began).as_secs_f64() * 1e6),
            Some(_) => gap = gap.max((now - last).as_secs_f64() * 1e6),
        }
        last = now;
    }
    tally.failed += usize::from(!ok);
    tally.whole.push(began.elapsed().as_secs_f64() * 1e6);
    tally.first.extend(first);
    tally.gap.push(gap);
    Ok(())
}

/// Whether an event with a word in it is among these; the first one of a stream is empty.
fn has_words(bytes: &[u8]) -> bool {
    let is_word = |at: usize| {
        let value = bytes[at + CONTENT.len()..].trim_ascii_start();
        matches!(value, [b'"', first, ..] if *first != b'"')
    };
    find_iter(bytes, CONTENT).any(is_word)
}
