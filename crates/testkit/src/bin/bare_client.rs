//! The calls of a standard discussion of three models with nothing around them: what any client
//! pays for them on this machine. Prints the milliseconds of each round as one JSON array.
//!
//! `bare_client URL ROUNDS`

use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use std::io::{self, Write};
use tokio::net::TcpStream;
use tokio::time::Instant;

const ROUNDS_MAX: usize = 1000;
/// How many calls are made at once: answers, critiques, six turns, positions, synthesis.
const SHAPE: [usize; 10] = [3, 3, 1, 1, 1, 1, 1, 1, 3, 1];
const AT_ONCE: usize = 3;

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let times = runtime.block_on(run()).map_err(io::Error::other)?;
    writeln!(io::stdout(), "{}", serde_json::json!(times))
}

async fn run() -> Result<Vec<f64>, Failed> {
    let mut args = std::env::args().skip(1);
    let mut next = |name: &str| args.next().ok_or(format!("{name} is missing"));
    let url: Uri = format!("{}/v1/chat/completions", next("URL")?).parse()?;
    let rounds = next("ROUNDS")?.parse::<usize>()?.clamp(1, ROUNDS_MAX);
    if url.host() != Some("127.0.0.1") {
        return Err("bare_client goes to loopback only".into());
    }
    let mut connections = vec![];
    for _ in 0..AT_ONCE {
        connections.push(connect(&url).await?);
    }
    let mut times = vec![];
    for _ in 0..rounds {
        let began = Instant::now();
        for width in SHAPE {
            try_join_all(connections[..width].iter_mut().map(|it| call(it, &url))).await?;
        }
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

async fn connect(url: &Uri) -> Result<SendRequest<Full<Bytes>>, Failed> {
    let socket = TcpStream::connect(url.authority().ok_or("no host")?.as_str()).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// One streamed answer to its end.
async fn call(sender: &mut SendRequest<Full<Bytes>>, url: &Uri) -> Result<(), Failed> {
    const BODY: &str =
        r#"{"model":"alpha","stream":true,"messages":[{"role":"user","content":"Hello?"}]}"#;
    sender.ready().await?;
    let request = Request::post(url.path())
        .header("host", url.authority().ok_or("no host")?.as_str())
        .header("authorization", "Bearer sk-bench-0123456789abcdef0123")
        .header("content-type", "application/json")
        .body(Full::from(BODY))?;
    let answer = sender.send_request(request).await?;
    if !answer.status().is_success() {
        return Err(format!("answered {}", answer.status()).into());
    }
    answer.into_body().collect().await?;
    Ok(())
}
