//! A backend with nothing around its calls: what any backend pays for them, its pipes and its
//! pauses on this machine.

use crate::Failed;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::io::{self, Write};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

/// How many calls are made at once in each phase: answers, critiques, six turns, positions,
/// synthesis.
const PHASES: [&[usize]; 5] = [&[3], &[3], &[1, 1, 1, 1, 1, 1], &[3], &[1]];
const AT_ONCE: usize = 3;

type Sender = SendRequest<Full<Bytes>>;

struct Bare {
    runtime: Runtime,
    url: Uri,
    key: String,
    bodies: Vec<Bytes>,
    connections: Vec<Sender>,
}

/// Serves standard input: a line with the bodies of one discussion's calls, in their order, and then
/// a line for each time they shall be made.
pub fn serve(origin: &str, key: &str) -> Result<(), Failed> {
    let mut lines = io::stdin().lines();
    let mut next = || lines.next().transpose();
    let mut out = io::stdout().lock();
    writeln!(out, "{}", json!({"method": "ready"}))?;
    let bodies: Vec<String> = serde_json::from_str(&next()?.ok_or("no bodies")?)?;
    let mut bare = Bare::new(origin, key, bodies)?;
    while let Some(_request) = next()? {
        let mut from = 0;
        for (at, widths) in PHASES.iter().enumerate() {
            if at > 0 {
                writeln!(out, "{}", json!({"method": "phase_complete"}))?;
                next()?;
            }
            for width in *widths {
                for text in bare.calls(from, *width)? {
                    writeln!(out, "{}", json!({"method": "said", "params": {"text": text}}))?;
                }
                from += width;
            }
        }
        writeln!(out, "{}", json!({"id": 1, "result": {"status": "completed"}}))?;
    }
    Ok(())
}

impl Bare {
    fn new(origin: &str, key: &str, bodies: Vec<String>) -> Result<Bare, Failed> {
        let calls: usize = PHASES.iter().copied().flatten().sum();
        if bodies.len() != calls {
            return Err(format!("a discussion made {} calls, not {calls}", bodies.len()).into());
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let url: Uri = format!("{origin}/v1/chat/completions").parse()?;
        let mut connections = vec![];
        for _ in 0..AT_ONCE {
            connections.push(runtime.block_on(connect(&url))?);
        }
        let bodies = bodies.into_iter().map(Bytes::from).collect();
        Ok(Bare { runtime, url, key: format!("Bearer {key}"), bodies, connections })
    }

    /// So many calls at once, and what was said.
    fn calls(&mut self, from: usize, width: usize) -> Result<Vec<String>, Failed> {
        let Bare { runtime, url, key, bodies, connections } = self;
        let calls = connections.iter_mut().zip(&bodies[from..from + width]);
        let calls = calls.map(|(it, body)| call(it, url, key, body.clone()));
        runtime.block_on(try_join_all(calls))
    }
}

async fn connect(url: &Uri) -> Result<Sender, Failed> {
    let socket = TcpStream::connect(url.authority().ok_or("no host")?.as_str()).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// One answer to its end, its words read: nobody calls a model for less.
async fn call(sender: &mut Sender, url: &Uri, key: &str, body: Bytes) -> Result<String, Failed> {
    sender.ready().await?;
    let request = Request::post(url.path())
        .header("host", url.authority().ok_or("no host")?.as_str())
        .header("authorization", key)
        .header("content-type", "application/json")
        .body(Full::from(body))?;
    let answer = sender.send_request(request).await?;
    if !answer.status().is_success() {
        return Err(format!("answered {}", answer.status()).into());
    }
    let body = answer.into_body().collect().await?.to_bytes();
    let words = words(&body)?;
    if words.is_empty() { Err("said nothing".into()) } else { Ok(words) }
}

/// Those of a stream, or of an answer that came at once.
fn words(body: &[u8]) -> Result<String, Failed> {
    if body.first() == Some(&b'{') {
        let whole: Value = serde_json::from_slice(body)?;
        return Ok(whole["choices"][0]["message"]["content"].as_str().unwrap_or_default().into());
    }
    let mut words = String::new();
    for line in body.split(|it| *it == b'\n') {
        let Some(data) = line.strip_prefix(b"data: ").filter(|it| *it != b"[DONE]") else {
            continue;
        };
        let event: Value = serde_json::from_slice(data)?;
        words.push_str(event["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
    }
    Ok(words)
}
