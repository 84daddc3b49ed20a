//! The listener and the bytes: ranges, redirects, and what goes wrong with them.

use super::routes::{Routed, route};
use super::{Asked, COMMIT, Mishap, StockFile};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response, header::HeaderValue, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::{io, net};
use tokio::net::TcpListener;

/// Bytes of a piece of a body.
const PIECE: usize = 8 * 1024;
const HTML: &str = "<!doctype html><title>Sign in</title>Sign in to go on";

type Body = Either<Full<Bytes>, StreamBody<BoxStream<'static, io::Result<Frame<Bytes>>>>>;

struct Shop {
    files: Vec<StockFile>,
    /// How often the bytes of each file were asked for.
    counts: Mutex<HashMap<usize, usize>>,
    log: Arc<Mutex<Vec<Asked>>>,
}

/// Serves until it is dropped.
pub(super) async fn serve(
    listener: net::TcpListener,
    files: Vec<StockFile>,
    log: Arc<Mutex<Vec<Asked>>>,
) {
    let listener = TcpListener::from_std(listener).expect("this runs inside a runtime with I/O");
    let shop = Arc::new(Shop { files, counts: Mutex::default(), log });
    while let Ok((socket, _)) = listener.accept().await {
        let shop = Arc::clone(&shop);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let answer = shop.answer(&request);
                async { Ok::<_, Infallible>(answer) }
            });
            // An error is a client gone or a cut of ours.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

impl Shop {
    fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let header = |name: &str| {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_string()
        };
        let asked = Asked {
            path: request.uri().to_string(),
            host: header("host"),
            range: header("range"),
            if_range: header("if-range"),
            authorization: header("authorization"),
        };
        self.log.lock().expect("nobody panics with the log open").push(asked.clone());
        let port = asked.host.rsplit(':').next().unwrap_or_default();
        match route(&self.files, &asked.path, &asked.authorization) {
            Routed::Json(value) => {
                let body = full(200, value.to_string());
                with(body, "content-type", "application/json; charset=utf-8")
            }
            Routed::Refused(status, code, words) => with(full(status, words), "x-error-code", code),
            Routed::Elsewhere(path, file, is_hub) => {
                let status = if is_hub { 302 } else { 307 };
                let place = format!("http://localhost:{port}{path}");
                let mut answer = with(full(status, ""), "location", &place);
                if is_hub {
                    answer = with(answer, "x-linked-etag", &format!("\"{}\"", file.sha256));
                    answer = with(answer, "x-linked-size", &file.size.to_string());
                    answer = with(answer, "x-repo-commit", COMMIT);
                }
                answer
            }
            // A CDN takes its own signature and no other.
            Routed::Bytes(_) if !asked.authorization.is_empty() => {
                full(400, "Only one auth mechanism allowed")
            }
            Routed::Bytes(at) => self.bytes(at, &asked),
        }
    }

    fn bytes(&self, at: usize, asked: &Asked) -> Response<Body> {
        let file = &self.files[at];
        let mut counts = self.counts.lock().expect("nobody panics with the counts open");
        let nth = counts.entry(at).or_default();
        let mishap = file.mishaps.get(*nth).copied().unwrap_or(Mishap::None);
        *nth += 1;
        match mishap {
            Mishap::Status(status) => with(full(status, "not now"), "retry-after", "0"),
            Mishap::Loop => with(full(302, ""), "location", &asked.path),
            Mishap::Portal => {
                let page = streamed(Bytes::from_static(HTML.as_bytes()), None);
                with(page, "content-type", "text/html")
            }
            Mishap::Html => with(full(200, HTML), "content-type", "text/html"),
            mishap => piece(file, asked, mishap),
        }
    }
}

/// The whole file or the part of it that is wanted, as far as it comes.
fn piece(file: &StockFile, asked: &Asked, mishap: Mishap) -> Response<Body> {
    let from = asked.range.strip_prefix("bytes=").and_then(|it| it.strip_suffix('-'));
    let is_replaced = mishap == Mishap::Replaced;
    let mark = if is_replaced { "replaced".into() } else { super::sha256(&file.bytes) };
    let etag = format!("\"{}\"", mark.get(..16).unwrap_or(&mark));
    let is_same = asked.if_range.is_empty() || asked.if_range == etag || is_replaced;
    let from: Option<usize> = from.and_then(|it| it.parse().ok());
    let is_whole = matches!(mishap, Mishap::Whole | Mishap::WholeCut(_));
    let from = from.filter(|_| is_same && !is_whole);
    let total = file.bytes.len();
    if from.is_some_and(|from| from >= total) {
        return with(full(416, ""), "content-range", &format!("bytes */{total}"));
    }
    let begin = from.unwrap_or(0);
    let rest = file.bytes.slice(begin..);
    let length = rest.len();
    let mut answer = match mishap {
        Mishap::Cut(bytes) | Mishap::WholeCut(bytes) | Mishap::Unmarked(bytes) => {
            streamed(rest.slice(..bytes.min(length)), Some(End::Broken))
        }
        Mishap::Stall(bytes) => streamed(rest.slice(..bytes.min(length)), Some(End::Silent)),
        _ => streamed(rest, None),
    };
    answer = with(answer, "content-length", &length.to_string());
    if !matches!(mishap, Mishap::Unmarked(_)) {
        answer = with(answer, "etag", &etag);
    }
    if from.is_some() {
        *answer.status_mut() = hyper::StatusCode::PARTIAL_CONTENT;
        let late = usize::from(mishap == Mishap::WrongRange);
        let range = format!("bytes {}-{}/{total}", begin + late, total - 1);
        answer = with(answer, "content-range", &range);
    }
    answer
}

/// How a body ends that does not come to its end.
enum End {
    Broken,
    Silent,
}

fn streamed(bytes: Bytes, end: Option<End>) -> Response<Body> {
    let starts = (0..bytes.len()).step_by(PIECE);
    let pieces: Vec<Bytes> =
        starts.map(|at| bytes.slice(at..bytes.len().min(at + PIECE))).collect();
    let pieces = stream::iter(pieces.into_iter().map(|piece| Ok(Frame::data(piece))));
    let body = match end {
        None => pieces.boxed(),
        // hyper drops what it has not flushed when a body fails, and flushes when a body waits.
        Some(End::Broken) => {
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(io::Error::from(io::ErrorKind::ConnectionReset))
            });
            pieces.chain(broken).boxed()
        }
        Some(End::Silent) => pieces.chain(stream::pending()).boxed(),
    };
    Response::new(Either::Right(StreamBody::new(body)))
}

fn full(status: u16, text: impl Into<Bytes>) -> Response<Body> {
    let mut answer = Response::new(Either::Left(Full::new(text.into())));
    *answer.status_mut() = hyper::StatusCode::from_u16(status).expect("a status of HTTP");
    answer
}

fn with(mut answer: Response<Body>, name: &'static str, value: &str) -> Response<Body> {
    let value = HeaderValue::from_str(value).expect("text that a header can hold");
    answer.headers_mut().insert(name, value);
    answer
}
