//! The socket, and OpenAI's three addresses behind it.

use crate::engine::{HEARD_MAX, Heard, Job};
use crate::load::About;
use crate::wire::{Head, Refusal, Usage, Wanted};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

/// A longer request is refused: no context of a model in a file holds as much.
const BODY_BYTES_MAX: usize = 16 << 20;
/// Connections at once; more wait to be accepted.
const CONNECTIONS_MAX: usize = 128;
/// A client that takes longer over the head of a request is cut off.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// A client that takes longer over the body of a request is refused.
const BODY_WAIT: Duration = Duration::from_secs(30);
/// What a request that finds the line full is told to wait.
const BUSY_SECONDS: u16 = 1;

type Body = UnsyncBoxBody<Bytes, Infallible>;

struct Desk {
    about: About,
    jobs: mpsc::Sender<Job>,
}

/// Serves until `closed`, then leaves no socket behind.
pub async fn serve(
    socket: &Path,
    about: About,
    jobs: mpsc::Sender<Job>,
    mut closed: oneshot::Receiver<()>,
) -> Result<(), String> {
    let listener = UnixListener::bind(socket)
        .map_err(|error| format!("cannot listen at {}: {error}", socket.display()))?;
    let desk = Arc::new(Desk { about, jobs });
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // Dropped at the end, and every connection with it.
    let mut open = JoinSet::new();
    loop {
        let accepted = async {
            let permit = free.clone().acquire_owned().await.expect("it is never closed");
            listener.accept().await.map(|(stream, _)| (stream, permit))
        };
        tokio::select! {
            _ = &mut closed => break,
            Some(_) = open.join_next() => {}
            accepted = accepted => match accepted {
                Ok((stream, permit)) => {
                    let desk = desk.clone();
                    open.spawn(async move {
                        connection(stream, desk).await;
                        drop(permit);
                    });
                }
                Err(error) => return Err(format!("cannot accept: {error}")),
            },
        }
    }
    std::fs::remove_file(socket).map_err(|error| format!("cannot remove the socket: {error}"))
}

async fn connection(stream: UnixStream, desk: Arc<Desk>) {
    let service = service_fn(move |request| {
        let desk = desk.clone();
        async move { Ok::<_, Infallible>(desk.answer(request).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    let builder = builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT);
    // A connection that breaks concerns its client alone.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

impl Desk {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_string();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/health") => whole(200, &json!({ "status": "ok" })),
            (&Method::GET, "/v1/models") => whole(200, &self.models()),
            (&Method::POST, "/v1/chat/completions") => {
                self.complete(request.into_body()).await.unwrap_or_else(|it| refused(&it))
            }
            (method, _) => {
                let message = format!("nothing answers {method} {path}");
                refused(&Refusal { status: 404, code: "not_found", message })
            }
        }
    }

    fn models(&self) -> Value {
        let About { name, context } = &self.about;
        let model = json!({ "id": name, "object": "model", "owned_by": "llama.cpp",
                            "meta": { "n_ctx": context } });
        json!({ "object": "list", "data": [model] })
    }

    async fn complete(&self, body: Incoming) -> Result<Response<Body>, Refusal> {
        let wanted = Wanted::read(&collected(body).await?)?;
        let (is_stream, wants_usage) = (wanted.stream.unwrap_or(false), wanted.wants_usage());
        let (heard, mut answer) = mpsc::channel(HEARD_MAX);
        self.jobs.try_send(Job { wanted, heard }).map_err(|_| busy())?;
        // Until the prompt is read nothing is promised: a refusal still has its own status.
        match answer.recv().await {
            Some(Heard::Begun) => {}
            Some(Heard::Refused(refusal)) => return Err(refusal),
            _ => return Err(Refusal::failed("the model went away")),
        }
        let head = Head::new(&self.about.name);
        match is_stream {
            true => Ok(streamed(head, answer, wants_usage)),
            false => gathered(&head, answer).await,
        }
    }
}

fn busy() -> Refusal {
    let message = "too many requests wait for this model".into();
    Refusal { status: 503, code: "overloaded", message }
}

async fn collected(body: Incoming) -> Result<Bytes, Refusal> {
    let whole = Limited::new(body, BODY_BYTES_MAX).collect();
    match tokio::time::timeout(BODY_WAIT, whole).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => {
            let message = format!("the body, of {BODY_BYTES_MAX} bytes at most: {error}");
            Err(Refusal { status: 413, code: "body_too_large", message })
        }
        Err(_) => Err(Refusal { status: 408, code: "timeout", message: "the body is late".into() }),
    }
}

async fn gathered(
    head: &Head,
    mut answer: mpsc::Receiver<Heard>,
) -> Result<Response<Body>, Refusal> {
    let mut text = String::new();
    while let Some(heard) = answer.recv().await {
        match heard {
            Heard::Begun => {}
            Heard::Text(piece) => text += &piece,
            Heard::Ended { finish, usage } => {
                return Ok(whole(200, &head.answer(&text, finish, usage)));
            }
            Heard::Refused(refusal) => return Err(refusal),
        }
    }
    Err(Refusal::failed("the model went away"))
}

fn streamed(head: Head, answer: mpsc::Receiver<Heard>, wants_usage: bool) -> Response<Body> {
    let first = event(&head.chunk(json!({ "role": "assistant", "content": "" }), None));
    let pieces = stream::unfold(answer, |mut answer| async {
        answer.recv().await.map(|heard| (heard, answer))
    });
    let pieces = pieces.map(move |heard| match heard {
        Heard::Begun => String::new(),
        Heard::Text(text) => event(&head.chunk(json!({ "content": text }), None)),
        Heard::Ended { finish, usage } => ending(&head, finish, wants_usage.then_some(usage)),
        Heard::Refused(refusal) => event(&refusal.body()),
    });
    let frames = stream::iter([first])
        .chain(stream::StreamExt::boxed(pieces))
        .map(|text| Ok(Frame::data(Bytes::from(text))));
    response(200, "text/event-stream", StreamBody::new(frames).boxed_unsync())
}

fn ending(head: &Head, finish: &str, usage: Option<Usage>) -> String {
    let mut text = event(&head.chunk(json!({}), Some(finish)));
    if let Some(usage) = usage {
        text += &event(&head.usage(usage));
    }
    text + "data: [DONE]\n\n"
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let mut response = whole(refusal.status, &refusal.body());
    if refusal.status == 503 {
        response.headers_mut().insert(RETRY_AFTER, BUSY_SECONDS.into());
    }
    response
}

fn whole(status: u16, value: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(value.to_string())).boxed_unsync();
    response(status, "application/json", body)
}

fn response(status: u16, kind: &'static str, body: Body) -> Response<Body> {
    let built = Response::builder().status(status).header(CONTENT_TYPE, kind).body(body);
    built.expect("a status and one header of our own")
}
