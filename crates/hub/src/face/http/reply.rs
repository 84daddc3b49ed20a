//! Answers as HTTP has them.

use super::guard::Denied;
use super::shape::{Shape, status};
use althing_gateway::pass::for_client;
use althing_stdx::Fault;
use axum::body::Body;
use hyper::HeaderMap;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;
use std::net::SocketAddr;

pub(super) type Reply = Response<Body>;

/// The header of an answer that names its target, as `provider:model`.
pub(super) const ANSWERED_BY: &str = "x-althing-answered-by";

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// A whole answer.
pub(super) fn json(value: &Value) -> Reply {
    of(StatusCode::OK, JSON, Body::from(value.to_string()))
}

/// Text of some type.
pub(super) fn text(content_type: &'static str, text: String) -> Reply {
    of(StatusCode::OK, HeaderValue::from_static(content_type), Body::from(text))
}

/// A stream of events.
pub(super) fn events(body: Body) -> Reply {
    let mut reply = of(StatusCode::OK, EVENTS, body);
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    reply
}

/// An error in the client's own words.
pub(super) fn refusal(shape: Shape, fault: &Fault) -> Reply {
    let status = StatusCode::from_u16(status(fault)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = of(status, JSON, Body::from(shape.error(fault).to_string()));
    tell_wait(&mut reply, fault);
    reply
}

/// Puts the time to wait where clients look for it, unless it is there already: some providers say
/// it only in words.
pub(super) fn tell_wait(reply: &mut Reply, fault: &Fault) {
    let Some(wait) = fault.retry_after else { return };
    if reply.headers().contains_key(RETRY_AFTER) {
        return;
    }
    let seconds = wait.as_millis().div_ceil(1000) as u64;
    reply.headers_mut().insert(RETRY_AFTER, seconds.into());
    reply.headers_mut().insert("retry-after-ms", (wait.as_millis() as u64).into());
}

/// What somebody is told who may not come in to the face at `address`.
pub(super) fn denial(shape: Shape, denied: Denied, address: SocketAddr) -> Reply {
    let fault = denied.fault(address);
    let mut reply = refusal(shape, &fault);
    *reply.body_mut() = Body::from(shape.error_with_code(&fault, denied.code()).to_string());
    reply
}

/// Names who answered in a header. A header is plain ASCII, and names of models need not be: their
/// other bytes are written as `%41`.
pub(super) fn name_target(reply: &mut Reply, target: &str) {
    let byte = |byte: u8| match byte {
        b'!'..=b'~' if byte != b'%' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    let plain: String = target.bytes().map(byte).collect();
    if let Ok(value) = HeaderValue::from_str(&plain) {
        reply.headers_mut().insert(ANSWERED_BY, value);
    }
}

/// An answer of somebody else as it came, with those of its headers that are for the client.
pub(super) fn foreign(status: u16, headers: &HeaderMap, body: Body) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    reply.headers_mut().reserve(headers.len());
    let for_client = headers.iter().filter(|(name, _)| for_client(name));
    reply.headers_mut().extend(for_client.map(|(name, value)| (name.clone(), value.clone())));
    reply
}

fn of(status: StatusCode, content_type: HeaderValue, body: Body) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}
