//! A face that listens, and a client that says exactly what it is told to.

use super::super::{Bound, Limits, Options, Token, serve};
use crate::config::World;
use crate::service::Service;
use althing_stdx::redact::Secret;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub const TOKEN: &str = "a-token-of-the-tests-that-opens-it";
/// Opens what a test is a client of.
pub const KEY: &str = "sk-test-0123456789abcdef";
/// Nothing here takes so long; a test that waits longer has failed.
const FOR_EVER: Duration = Duration::from_secs(30);

/// A face on a machine with nothing else on it.
pub struct Face {
    pub service: Arc<Service>,
    pub address: SocketAddr,
    pub stop: CancellationToken,
    pub bound: Bound,
    _home: TempDir,
}

impl Face {
    pub async fn start(limits: Limits) -> Face {
        Face::with(limits, &[]).await
    }

    /// As `start`, with these variables set.
    pub async fn with(limits: Limits, env: &[(&str, &str)]) -> Face {
        Face::at("127.0.0.1:0", limits, env).await
    }

    /// As `with`, at an address.
    pub async fn at(address: &str, limits: Limits, env: &[(&str, &str)]) -> Face {
        let home = tempfile::tempdir().unwrap();
        let nobody = ["OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMASWAP_BASE_URL"];
        let nobody = nobody.map(|name| (name.to_string(), "http://127.0.0.1:9".to_string()));
        let mut all: BTreeMap<String, String> = nobody.into_iter().collect();
        all.extend(env.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        let folder = home.path().to_path_buf();
        let world = World { env: all, cwd: folder.clone(), home: folder };
        let service = Service::open(world).await.unwrap();
        let options = Options {
            address: address.parse().unwrap(),
            token: Token::new(Secret::new(TOKEN)),
            limits,
        };
        let stop = CancellationToken::new();
        let bound = serve(service.clone(), options, stop.clone()).await.unwrap();
        Face { service, address: bound.address(), stop, bound, _home: home }
    }

    pub async fn connect(&self) -> Line {
        Line { socket: TcpStream::connect(self.address).await.unwrap() }
    }

    /// One request on a connection of its own.
    pub async fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut line = self.connect().await;
        line.send(&self.request(method, path, "", body)).await;
        line.answer().await
    }

    /// What opens the pages of this face.
    pub fn page_key(&self) -> String {
        self.bound.page("").rsplit_once('=').unwrap().1.to_string()
    }

    /// A request as an honest client writes it, with more headers where some are given.
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let (host, length) = (self.address, body.len());
        let page_key = self.page_key();
        let token = if path.starts_with("/ui") { &page_key } else { TOKEN };
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-length: {length}\r\n{headers}\r\n{body}"
        )
    }
}

/// One connection.
pub struct Line {
    pub socket: TcpStream,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

impl Line {
    pub async fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).await.unwrap();
    }

    /// A whole answer that says how long it is.
    pub async fn answer(&mut self) -> Answer {
        let mut text = String::new();
        loop {
            if let Some(answer) = whole(&text) {
                return answer;
            }
            let mut piece = [0; 4096];
            let read = timeout(FOR_EVER, self.socket.read(&mut piece)).await.unwrap().unwrap();
            assert!(read > 0, "it ended within an answer: {text:?}");
            text += std::str::from_utf8(&piece[..read]).unwrap();
        }
    }

    /// Reads until the words of the stream have `text`, however they are cut.
    pub async fn until(&mut self, text: &str) {
        let mut got = String::new();
        while !told(&got).contains(text) {
            let mut piece = [0; 4096];
            let read = timeout(FOR_EVER, self.socket.read(&mut piece)).await.unwrap().unwrap();
            assert!(read > 0, "it ended before {text:?}: {got:?}");
            got += std::str::from_utf8(&piece[..read]).unwrap();
        }
    }

    /// Everything until the other side closes; an abrupt end is an end too.
    pub async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(read) = timeout(FOR_EVER, self.socket.read(&mut piece)).await.unwrap() {
            if read == 0 {
                break;
            }
            bytes.extend_from_slice(&piece[..read]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The words of a stream of OpenAI's chat, as far as it has come.
pub fn told(stream: &str) -> String {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    // What is no JSON is the mark of the end, or a line that is still coming.
    let events = lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let text = |event: serde_json::Value| {
        event["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_string()
    };
    events.map(text).collect()
}

fn whole(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |it| it.parse().unwrap());
    let status = head.split(' ').nth(1)?.parse().unwrap();
    (body.len() >= length).then(|| Answer { status, head, body: body[..length].into() })
}
