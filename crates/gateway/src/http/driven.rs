//! Connections without TLS and without a proxy: servers of this machine and its network. Each is
//! driven by the task that has a call on it, so no byte of an answer changes threads; between two
//! calls nobody watches it.

mod idle;

use super::broken;
use super::connect::{Connector, Link};
use althing_stdx::{Fault, Result};
use bytes::Bytes;
use futures_util::Stream;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Request, Response, Uri};
use idle::Idle;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use tower_service::Service;

type Outgoing = Request<Full<Bytes>>;
type NotSent = hyper::client::conn::TrySendError<Outgoing>;
/// None once it is over.
type Open = Option<Pin<Box<Connection<Link, Full<Bytes>>>>>;

/// Opens connections and keeps them for the next call.
#[derive(Clone)]
pub(super) struct Driver {
    connector: Connector,
    idle: Arc<Idle>,
}

/// A connection with both its ends.
struct Driven {
    sender: SendRequest<Full<Bytes>>,
    connection: Open,
}

/// The body of an answer. Dropped before its end it closes the connection.
pub(super) struct Answer {
    incoming: Incoming,
    /// None once it is over.
    driven: Option<Driven>,
    idle: Arc<Idle>,
    to: Uri,
}

impl Driver {
    pub(super) fn new(connector: Connector) -> Driver {
        Driver { connector, idle: Arc::default() }
    }

    /// Sends a request and waits for the head of its answer. A kept connection that turns out to be
    /// closed is none: the next one is taken, and in the end a new one.
    pub(super) async fn send(&self, request: Outgoing) -> Result<Response<Answer>> {
        let to = request.uri().clone();
        let mut request = in_origin_form(request)?;
        // Bounded by the connections that are kept.
        loop {
            let kept = self.kept(&to).await;
            let is_kept = kept.is_some();
            let mut driven = match kept {
                Some(driven) => driven,
                None => Driven::open(&self.connector, &to).await?,
            };
            match driven.ask(request).await {
                Ok(answer) => return Ok(answer.map(|incoming| self.answer(incoming, driven, to))),
                Err(mut not_sent) => match not_sent.take_message().filter(|_| is_kept) {
                    Some(unsent) => request = unsent,
                    None => return Err(broken(&to, not_sent.error())),
                },
            }
        }
    }

    async fn kept(&self, to: &Uri) -> Option<Driven> {
        // Bounded by the connections that are kept.
        loop {
            let mut driven = self.idle.take(to.authority()?)?;
            let is_free = |cx: &mut Context<'_>| {
                driven.drive(cx);
                Poll::Ready(driven.is_free())
            };
            if poll_fn(is_free).await {
                return Some(driven);
            }
        }
    }

    fn answer(&self, incoming: Incoming, driven: Driven, to: Uri) -> Answer {
        Answer { incoming, driven: Some(driven), idle: self.idle.clone(), to }
    }
}

impl Driven {
    async fn open(connector: &Connector, to: &Uri) -> Result<Driven> {
        let link = connector.clone().call(to.clone()).await?;
        let (sender, connection) =
            http1::handshake(link).await.map_err(|error| broken(to, &error))?;
        Ok(Driven { sender, connection: Some(Box::pin(connection)) })
    }

    /// Moves what can be moved now.
    fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.connection, cx);
    }

    /// Whether it can take a request.
    fn is_free(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }

    async fn ask(&mut self, request: Outgoing) -> Result<Response<Incoming>, NotSent> {
        let Driven { sender, connection } = self;
        let mut answer = pin!(sender.try_send_request(request));
        poll_fn(|cx| {
            drive(connection, cx);
            answer.as_mut().poll(cx)
        })
        .await
    }
}

fn drive(connection: &mut Open, cx: &mut Context<'_>) {
    // Its error reaches whoever waits for an answer or a body.
    if connection.as_mut().is_some_and(|it| it.as_mut().poll(cx).is_ready()) {
        *connection = None;
    }
}

impl Answer {
    /// Keeps the connection where the server does. Whoever is woken by it from now on has no call
    /// on it any more.
    fn end(&mut self) {
        let Some(mut driven) = self.driven.take() else { return };
        driven.drive(&mut Context::from_waker(Waker::noop()));
        if let Some(at) = self.to.authority().filter(|_| driven.is_free()) {
            self.idle.put(at, driven);
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        loop {
            let Some(driven) = &mut self.driven else { return Poll::Ready(None) };
            let mut frame = Pin::new(&mut self.incoming).poll_frame(cx);
            if frame.is_pending() {
                driven.drive(cx);
                frame = Pin::new(&mut self.incoming).poll_frame(cx);
            }
            match ready!(frame) {
                // What is no data says nothing here.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => return Poll::Ready(Some(Ok(bytes))),
                    Err(_) => continue,
                },
                Some(Err(error)) => {
                    self.driven = None;
                    return Poll::Ready(Some(Err(broken(&self.to, &error))));
                }
                None => {
                    self.end();
                    return Poll::Ready(None);
                }
            }
        }
    }
}

impl Stream for Answer {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        self.poll_frame(cx)
    }
}

/// The request as it stands on the wire: the path in its line, the server in a header.
fn in_origin_form(mut request: Outgoing) -> Result<Outgoing> {
    let to = request.uri();
    let host = to.authority().map(host).unwrap_or_default();
    let host = HeaderValue::from_str(host).map_err(Fault::internal)?;
    let path = to.path_and_query().cloned().map_or_else(Uri::default, Uri::from);
    request.headers_mut().insert(HOST, host);
    *request.uri_mut() = path;
    Ok(request)
}

/// The server's name as `Host` has it: without the port that everybody expects.
fn host(at: &Authority) -> &str {
    let text = at.as_str();
    if at.port_u16() == Some(80) { text.strip_suffix(":80").unwrap_or(text) } else { text }
}
