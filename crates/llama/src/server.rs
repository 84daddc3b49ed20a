//! The socket, and OpenAI's addresses behind it.

use crate::engine::{Job, PIECES_MAX, Reply};
use crate::job_line::{JobLine, Turned};
use crate::load::About;
use crate::pulse::Pulse;
use crate::refusal::Refusal;
use crate::reply::{GatheredAnswer, ReplyHead, Usage, list_embeddings};
use crate::request::{ChatRequest, EmbeddingRequest};
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
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
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

/// What every connection needs.
pub struct Routes {
    /// What is known of the model once it is loaded.
    pub about: OnceLock<About>,
    pub jobs: Arc<JobLine<Job>>,
    pub pulse: Arc<Pulse>,
}

/// A socket that somebody listens at. Dropping it removes it.
pub struct Listener {
    listener: UnixListener,
    socket: PathBuf,
}

impl Listener {
    pub fn bind(socket: &Path) -> Result<Listener, String> {
        let listener = UnixListener::bind(socket)
            .map_err(|error| format!("cannot listen at {}: {error}", socket.display()))?;
        Ok(Listener { listener, socket: socket.to_path_buf() })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Whoever removed it before wanted the same.
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Serves until it is dropped, or says why it cannot.
pub async fn serve(at: &Listener, routes: &Arc<Routes>) -> String {
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // Dropped at the end, and every connection with it.
    let mut open = JoinSet::new();
    loop {
        let accepted = async {
            let permit = free.clone().acquire_owned().await.expect("it is never closed");
            at.listener.accept().await.map(|(stream, _)| (stream, permit))
        };
        tokio::select! {
            Some(_) = open.join_next() => {}
            accepted = accepted => match accepted {
                Ok((stream, permit)) => {
                    let routes = routes.clone();
                    open.spawn(async move {
                        connection(stream, routes).await;
                        drop(permit);
                    });
                }
                Err(error) => return format!("cannot accept: {error}"),
            },
        }
    }
}

async fn connection(stream: UnixStream, routes: Arc<Routes>) {
    let service = service_fn(move |request| {
        let routes = routes.clone();
        async move { Ok::<_, Infallible>(routes.answer(request).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    let builder = builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT);
    // A connection that breaks concerns its client alone.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

impl Routes {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_string();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/health") => self.check_health(),
            (&Method::GET, "/v1/models") => {
                self.about().map_or_else(|it| refused(&it), |about| whole(200, &list_models(about)))
            }
            (&Method::POST, "/v1/chat/completions") => {
                self.complete(request.into_body()).await.unwrap_or_else(|it| refused(&it))
            }
            (&Method::POST, "/v1/embeddings") => {
                self.embed(request.into_body()).await.unwrap_or_else(|it| refused(&it))
            }
            (method, _) => {
                let message = format!("nothing answers {method} {path}");
                refused(&Refusal::new(404, "not_found", message))
            }
        }
    }

    fn check_health(&self) -> Response<Body> {
        let unwell = |why: &str| refused(&Refusal::new(503, "unavailable", why));
        match self.about() {
            Err(loading) => refused(&loading),
            Ok(_) if self.pulse.is_well() => whole(200, &json!({ "status": "ok" })),
            Ok(_) => unwell("the model shows no sign of life"),
        }
    }

    fn about(&self) -> Result<&About, Refusal> {
        self.about.get().ok_or_else(|| Refusal::new(503, "unavailable", "the model is loading"))
    }

    fn join_line(&self, job: Job) -> Result<(), Refusal> {
        self.jobs.push(job).map_err(|turned| match turned {
            Turned::Full => {
                Refusal::new(503, "overloaded", "too many requests wait for this model")
            }
            Turned::Closed => Refusal::failed("the model went away"),
        })
    }

    async fn complete(&self, body: Incoming) -> Result<Response<Body>, Refusal> {
        let about = self.about()?;
        let request = ChatRequest::read(&collected(body).await?)?;
        let (is_stream, include_usage) = (request.stream, request.include_usage);
        let has_logprobs = request.logprobs.is_some();
        let (replies, mut answer) = mpsc::channel(PIECES_MAX);
        self.join_line(Job::Chat(Box::new(request), replies))?;
        // Until the prompt is read nothing is promised: a refusal still has its own status.
        match answer.recv().await {
            Some(Reply::Begun) => {}
            Some(Reply::Refused(refusal)) => return Err(refusal),
            _ => return Err(Refusal::failed("the model went away")),
        }
        let head = ReplyHead::new(&about.name, has_logprobs);
        match is_stream {
            true => Ok(streamed(head, answer, include_usage)),
            false => gathered(&head, answer).await,
        }
    }

    async fn embed(&self, body: Incoming) -> Result<Response<Body>, Refusal> {
        let about = self.about()?;
        let request = EmbeddingRequest::read(&collected(body).await?)?;
        let base64 = request.base64;
        let (reply, embedded) = oneshot::channel();
        self.join_line(Job::Embed(request, reply))?;
        let embedded = embedded.await.map_err(|_| Refusal::failed("the model went away"))??;
        Ok(whole(200, &list_embeddings(&about.name, &embedded, base64)))
    }
}

fn list_models(about: &About) -> Value {
    let About { name, context, trained } = about;
    let meta = json!({ "n_ctx": context, "n_ctx_train": trained });
    let model = json!({ "id": name, "object": "model", "owned_by": "llama.cpp", "meta": meta });
    json!({ "object": "list", "data": [model] })
}

async fn collected(body: Incoming) -> Result<Bytes, Refusal> {
    let whole = Limited::new(body, BODY_BYTES_MAX).collect();
    match tokio::time::timeout(BODY_WAIT, whole).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => {
            let message = format!("the body, of {BODY_BYTES_MAX} bytes at most: {error}");
            Err(Refusal::new(413, "body_too_large", message))
        }
        Err(_) => Err(Refusal::new(408, "timeout", "the body is late")),
    }
}

async fn gathered(
    head: &ReplyHead,
    mut answer: mpsc::Receiver<Reply>,
) -> Result<Response<Body>, Refusal> {
    let mut said = GatheredAnswer::default();
    while let Some(reply) = answer.recv().await {
        match reply {
            Reply::Begun => {}
            Reply::Text(piece, logprobs) => {
                said.text += &piece;
                said.logprobs.extend(logprobs);
            }
            Reply::Thought(thought) => said.thoughts += &thought,
            Reply::Calls(calls) => said.calls = calls,
            Reply::Ended { finish, usage } => {
                return Ok(whole(200, &head.answer(&said, finish, usage)));
            }
            Reply::Refused(refusal) => return Err(refusal),
        }
    }
    Err(Refusal::failed("the model went away"))
}

fn streamed(head: ReplyHead, answer: mpsc::Receiver<Reply>, include_usage: bool) -> Response<Body> {
    let first = event(&head.chunk(json!({ "role": "assistant", "content": "" }), None));
    let pieces = stream::unfold(Some(answer), |answer| async {
        let mut answer = answer?;
        match answer.recv().await {
            Some(last @ (Reply::Ended { .. } | Reply::Refused(_))) => Some((last, None)),
            Some(reply) => Some((reply, Some(answer))),
            // Cut off: who reads this late must not take it for the whole answer.
            None => Some((Reply::Refused(Refusal::failed("the answer was cut off")), None)),
        }
    });
    let pieces = pieces.map(move |reply| match reply {
        Reply::Begun => String::new(),
        Reply::Text(text, logprobs) => event(&head.text_chunk(&text, &logprobs)),
        Reply::Thought(thought) => event(&head.thought_chunk(&thought)),
        Reply::Calls(calls) => event(&head.calls_chunk(&calls)),
        Reply::Ended { finish, usage } => ending(&head, finish, include_usage.then_some(usage)),
        Reply::Refused(refusal) => event(&refusal.body()),
    });
    let frames = stream::iter([first])
        .chain(stream::StreamExt::boxed(pieces))
        .map(|text| Ok(Frame::data(Bytes::from(text))));
    response(200, "text/event-stream", StreamBody::new(frames).boxed_unsync())
}

fn ending(head: &ReplyHead, finish: &str, usage: Option<Usage>) -> String {
    let mut text = event(&head.chunk(json!({}), Some(finish)));
    if let Some(usage) = usage {
        text += &event(&head.usage_chunk(usage));
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
