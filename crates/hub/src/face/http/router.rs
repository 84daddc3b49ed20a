//! Paths to functions, behind the guard.

use super::dialect::{Dialect, anthropic, openai, responses};
use super::guard::{admit, admit_token};
use super::reply::{Reply, refusal, text};
use super::shape::Shape;
use super::web::{self, Entry, Session, Watchers};
use super::{Limits, Token, embeddings, models, talk};
use crate::service::Service;
use crate::service::connections::Connection;
use crate::service::metrics::prometheus;
use althing_stdx::{Fault, Kind};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::routing::{get, post};
use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Method};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tower_service::Service as _;

const HEALTH: &str = "/healthz";
/// What clients speak, each at its own path below this.
const VERSION: &str = "/v1";
const SPOKEN: [&Dialect; 3] = [&openai::DIALECT, &responses::DIALECT, &anthropic::DIALECT];

/// The face: what its handlers know, and the paths to them.
pub(super) struct App {
    pub service: Arc<Service>,
    token: Token,
    session: Session,
    address: SocketAddr,
    desk: Desk,
    /// Everything but talk, which is nearly all there is and needs no search for its path.
    router: Router,
}

/// What the handlers know.
#[derive(Clone)]
pub(super) struct Desk {
    pub service: Arc<Service>,
    pub limits: Limits,
    pub watchers: Watchers,
}

impl App {
    pub(super) fn new(
        service: Arc<Service>,
        token: Token,
        address: SocketAddr,
        limits: Limits,
    ) -> App {
        let desk = Desk { service: service.clone(), limits, watchers: Watchers::default() };
        let session = Session::new(&token, address.port());
        App { service, token, session, address, router: router(desk.clone()), desk }
    }

    /// Who follows a run.
    pub(super) fn watchers(&self) -> &Watchers {
        &self.desk.watchers
    }

    /// Answers one request of the client on `line`.
    pub(super) async fn answer(
        self: Arc<App>,
        line: Arc<Connection>,
        request: hyper::Request<Incoming>,
    ) -> Result<Reply, Infallible> {
        let (headers, path) = (request.headers(), request.uri().path());
        let client = headers.get(USER_AGENT).and_then(|it| it.to_str().ok());
        line.count(client);
        if path == web::ROOT || path.starts_with(web::BELOW) {
            return Ok(web::dressed(self.page(request).await));
        }
        let admitted = admit(headers, self.address).and_then(|()| match path {
            HEALTH => Ok(()),
            _ => admit_token(headers, &self.token),
        });
        if let Err(denied) = admitted {
            return Ok(refusal(shape(path, headers), &denied.fault(self.address)));
        }
        match dialect(path) {
            Some(dialect) if request.method() == Method::POST => {
                Ok(talk::talk(&self.desk, dialect, request).await)
            }
            Some(_) => Ok(only_post(request.map(Body::new)).await),
            None => self.router.clone().call(request.map(Body::new)).await,
        }
    }

    /// Answers one request to the web application.
    async fn page(&self, request: hyper::Request<Incoming>) -> Reply {
        let (admitted, port) = (admit(request.headers(), self.address), self.address.port());
        match admitted.and_then(|()| self.session.admit(&request, &self.token, port)) {
            Ok(Entry::Open) => {
                let Ok(reply) = self.router.clone().call(request.map(Body::new)).await;
                reply
            }
            Ok(Entry::Welcome(to)) => self.session.welcome(&to),
            Err(denied) => web::turned_away(&denied.fault(self.address), denied.status()),
        }
    }
}

/// What is spoken at `path`.
fn dialect(path: &str) -> Option<&'static Dialect> {
    let below = path.strip_prefix(VERSION)?;
    SPOKEN.into_iter().find(|dialect| dialect.path == below)
}

fn router(desk: Desk) -> Router {
    web::routes(Router::new())
        .route("/v1/messages/count_tokens", post(talk::count_tokens))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/models", get(models::list))
        // A model's name may have slashes.
        .route("/v1/models/{*id}", get(models::one))
        .route(HEALTH, get(async || text("text/plain", "ok\n".into())))
        .route("/metrics", get(metrics))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .with_state(desk)
}

async fn metrics(State(desk): State<Desk>) -> Reply {
    match desk.service.prometheus().await {
        Ok(metrics) => text(prometheus::CONTENT_TYPE, metrics),
        Err(fault) => refusal(Shape::OpenAi, &fault),
    }
}

async fn unknown_path(request: Request) -> Reply {
    let path = request.uri().path();
    let fault = Fault::new(Kind::UnknownMethod, format!("there is nothing at {path}"));
    refusal(shape(path, request.headers()), &fault)
}

async fn unknown_method(request: Request) -> Reply {
    let (method, path) = (request.method(), request.uri().path());
    let fault = Fault::invalid(format!("{path} does not take {method}")).status(405);
    refusal(shape(path, request.headers()), &fault)
}

async fn only_post(request: Request) -> Reply {
    let mut reply = unknown_method(request).await;
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    reply
}

/// Whose words a client expects that has not said anything else yet.
pub(super) fn shape(path: &str, headers: &HeaderMap) -> Shape {
    match path.starts_with("/v1/messages") || headers.contains_key("anthropic-version") {
        true => Shape::Anthropic,
        false => Shape::OpenAi,
    }
}
