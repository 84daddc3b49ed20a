//! A bare client, and requests and answers as text.

use crate::upstream::{Dialect, Upstream};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::fmt::Write;

/// One connection. Dropping it and the answer closes the socket.
pub(super) async fn connect(upstream: &Upstream) -> SendRequest<Full<Bytes>> {
    let address = upstream.url().replace("http://", "");
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let (sender, connection) = handshake(TokioIo::new(socket)).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// A request as data.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: Value,
}

/// A chat of one word, in the dialect's own shape.
pub(super) fn chat(dialect: Dialect, model: &str, stream: bool) -> Call {
    let messages = json!([{"role": "user", "content": "Why?"}]);
    let body = json!({"model": model, "stream": stream, "messages": messages});
    let (path, body) = match dialect {
        Dialect::OpenAi => ("/v1/chat/completions".into(), body),
        Dialect::Responses => {
            let body = json!({"model": model, "stream": stream, "input": "Why?"});
            ("/v1/responses".into(), body)
        }
        Dialect::Completions => {
            let body = json!({"model": model, "stream": stream, "prompt": "Why?"});
            ("/v1/completions".into(), body)
        }
        Dialect::Anthropic => ("/v1/messages".into(), body),
        Dialect::Ollama => ("/api/chat".into(), body),
        Dialect::Gemini => {
            let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            let contents = json!([{"role": "user", "parts": [{"text": "Why?"}]}]);
            (format!("/v1beta/models/{model}:{verb}"), json!({"contents": contents}))
        }
    };
    Call { method: "POST", path, headers: vec![], body }
}

pub(super) fn get(path: &str) -> Call {
    Call { method: "GET", path: path.into(), headers: vec![], body: Value::Null }
}

impl Call {
    pub(super) fn header(mut self, name: &'static str, value: &'static str) -> Call {
        self.headers.push((name, value));
        self
    }

    /// With another field in the body.
    pub(super) fn with(mut self, field: &str, value: Value) -> Call {
        self.body[field] = value;
        self
    }

    pub(super) async fn send(&self, to: &mut SendRequest<Full<Bytes>>) -> Response<Incoming> {
        let mut request = Request::builder().method(self.method).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(*name, *value);
        }
        let body = match &self.body {
            Value::Null => Full::default(),
            body => Full::from(body.to_string()),
        };
        to.send_request(request.body(body).unwrap()).await.unwrap()
    }

    /// The request, the answer's telling headers and its body as text.
    pub(super) async fn transcript(&self, upstream: &Upstream) -> String {
        let mut log = format!("--> {} {}\n", self.method, self.path);
        for (name, value) in &self.headers {
            writeln!(log, "    {name}: {value}").unwrap();
        }
        if !self.body.is_null() {
            writeln!(log, "    {}", sorted(&self.body)).unwrap();
        }
        let response = self.send(&mut connect(upstream).await).await;
        writeln!(log, "<-- {}", response.status().as_u16()).unwrap();
        let mut headers: Vec<_> = response.headers().iter().collect();
        headers.sort_by_key(|(name, _)| name.as_str());
        for (name, value) in headers {
            let telling = ["content-type", "location", "ratelimit", "retry-after"];
            if telling.iter().any(|word| name.as_str().contains(word)) {
                writeln!(log, "    {name}: {}", value.to_str().unwrap()).unwrap();
            }
        }
        log + &show(read(response).await)
    }
}

/// The bytes of a body, and whether it came to its end.
async fn read(mut response: Response<Incoming>) -> (String, bool) {
    let mut bytes = Vec::new();
    while let Some(frame) = response.frame().await {
        match frame {
            Ok(frame) => bytes.extend_from_slice(frame.data_ref().unwrap()),
            Err(_) => return (String::from_utf8(bytes).unwrap(), false),
        }
    }
    (String::from_utf8(bytes).unwrap(), true)
}

/// A body line by line; half a line is named, not shown.
fn show((body, whole): (String, bool)) -> String {
    let mut log = String::new();
    let (body, half) = match body.rsplit_once('\n') {
        _ if whole => (body.as_str(), ""),
        Some((lines, half)) => (lines, half),
        None => ("", body.as_str()),
    };
    for line in body.split('\n').filter(|line| !line.trim().is_empty()) {
        let (line, carriage) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\\r"));
        // The items of a long array have lines of their own, the first one behind a bracket.
        let at = |mark: char| line.split_at(line.find(mark).unwrap_or(line.len()));
        let parsed = ['[', '{'].into_iter().find_map(|mark| {
            let (prefix, json) = at(mark);
            Some((prefix, sorted(&serde_json::from_str(json).ok()?)))
        });
        let (prefix, json) = parsed.unwrap_or((line, String::new()));
        writeln!(log, "    {prefix}{json}{carriage}").unwrap();
    }
    if !whole {
        assert!(!half.is_empty(), "the cut is inside a line");
        log.push_str("    (half a line, and the connection is gone)\n");
    }
    log
}

/// JSON with its keys in order, whether or not serde_json was built to keep another.
pub(super) fn sorted(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            let field = |(name, value): (&String, &Value)| format!("\"{name}\":{}", sorted(value));
            format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(","))
        }
        value => value.to_string(),
    }
}
