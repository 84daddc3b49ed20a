//! The web application of this machine: one frame, a page for each thing that is better seen than
//! read, and beside them the council's UI protocol. Everything below `/ui` is here; nothing of it is
//! shown to anybody without the key of this run.

mod entry;
mod extensions;
mod pages;
mod state;
#[cfg(test)]
mod tests;
mod watch;

pub(super) use entry::{Entry, Session, without_key};
pub(super) use watch::Watchers;

use super::reply::{self, Reply};
use super::router::Desk;
use althing_stdx::{Fault, Kind, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::routing::get;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Deserialize;
use watch::{Mark, Wanted};

/// Where the application is.
pub(super) const ROOT: &str = "/ui";
pub(super) const BELOW: &str = "/ui/";

/// Nothing from elsewhere, no script but our files, and none that could turn text into markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of everything below `/ui`.
const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// What may stand in an address.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    run_id: Option<String>,
    /// The last event the page has: `<run>:<sequence>`.
    after: Option<String>,
}

/// Paths below `/ui`.
pub(super) fn routes(router: Router<Desk>) -> Router<Desk> {
    let router = extensions::routes(router)
        .route("/ui/state", get(state))
        .route("/ui/events", get(events))
        .route("/ui/plan.md", get(plan));
    pages::ALL.iter().fold(router, |router, page| router.route(page.path, get(|| page.reply())))
}

/// Puts the headers of the application on an answer, except where it has its own.
pub(super) fn dressed(mut reply: Reply) -> Reply {
    for (name, value) in HEADERS {
        let place = reply.headers_mut().entry(*name);
        place.or_insert(HeaderValue::from_static(value));
    }
    reply
}

/// What somebody without the key gets to read.
pub(super) fn turned_away(fault: &Fault, status: u16) -> Reply {
    let text = format!("{}\n", fault.message);
    let mut reply = reply::text("text/plain; charset=utf-8", text);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
    dressed(reply)
}

/// The run that is meant: the one that is asked for, or the only one that this face shows.
fn wanted_run(desk: &Desk, asked: Option<String>) -> Result<Wanted> {
    match (desk.shown_run.get(), asked) {
        (Some(shown), Some(asked)) if *shown != asked => Err(Fault::new(
            Kind::NotFound,
            format!("run_id: this page shows the run {shown} alone"),
        )),
        (Some(shown), _) => Ok(Some(shown.clone())),
        (None, asked) => Ok(asked),
    }
}

async fn read_state(desk: &Desk, asked: Asked) -> Result<state::State> {
    watch::state(&desk.service.store, &wanted_run(desk, asked.run_id)?).await
}

async fn state(State(desk): State<Desk>, Query(asked): Query<Asked>) -> Reply {
    match read_state(&desk, asked).await {
        Ok(state) => reply::json(&serde_json::json!(state)),
        Err(fault) => refused(&fault),
    }
}

async fn events(State(desk): State<Desk>, Query(asked): Query<Asked>, headers: HeaderMap) -> Reply {
    // A browser that comes back names the last event it had; that is later than what its address says.
    let returned = headers.get("last-event-id").and_then(|it| it.to_str().ok());
    let after = returned.or(asked.after.as_deref()).and_then(Mark::read);
    let store = desk.service.store.clone();
    let wanted = match wanted_run(&desk, asked.run_id) {
        Ok(wanted) => wanted,
        Err(fault) => return refused(&fault),
    };
    match watch::follow(store, wanted, after, &desk.watchers).await {
        Ok(stream) => reply::events(Body::from_stream(stream)),
        Err(fault) => refused(&fault),
    }
}

/// The final plan as a file to keep, never as a page.
async fn plan(State(desk): State<Desk>, Query(asked): Query<Asked>) -> Reply {
    let state = match read_state(&desk, asked).await {
        Ok(state) if state.final_plan.is_empty() => {
            let fault = Fault::new(Kind::NotFound, "there is no final plan yet");
            return refused(&fault);
        }
        Ok(state) => state,
        Err(fault) => return refused(&fault),
    };
    let mut reply = Response::new(Body::from(state.final_plan));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, plain);
    let name = HeaderValue::from_static("attachment; filename=\"final-plan.md\"");
    reply.headers_mut().insert(CONTENT_DISPOSITION, name);
    reply
}

fn refused(fault: &Fault) -> Reply {
    turned_away(fault, super::shape::status(fault))
}
