//! The page of extensions: what is to be seen by GET, news as server-sent events, and what the person
//! does as JSON by POST, which no page of another site can send.

use super::super::body;
use super::super::reply::{self, Reply};
use super::super::router::Desk;
use super::refused;
use super::watch::{PING, RETRY_MS};
use crate::extensions::{Event, Studio};
use crate::service::Service;
use althing_stdx::{Fault, Kind, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio::time::{sleep, timeout};

/// What happens within this time is one message.
const GATHER: Duration = Duration::from_millis(50);
/// Lines of one message; the rest come with the next.
const LINES_MAX: usize = 500;

#[derive(Deserialize)]
struct Icon {
    extension: String,
    button: String,
}

#[derive(Deserialize)]
struct Place {
    question: Option<u64>,
    path: Option<PathBuf>,
}

/// Paths below `/ui/extensions`.
pub(super) fn routes(router: Router<Desk>) -> Router<Desk> {
    router
        .route("/ui/extensions/state", get(state))
        .route("/ui/extensions/document", get(document))
        .route("/ui/extensions/log", get(log))
        .route("/ui/extensions/schema", get(schema))
        .route("/ui/extensions/icon", get(icon))
        .route("/ui/extensions/folder", get(folder))
        .route("/ui/extensions/events", get(events))
        .route("/ui/extensions/do", post(deed))
}

fn studio(service: &Service) -> Result<&Studio> {
    let none = || Fault::new(Kind::NotFound, "no extensions are configured");
    service.extensions.get().ok_or_else(none)
}

/// What a function of the studio gives, or why not.
fn said(desk: &Desk, ask: impl FnOnce(&Studio) -> Result<Value>) -> Reply {
    match studio(&desk.service).and_then(ask) {
        Ok(value) => reply::json(&value),
        Err(fault) => refused(&fault),
    }
}

async fn state(State(desk): State<Desk>) -> Reply {
    match desk.service.extensions.get() {
        Some(studio) => reply::json(&studio.state()),
        None => reply::json(&json!({ "configured": false })),
    }
}

async fn document(State(desk): State<Desk>) -> Reply {
    said(&desk, |studio| Ok(studio.document()))
}

async fn log(State(desk): State<Desk>) -> Reply {
    said(&desk, |studio| Ok(studio.log()))
}

async fn schema(State(desk): State<Desk>) -> Reply {
    said(&desk, |studio| Ok(studio.schema()))
}

async fn folder(State(desk): State<Desk>, Query(place): Query<Place>) -> Reply {
    // A folder on a slow disk holds up this one request's thread for a moment, not the service.
    said(&desk, |studio| Ok(json!(studio.folder(place.question, place.path.as_deref())?)))
}

/// Shapes alone, and as an image: nothing in it can run.
async fn icon(State(desk): State<Desk>, Query(asked): Query<Icon>) -> Reply {
    let missing = || Fault::new(Kind::NotFound, "there is no such icon");
    let found = studio(&desk.service)
        .and_then(|studio| studio.icon(&asked.extension, &asked.button).ok_or_else(missing));
    match found {
        Ok(svg) => reply::text("image/svg+xml", svg),
        Err(fault) => refused(&fault),
    }
}

async fn deed(State(desk): State<Desk>, request: Request) -> Reply {
    match act(&desk, request).await {
        Ok(()) => reply::json(&json!({})),
        Err(fault) => refused(&fault),
    }
}

async fn act(desk: &Desk, request: Request) -> Result<()> {
    if !is_json(request.headers()) {
        let text = "content-type: must be application/json";
        return Err(Fault::invalid(text).status(415));
    }
    let studio = studio(&desk.service)?;
    let bytes = body::read(request.into_body(), &desk.limits).await?;
    let deed = serde_json::from_slice(&bytes)
        .map_err(|error| Fault::invalid(format!("the body is no deed: {error}")))?;
    studio.take(deed).await
}

/// What a form or a simple request of another site cannot say.
fn is_json(headers: &HeaderMap) -> bool {
    let said = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = said.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn events(State(desk): State<Desk>) -> Reply {
    let place = match studio(&desk.service).and_then(|_| desk.watchers.enter()) {
        Ok(place) => place,
        Err(fault) => return refused(&fault),
    };
    reply::events(Body::from_stream(follow(desk.service.clone(), place)))
}

struct Watch {
    events: broadcast::Receiver<Event>,
    questions: watch::Receiver<()>,
    _place: OwnedSemaphorePermit,
}

/// News for one page. It begins with the word that everything has changed.
fn follow(
    service: Arc<Service>,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    stream::unfold((service, Some(place), None::<Watch>), async |(service, place, watch)| {
        let Some(mut watch) = watch else {
            let (events, questions) = service.extensions.get()?.changes();
            let watch = Watch { events, questions, _place: place? };
            let hello = format!("retry: {RETRY_MS}\n\n{}", message(&json!({ "type": "all" })));
            return Some((Ok(Bytes::from(hello)), (service, None, Some(watch))));
        };
        let news: Option<Bytes> = watch.next().await;
        news.map(|news| (Ok(news), (service, None, Some(watch))))
    })
}

fn message(what: &Value) -> String {
    format!("data: {what}\n\n")
}

impl Watch {
    /// Waits for news, or for the time of a sign of life; none when the host is over.
    async fn next(&mut self) -> Option<Bytes> {
        let first = async {
            tokio::select! {
                event = self.events.recv() => Some(event),
                // Fails never: the table lives as long as the service.
                _ = self.questions.changed() => None,
            }
        };
        let Ok(first) = timeout(PING, first).await else {
            return Some(Bytes::from_static(b": ping\n\n"));
        };
        let mut news = News::default();
        match first {
            Some(Ok(event)) => news.take(event),
            Some(Err(RecvError::Lagged(_))) => news.is_all = true,
            Some(Err(RecvError::Closed)) => return None,
            None => news.is_changed = true,
        }
        sleep(GATHER).await;
        while news.lines.len() < LINES_MAX {
            match self.events.try_recv() {
                Ok(event) => news.take(event),
                Err(TryRecvError::Lagged(_)) => news.is_all = true,
                Err(_) => break,
            }
        }
        Some(news.write().into())
    }
}

#[derive(Default)]
struct News {
    /// More than was listened to has happened.
    is_all: bool,
    is_changed: bool,
    lines: Vec<Value>,
}

impl News {
    fn take(&mut self, event: Event) {
        match event {
            Event::Logged { extension, line } => {
                self.lines.push(json!({ "extension": extension, "line": line }));
            }
            _ => self.is_changed = true,
        }
    }

    fn write(self) -> String {
        if self.is_all {
            return message(&json!({ "type": "all" }));
        }
        let changed = self.is_changed.then(|| message(&json!({ "type": "changed" })));
        let logged = (!self.lines.is_empty())
            .then(|| message(&json!({ "type": "logged", "lines": self.lines })));
        [changed, logged].into_iter().flatten().collect()
    }
}
