//! One request from its head to the last byte of its answer.

use super::{
    dialect::{Dialect, Refusal, Stream, Wrong, beside, no_such_path},
    log::{Flight, Log},
    login,
    mishap::{Mishap, Trouble},
    options::Options,
    plan::Plan,
    reply::{Reply, bytes},
    seen::{Route, Seen},
    windows::{self, Question},
};
use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::pending,
    stream::{self, BoxStream},
};
use http_body_util::{BodyExt, Either, Full, Limited, StreamBody};
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
    header::HeaderValue,
};
use serde_json::{Value, json};
use std::{convert::Infallible, io, sync::Arc, time::Duration};
use tokio::{
    task::{spawn_blocking, yield_now},
    time::{Instant, sleep},
};

/// The longest request body; longer ones get a 413 and are not recorded.
const BODY_BYTES_MAX: usize = 32 << 20;
/// What is left to the finer clock.
const COARSE: Duration = Duration::from_millis(2);
const JSON: &str = "application/json";
const HTML: &str =
    "<!doctype html><html><title>Sign in</title><body>Sign in to go on</body></html>\n";

pub(super) type Body =
    Either<Full<Bytes>, StreamBody<BoxStream<'static, io::Result<Frame<Bytes>>>>>;

/// Answers one request as its plan says.
pub(super) async fn answer(
    options: Arc<Options>,
    log: Arc<Log>,
    connection: usize,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let method = head.method.clone();
    let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await else {
        return Ok(full(413, JSON, bytes(r#"{"error":"the body is too long"}"#)));
    };
    let (seen, mut flight) = log.open(Seen::new(head, &body.to_bytes(), connection));
    let plan = Plan::new(&options, &seen);
    if !plan.latency.is_zero() {
        wait(plan.latency).await;
    }
    if let Route::Login(step) = seen.route {
        let (status, body) = login::answer(&options.logins, step, &seen);
        flight.finish();
        return Ok(full(status, JSON, bytes(body.to_string())));
    }
    if let Route::Window(question) = seen.route
        && let Some(body) = windows::answer(&options, question, &seen)
    {
        flight.finish();
        return Ok(full(200, JSON, bytes(body.to_string())));
    }
    let dialect = match seen.route {
        Route::Chat(dialect) | Route::List(dialect) | Route::Embed(dialect) => Some(dialect),
        Route::Count => Some(Dialect::Anthropic),
        Route::Version => Some(Dialect::Ollama),
        // LM Studio's list has the form of OpenAI's.
        Route::Window(Question::LmStudio) => Some(Dialect::OpenAi),
        Route::Login(_) | Route::Window(_) | Route::Unknown => None,
    };
    let Some(dialect) = dialect.filter(|dialect| options.speaks.contains(dialect)) else {
        flight.finish();
        return Ok(full(404, JSON, no_such_path(method.as_str(), &seen.path)));
    };
    Ok(Answering { options: &options, plan, seen: &seen, dialect, flight }.answer().await)
}

/// To a fraction of a millisecond. Tokio's clock goes by whole ones, so whoever asked a moment later
/// would wait one more, and a figure that counts microseconds would count that.
async fn wait(time: Duration) {
    let until = Instant::now() + time;
    sleep(time.saturating_sub(COARSE)).await;
    let rest = until.saturating_duration_since(Instant::now());
    #[expect(clippy::disallowed_methods, reason = "no other clock is as fine")]
    let waited = spawn_blocking(move || std::thread::sleep(rest));
    // It fails only where the upstream is ending.
    let _ = waited.await;
}

/// Whether a request has `field`, and not as false.
fn is_set(seen: &Seen, field: &str) -> bool {
    seen.body.get(field).is_some_and(|value| *value != json!(false))
}

/// All that an answer is made from.
struct Answering<'a> {
    options: &'a Options,
    plan: Plan,
    seen: &'a Seen,
    dialect: Dialect,
    flight: Flight,
}

impl Answering<'_> {
    async fn answer(self) -> Response<Body> {
        match self.plan.mishap {
            Some(Mishap::Hang) => pending().await,
            Some(Mishap::Error(trouble)) => self.refuse(trouble, false),
            Some(Mishap::Without(field)) if is_set(self.seen, field) => {
                let message = format!("Unrecognized request argument supplied: {field}");
                let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
                self.done(full(400, JSON, bytes(body.to_string())))
            }
            Some(Mishap::Flaky(_)) => self.refuse(Trouble::Status(429), true),
            Some(Mishap::Html) => self.done(full(200, "text/html; charset=utf-8", bytes(HTML))),
            Some(Mishap::Redirect) => {
                let moved = with(full(307, JSON, Bytes::new()), "location", "/redirected");
                self.done(moved)
            }
            _ => self.speak(),
        }
    }

    fn speak(self) -> Response<Body> {
        let wire = self.dialect.wire();
        let reply = || Reply::new(self.options, &self.plan, self.seen);
        match self.seen.route {
            Route::Chat(_) if self.seen.stream => {
                let stream = (wire.stream)(self.seen, reply());
                self.stream(stream)
            }
            Route::Chat(_) => {
                let whole = (wire.whole)(reply());
                self.whole(whole)
            }
            Route::Embed(dialect) => {
                let vectors = beside::embedded(dialect, self.seen);
                self.whole(vectors)
            }
            Route::Count => {
                let count = beside::counted(self.seen);
                self.whole(count)
            }
            Route::List(_) | Route::Window(_) => {
                let copilot = !self.seen.header("copilot-integration-id").is_empty();
                let list = match copilot {
                    true => login::copilot_list(&self.options.models),
                    false => (wire.list)(self.options),
                };
                self.whole(list)
            }
            Route::Version | Route::Login(_) | Route::Unknown => {
                self.whole(json!({"version": "0.12.6"}))
            }
        }
    }

    /// An error status. A client of `flaky` is told to come back soon even where the provider has
    /// no way to say so; Gemini's body has one.
    fn refuse(self, trouble: Trouble, soon: bool) -> Response<Body> {
        let refusal = self.refusal(trouble);
        // A stream that is a JSON array has its errors in an array too.
        let array = self.dialect == Dialect::Gemini
            && self.seen.stream
            && !self.seen.path.contains("alt=sse");
        let body = if array { json!([refusal.body]) } else { refusal.body };
        let mut response = full(refusal.status, JSON, bytes(body.to_string()));
        for (name, value) in refusal.headers {
            response = with(response, name, &value);
        }
        if soon && self.dialect != Dialect::Gemini {
            let wait = self.options.retry_after.as_millis().to_string();
            response = with(response, "retry-after-ms", &wait);
        }
        self.done(response)
    }

    fn refusal(&self, trouble: Trouble) -> Refusal {
        (self.dialect.wire().error)(&self.wrong(trouble))
    }

    fn wrong(&self, trouble: Trouble) -> Wrong<'_> {
        Wrong { trouble, model: &self.seen.model, retry_after: self.options.retry_after }
    }

    /// A body that is one JSON value.
    fn whole(self, value: Value) -> Response<Body> {
        let body = bytes(value.to_string());
        let half = body.slice(..body.len() / 2);
        let end = match self.plan.mishap {
            Some(Mishap::Stall) => End::Silence,
            Some(Mishap::Cut) => End::Cut,
            Some(Mishap::Midstream | Mishap::Early) => {
                let status = Trouble::Status(self.dialect.wire().event_status);
                let error = bytes(self.refusal(status).body.to_string());
                return self.done(full(200, JSON, error));
            }
            _ => {
                let response = self.success(full(200, JSON, body));
                return self.done(response);
            }
        };
        let response = self.success(full(200, JSON, Bytes::new()));
        response.map(|_| self.body(std::iter::once((half, Pace::Now)), end))
    }

    fn stream(self, stream: Stream) -> Response<Body> {
        let wire = self.dialect.wire();
        let wrong = self.wrong(Trouble::Status(wire.event_status));
        let half = (stream.count / 2).max(1);
        let (deltas, tail, end) = match self.plan.mishap {
            Some(Mishap::Early) => (0, (wire.event)(self.seen, &wrong, false), End::Whole),
            Some(Mishap::Midstream) => (half, (wire.event)(self.seen, &wrong, true), End::Whole),
            Some(Mishap::Stall) => (half, Bytes::new(), End::Silence),
            Some(Mishap::Cut) => (half, stream.close.slice(..stream.close.len() / 2), End::Cut),
            _ => (stream.count, stream.close, End::Whole),
        };
        let frames = std::iter::once((stream.open, Pace::Now))
            .chain(stream.deltas.take(deltas).map(|delta| (delta, Pace::Delayed)))
            .chain(std::iter::once((tail, Pace::Now)));
        let response = full(200, (wire.stream_type)(self.seen), Bytes::new());
        self.success(response).map(|_| self.body(frames, end))
    }

    fn success(&self, response: Response<Body>) -> Response<Body> {
        let headers = self.dialect.wire().headers.iter();
        headers.fold(response, |response, (name, value)| with(response, name, value))
    }

    fn done(mut self, response: Response<Body>) -> Response<Body> {
        self.flight.finish();
        response
    }

    fn body(self, frames: impl Iterator<Item = (Bytes, Pace)> + Send + 'static, end: End) -> Body {
        let frames = frames.filter(|(bytes, _)| !bytes.is_empty());
        let state = Sending { frames, delay: self.plan.delay, end, flight: self.flight };
        Either::Right(StreamBody::new(stream::unfold(state, Sending::next).boxed()))
    }
}

enum Pace {
    Now,
    Delayed,
}

/// What comes after the last frame.
#[derive(Clone, Copy)]
enum End {
    Whole,
    Silence,
    Cut,
}

struct Sending<F> {
    frames: F,
    delay: Duration,
    end: End,
    flight: Flight,
}

impl<F: Iterator<Item = (Bytes, Pace)>> Sending<F> {
    async fn next(mut self) -> Option<(io::Result<Frame<Bytes>>, Sending<F>)> {
        if let Some((bytes, pace)) = self.frames.next() {
            if matches!(pace, Pace::Delayed) && !self.delay.is_zero() {
                sleep(self.delay).await;
            }
            return Some((Ok(Frame::data(bytes)), self));
        }
        match self.end {
            End::Whole => {
                self.flight.finish();
                None
            }
            End::Silence => pending().await,
            End::Cut => {
                // hyper drops what it has not flushed when a body fails, and it flushes when a
                // body makes it wait.
                yield_now().await;
                self.flight.finish();
                Some((Err(io::Error::other("cut")), self))
            }
        }
    }
}

fn full(status: u16, content_type: &'static str, body: Bytes) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(Either::Left(Full::new(body))).expect("statuses come from three digits")
}

fn with(mut response: Response<Body>, name: &'static str, value: &str) -> Response<Body> {
    let value = HeaderValue::from_str(value).expect("our headers are plain words");
    response.headers_mut().insert(name, value);
    response
}
