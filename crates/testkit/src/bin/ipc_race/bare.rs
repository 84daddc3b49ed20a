//! The calls of a discussion with nothing around them: what any client pays for them on this
//! machine.

use crate::Failed;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

/// How many calls are made at once: answers, critiques, six turns, positions, synthesis.
const SHAPE: [usize; 10] = [3, 3, 1, 1, 1, 1, 1, 1, 3, 1];
const AT_ONCE: usize = 3;

type Sender = SendRequest<Full<Bytes>>;

pub struct Bare {
    runtime: Runtime,
    url: Uri,
    key: &'static str,
    bodies: Vec<Bytes>,
    connections: Vec<Sender>,
}

impl Bare {
    /// Connects as often as calls are made at once. `bodies` are those of a discussion, in order.
    pub fn new(origin: &str, key: &'static str, bodies: Vec<String>) -> Result<Bare, Failed> {
        let calls = SHAPE.iter().sum::<usize>();
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
        Ok(Bare { runtime, url, key, bodies, connections })
    }

    /// All calls once, in milliseconds.
    pub fn round(&mut self) -> Result<f64, Failed> {
        let Bare { runtime, url, key, bodies, connections } = self;
        let mut rest = &bodies[..];
        runtime.block_on(async {
            let began = Instant::now();
            for width in SHAPE {
                let (now, later) = rest.split_at(width);
                rest = later;
                let calls = connections.iter_mut().zip(now);
                try_join_all(calls.map(|(it, body)| call(it, url, key, body.clone()))).await?;
            }
            Ok(began.elapsed().as_secs_f64() * 1e3)
        })
    }
}

async fn connect(url: &Uri) -> Result<Sender, Failed> {
    let socket = TcpStream::connect(url.authority().ok_or("no host")?.as_str()).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// One streamed answer to its end, its words read: nobody calls a model for less.
async fn call(sender: &mut Sender, url: &Uri, key: &str, body: Bytes) -> Result<(), Failed> {
    sender.ready().await?;
    let request = Request::post(url.path())
        .header("host", url.authority().ok_or("no host")?.as_str())
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Full::from(body))?;
    let answer = sender.send_request(request).await?;
    if !answer.status().is_success() {
        return Err(format!("answered {}", answer.status()).into());
    }
    let body = answer.into_body().collect().await?.to_bytes();
    if words(&body)?.is_empty() { Err("said nothing".into()) } else { Ok(()) }
}

fn words(body: &[u8]) -> Result<String, Failed> {
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
