//! Pages of other sites that the person lets ask, and what a browser wants to hear before it lets
//! them (CORS). All others hear nothing, and their browsers keep the answers from them.

use super::reply::{ANSWERED_BY, Reply};
use super::{ignored, web};
use axum::body::Body;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Response, StatusCode};

/// How long a browser remembers what it was told, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST");
/// A browser asks with the first whether a public page may reach a private address.
const ASKS_PRIVATE: &str = "access-control-request-private-network";
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");
/// Headers of an answer that a page may read beside the usual ones.
const READABLE: [&str; 6] = [
    ANSWERED_BY,
    ignored::NAME,
    "x-althing-tokens",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
];

/// The sites whose pages may ask.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins(Vec<String>);

impl Origins {
    /// `origins` are written as browsers write them.
    pub(super) fn new(origins: &[String]) -> Origins {
        Origins(origins.to_vec())
    }

    /// Whether pages of this origin may ask.
    pub(super) fn allow(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// The origin of a request to `path`, where it is one of these. Our own pages are only for
    /// ourselves.
    pub(super) fn of(&self, path: &str, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let is_ours = path == web::ROOT || path.starts_with(web::BELOW);
        (!is_ours && self.allow(origin.to_str().ok()?)).then(|| origin.clone())
    }
}

/// Whether a browser asks if a page may ask. It shows no token then.
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// What a browser is told that asks so.
pub(super) fn preflight(asked: &HeaderMap) -> Reply {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    // Clients name themselves in headers of many names, none of which means anything dangerous here.
    if let Some(wanted) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    if asked.contains_key(ASKS_PRIVATE) {
        headers.insert(ALLOWS_PRIVATE, HeaderValue::from_static("true"));
    }
    reply
}

/// Lets the page read the answer, of whatever kind it is.
pub(super) fn open_to(origin: HeaderValue, reply: &mut Reply) {
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(VARY, HeaderValue::from_static("origin"));
    // All of these are plain words.
    if let Ok(readable) = HeaderValue::from_str(&READABLE.join(", ")) {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, readable);
    }
}
