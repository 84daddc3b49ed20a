//! Paths to functions, behind the guard.

use super::cors::{self, Origins};
use super::dialect::{Dialect, anthropic, completions, openai, responses};
use super::guard::{Denied, admit, admit_token};
use super::reply::{Reply, denial, refusal, text};
use super::shape::Shape;
use super::web::{self, Entry, Session, Watchers, without_key};
use super::{Limits, Token, embeddings, hops, models, talk};
use crate::service::Service;
use crate::service::connections::Connection;
use crate::service::metrics::prometheus;
use althing_stdx::{Fault, Kind, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::routing::{get, post};
use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Method};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use tower_service::Service as _;

const HEALTH: &str = "/healthz";
/// What clients speak, each at its own path below this.
const VERSION: &str = "/v1";
const SPOKEN: [&Dialect; 4] =
    [&openai::DIALECT, &responses::DIALECT, &anthropic::DIALECT, &completions::DIALECT];

/// The face: what its handlers know, and the paths to them.
pub(super) struct App {
    pub service: Arc<Service>,
    token: Token,
    session: Session,
    address: SocketAddr,
    origins: Origins,
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
    /// The only run that the pages show, where there is one.
    pub shown_run: Arc<OnceLock<String>>,
}

impl App {
    pub(super) fn new(
        service: Arc<Service>,
        token: Token,
        address: SocketAddr,
        limits: Limits,
    ) -> Result<App> {
        let (watchers, shown_run) = (Watchers::default(), Arc::default());
        let desk = Desk { service: service.clone(), limits, watchers, shown_run };
        let session = Session::begin(address.port())?;
        let origins = Origins::new(&service.library.book().config.http_origins);
        let router = router(desk.clone());
        Ok(App { service, token, session, address, origins, router, desk })
    }

    /// What opens the web application in this run.
    pub(super) fn page_key(&self) -> &Token {
        self.session.key()
    }

    /// Shows this run from now on and no other.
    pub(super) fn show_only(&self, run: &str) {
        // The first one stays.
        let _ = self.desk.shown_run.set(run.to_string());
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
    ) -> std::result::Result<Reply, Infallible> {
        let headers = request.headers();
        line.count(headers.get(USER_AGENT).and_then(|it| it.to_str().ok()));
        let page = self.origins.of(request.uri().path(), headers);
        let mut reply = self.admit(page.is_some(), request).await?;
        if let Some(origin) = page {
            cors::open_to(origin, &mut reply);
        }
        Ok(reply)
    }

    /// Answers whoever may come in. `is_page`: it comes from a page of an allowed site.
    async fn admit(
        self: Arc<App>,
        is_page: bool,
        request: hyper::Request<Incoming>,
    ) -> std::result::Result<Reply, Infallible> {
        let (headers, path) = (request.headers(), request.uri().path());
        if path == web::ROOT || path.starts_with(web::BELOW) {
            return Ok(web::dressed(self.page(request).await));
        }
        let is_asked_first = is_page && cors::is_preflight(request.method(), headers);
        let is_free = is_asked_first || path == HEALTH;
        let admitted = admit(headers, self.address, &self.origins);
        let admitted = admitted
            .and_then(|()| if is_free { Ok(()) } else { admit_token(headers, &self.token) });
        if let Err(denied) = admitted {
            return Ok(denial(shape(path, headers), denied, self.address));
        }
        if is_asked_first {
            return Ok(cors::preflight(headers));
        }
        let hops = match self.service.gateway.admit_hops(headers) {
            Ok(hops) => hops,
            Err(fault) => return Ok(hops::refuse(shape(path, headers), &fault)),
        };
        match hops {
            None => Ok(self.route(request).await),
            Some(hops) => Ok(hops::answer(hops, self.route(request)).await),
        }
    }

    /// Answers one request of somebody who may ask.
    async fn route(&self, request: hyper::Request<Incoming>) -> Reply {
        match dialect(request.uri().path()) {
            Some(dialect) if request.method() == Method::POST => {
                talk::talk(&self.desk, dialect, request).await
            }
            Some(_) => only_post(request.map(Body::new)).await,
            None => {
                let Ok(reply) = self.router.clone().call(request.map(Body::new)).await;
                reply
            }
        }
    }

    /// Answers one request to the web application.
    async fn page(&self, request: hyper::Request<Incoming>) -> Reply {
        // Only our own pages belong here, whoever else may ask for models.
        let admitted = admit(request.headers(), self.address, &Origins::default());
        let port = self.address.port();
        match admitted.and_then(|()| self.session.admit(&request, port)) {
            Ok(Entry::Open) => {
                let Ok(reply) = self.router.clone().call(request.map(Body::new)).await;
                reply
            }
            Ok(Entry::Welcome(to)) => self.session.welcome(&to),
            Err(Denied::Token) => web::turned_away(&without_key(), Denied::Token.status()),
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
