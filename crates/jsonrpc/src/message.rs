//! What a body says. Ids and parameters stay the text they were, so that an id of any type goes
//! back as it came.

mod envelope;
mod sketch;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use sketch::sketch;
pub(crate) use write::{answer, call};

use crate::error::{Error, INVALID_REQUEST, PARSE_ERROR};
use althing_stdx::{Kind, text};
use envelope::{Envelope, Top};
use serde_json::value::RawValue;

/// What is quoted of an error that is not what it should be, in characters.
const QUOTED_CHARS_MAX: usize = 200;

/// A message of the other side.
#[derive(Debug)]
pub enum Incoming {
    /// Wants an answer.
    Request {
        /// Goes back byte for byte.
        id: Box<RawValue>,
        /// Never empty.
        method: String,
        /// An object or an array; `null` where there was nothing.
        params: Box<RawValue>,
    },
    /// Wants none: its id is missing or `null`.
    Notification {
        /// Never empty.
        method: String,
        /// An object or an array; `null` where there was nothing.
        params: Box<RawValue>,
    },
    /// Answers a request of ours.
    Response {
        /// The id of the request; `null` where the other side could not tell it.
        id: Box<RawValue>,
        /// What it was answered.
        outcome: Result<Box<RawValue>, Error>,
    },
}

/// A body that is no message, and what to answer.
#[derive(Debug)]
pub struct Invalid {
    /// Its id, where it has one.
    pub id: Option<Box<RawValue>>,
    /// What is wrong with it.
    pub error: Error,
}

/// Reads a body. Unknown members are ignored, and of a member that comes twice the last counts.
pub fn parse(body: &[u8]) -> Result<Incoming, Invalid> {
    let envelope = match top(body)? {
        Top::Object(envelope) => envelope,
        Top::Other(what) => {
            return Err(invalid(None, format_args!("expected an object, not {what}")));
        }
    };
    let id = envelope.id.filter(|id| !is_null(id)).map(ToOwned::to_owned);
    if envelope.is_response() {
        let id = id.unwrap_or_else(|| raw("null"));
        return Ok(Incoming::Response { id, outcome: outcome(&envelope) });
    }
    if envelope.jsonrpc.and_then(envelope::string).as_deref() != Some("2.0") {
        return Err(invalid(id, "missing jsonrpc 2.0"));
    }
    let method = envelope.method.and_then(envelope::string).filter(|method| !method.is_empty());
    let Some(method) = method else { return Err(invalid(id, "missing method")) };
    let method = method.into_owned();
    let params = match envelope.params.filter(|params| !is_null(params)) {
        None => raw("null"),
        Some(params) if params.get().starts_with(['{', '[']) => params.to_owned(),
        Some(_) => {
            let error = Error::invalid_params("expected an object or an array");
            return Err(Invalid { id, error });
        }
    };
    Ok(match id {
        Some(id) => Incoming::Request { id, method, params },
        None => Incoming::Notification { method, params },
    })
}

fn top(body: &[u8]) -> Result<Top<'_>, Invalid> {
    let broken = |detail: &dyn std::fmt::Display| Invalid {
        id: None,
        error: Error::new(PARSE_ERROR, format_args!("Parse error: {detail}")),
    };
    let text = str::from_utf8(body).map_err(|error| broken(&error))?;
    serde_json::from_str(text).map_err(|error| broken(&error))
}

fn invalid(id: Option<Box<RawValue>>, what: impl std::fmt::Display) -> Invalid {
    Invalid { id, error: Error::new(INVALID_REQUEST, format_args!("Invalid Request: {what}")) }
}

/// An `error` that is `null` counts as none. One that is no error object still means failure.
fn outcome(envelope: &Envelope) -> Result<Box<RawValue>, Error> {
    let Some(error) = envelope.error.filter(|error| !is_null(error)) else {
        return Ok(envelope.result.map_or_else(|| raw("null"), ToOwned::to_owned));
    };
    Err(serde_json::from_str(error.get()).unwrap_or_else(|_| {
        let quoted = text::one_line(error.get(), QUOTED_CHARS_MAX);
        Error::of(Kind::Internal, format_args!("malformed error: {quoted}"))
    }))
}

pub(crate) fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_string()).expect("constants are JSON")
}
