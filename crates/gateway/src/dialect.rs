//! Wire dialects: pure functions between `chat` and a provider's bytes. Nothing here opens a
//! socket or knows the time.

pub mod anthropic;
pub mod gemini;
pub mod ollama;
pub mod openai;

mod calls;
mod json;
mod pieces;
mod reader;
mod refusal;
mod sampling;
mod think;
mod wait;

#[cfg(test)]
mod tests;

pub(crate) use json::read_window;
pub(crate) use reader::{cut, parse};
pub(crate) use refusal::in_stream;

use althing_chat::{Ask, Delta};
use althing_stdx::{Fault, Result};
use serde_json::Value;

/// Every dialect. A new one is a file and a row here; its recordings are found by its name.
pub static ALL: [&Dialect; 4] =
    [&openai::OPENAI, &anthropic::ANTHROPIC, &gemini::GEMINI, &ollama::OLLAMA];

/// One wire language, shared by every provider that speaks it.
pub struct Dialect {
    pub name: &'static str,
    /// The request for `ask` to `model`. What this language has no words for is an error that names
    /// the field.
    pub write: fn(model: &str, ask: &Ask) -> Result<Request>,
    /// A reader for the body of a success; `stream` is what the request asked for. A whole JSON
    /// body where a stream was asked for is understood too.
    pub reader: fn(stream: bool) -> Box<dyn Reader>,
    /// What an answer with an error status means.
    pub refuse: fn(&Refusal<'_>) -> Fault,
    /// The header that carries the key: name and value.
    pub key_header: fn(key: &str) -> (&'static str, String),
    /// Path of the list of models below the base URL.
    pub list_path: &'static str,
    /// Headers the list wants besides the key.
    pub list_headers: &'static [(&'static str, &'static str)],
    /// The models in the body of that list.
    pub read_list: fn(body: &[u8]) -> Result<Vec<Listed>>,
}

/// A request below a provider's base URL; always POST with a JSON body.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
    /// Settings of the `Ask` that the language has no words for, or this model no use.
    pub ignored: Vec<&'static str>,
}

/// Turns the bytes of an answer into deltas, however they are cut.
pub trait Reader: Send {
    /// Bytes as they arrive. After the first error nothing more is returned.
    fn feed(&mut self, bytes: &[u8]) -> Vec<Result<Delta>>;
    /// The body ended. A stream that ends before its own end mark was cut: `Kind::Network`.
    fn end(&mut self) -> Vec<Result<Delta>>;
}

/// An answer with an error status.
pub struct Refusal<'a> {
    pub status: u16,
    /// A header's value by lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<String>,
    pub body: &'a [u8],
}

/// A model in a provider's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub display_name: Option<String>,
    pub owned_by: Option<String>,
    pub context_tokens: Option<u64>,
}
