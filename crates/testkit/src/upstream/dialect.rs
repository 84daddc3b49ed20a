//! The providers' wire languages as pure functions from a reply, an error or a list to bytes.

mod anthropic;
pub(super) mod beside;
mod completions;
mod gemini;
mod ollama;
mod openai;
mod responses;

pub(super) use openai::no_such_path;

use super::{mishap::Trouble, options::Options, reply::Reply, seen::Seen};
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;

/// A wire language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    OpenAi,
    /// OpenAI's other one.
    Responses,
    /// OpenAI's oldest one.
    Completions,
    Anthropic,
    Gemini,
    Ollama,
}

impl Dialect {
    pub const ALL: [Dialect; 6] = [
        Dialect::OpenAi,
        Dialect::Responses,
        Dialect::Completions,
        Dialect::Anthropic,
        Dialect::Gemini,
        Dialect::Ollama,
    ];

    pub(super) fn wire(self) -> &'static Wire {
        match self {
            Dialect::OpenAi => &openai::WIRE,
            Dialect::Responses => &responses::WIRE,
            Dialect::Completions => &completions::WIRE,
            Dialect::Anthropic => &anthropic::WIRE,
            Dialect::Gemini => &gemini::WIRE,
            Dialect::Ollama => &ollama::WIRE,
        }
    }
}

/// How one dialect says things.
pub(super) struct Wire {
    /// Headers of every success.
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) stream_type: fn(&Seen) -> &'static str,
    pub(super) stream: fn(&Seen, Reply) -> Stream,
    pub(super) whole: fn(Reply) -> Value,
    pub(super) error: fn(&Wrong<'_>) -> Refusal,
    /// An error inside a stream; `begun` says whether a delta went before it.
    pub(super) event: fn(&Seen, &Wrong<'_>, begun: bool) -> Bytes,
    /// The status whose error this provider sends inside streams.
    pub(super) event_status: u16,
    pub(super) list: fn(&Options) -> Value,
}

/// A streamed answer in three parts, so that a mishap can strike between them.
pub(super) struct Stream {
    /// What goes before any content; may be empty.
    pub(super) open: Bytes,
    pub(super) deltas: Box<dyn Iterator<Item = Bytes> + Send>,
    /// How many deltas there are.
    pub(super) count: usize,
    pub(super) close: Bytes,
}

/// What an error's text is made of.
pub(super) struct Wrong<'a> {
    pub(super) trouble: Trouble,
    pub(super) model: &'a str,
    pub(super) retry_after: Duration,
}

/// An answer with an error status.
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

/// Second 0 of everything the upstream dates: answers are the same at every run.
const CREATED: u64 = 1_760_000_000;
const CREATED_AT: &str = "2025-10-09T08:53:20Z";

/// Whole seconds, rounded up, as `retry-after` has them.
fn seconds(wait: Duration) -> String {
    wait.as_millis().div_ceil(1000).to_string()
}
