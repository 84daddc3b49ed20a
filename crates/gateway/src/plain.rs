//! Servers that copy OpenAI's wire without its streams: some refuse `stream_options`, some `stream`.
//! A request that is refused for such a field is sent once without it, and what that server takes is
//! remembered.

use crate::Endpoint;
use crate::exchange::Declined;
use bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Servers and models that are remembered; of more nothing is, and each call finds out anew.
const PLACES_MAX: usize = 1_000;
/// Statuses of a request whose fields are wrong.
const STATUSES: [u16; 2] = [400, 422];

/// What of a stream a server takes, the best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Streaming {
    #[default]
    Whole,
    /// It streams, but does not count tokens on request.
    WithoutOptions,
    /// It answers at once or not at all.
    None,
}

impl Streaming {
    /// What to try next where a request in this form was refused with `declined`; none where the
    /// refusal is about something else.
    pub fn next(self, declined: &Declined) -> Option<Streaming> {
        let answer = declined.answer.as_ref().filter(|it| STATUSES.contains(&it.status))?;
        let said = String::from_utf8_lossy(&answer.body).to_lowercase();
        let names = |field: &str| said.split(|c: char| !is_of_name(c)).any(|word| word == field);
        match self {
            Streaming::Whole if names("stream_options") => Some(Streaming::WithoutOptions),
            Streaming::Whole | Streaming::WithoutOptions
                if names("stream") || names("streaming") =>
            {
                Some(Streaming::None)
            }
            _ => None,
        }
    }

    /// The body in this form; the same where it asks for no stream.
    pub fn body(self, body: &Bytes) -> Bytes {
        let parsed: Option<Map<String, Value>> = match self {
            Streaming::Whole => None,
            _ => serde_json::from_slice(body).ok(),
        };
        let Some(mut fields) = parsed else { return body.clone() };
        fields.remove("stream_options");
        if self == Streaming::None {
            fields.insert("stream".into(), false.into());
        }
        serde_json::to_vec(&fields).map_or_else(|_| body.clone(), Bytes::from)
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What servers take, by their address and the model. Clones are the same memory.
#[derive(Clone, Default)]
pub(crate) struct KnownStreams(Arc<Mutex<HashMap<(String, String), Streaming>>>);

impl KnownStreams {
    /// Returns what `model` is known to take.
    pub fn of(&self, endpoint: &Endpoint, model: &str) -> Streaming {
        let place = (endpoint.base_url.clone(), model.to_string());
        self.lock().get(&place).copied().unwrap_or_default()
    }

    /// Keeps what `model` took.
    pub fn note(&self, endpoint: &Endpoint, model: &str, streaming: Streaming) {
        let place = (endpoint.base_url.clone(), model.to_string());
        let mut known = self.lock();
        if known.len() < PLACES_MAX || known.contains_key(&place) {
            known.insert(place, streaming);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Streaming>> {
        // A panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Answer;
    use althing_stdx::{Fault, Kind};
    use hyper::header::HeaderMap;

    #[test]
    fn refusals_name_the_field_in_many_ways() {
        #[track_caller]
        fn check(status: u16, body: &str, from: Streaming, want: Option<Streaming>) {
            let body = Bytes::copy_from_slice(body.as_bytes());
            let answer = Answer { status, headers: HeaderMap::new(), body };
            let fault = Fault::new(Kind::InvalidParams, "refused");
            let declined = Declined { answer: Some(Box::new(answer)), ..Declined::from(fault) };
            assert_eq!(from.next(&declined), want, "{declined:?}");
        }
        use Streaming::{None as Nothing, Whole, WithoutOptions};
        let unknown = r#"{"error":{"message":"Unrecognized request argument: stream_options"}}"#;
        check(400, unknown, Whole, Some(WithoutOptions));
        check(400, unknown, WithoutOptions, None);
        check(500, unknown, Whole, None);
        let extra = r#"{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs"}]}"#;
        check(422, extra, Whole, Some(WithoutOptions));
        let verify = r#"{"error":{"message":"verify to stream","param":"stream"}}"#;
        check(400, verify, Whole, Some(Nothing));
        check(400, "Streaming is not supported.", WithoutOptions, Some(Nothing));
        check(400, "Streaming is not supported.", Nothing, None);
        check(400, r#"{"error":"upstream_error: messages is empty"}"#, Whole, None);
    }

    #[test]
    fn a_body_without_them() {
        let body = Bytes::from_static(
            br#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#,
        );
        let read = |it: Streaming| serde_json::from_slice::<Value>(&it.body(&body)).unwrap();
        assert_eq!(Streaming::Whole.body(&body), body);
        let want = serde_json::json!({"model": "m", "stream": true});
        assert_eq!(read(Streaming::WithoutOptions), want);
        let want = serde_json::json!({"model": "m", "stream": false});
        assert_eq!(read(Streaming::None), want);
    }
}
