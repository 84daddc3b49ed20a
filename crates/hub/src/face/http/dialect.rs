//! What clients speak: a request's body becomes an `Ask`, deltas become a body or the bytes of a
//! stream. Pure functions; nothing here opens a socket or knows the time.

pub(super) mod anthropic;
pub(super) mod completions;
mod content;
mod field;
pub(super) mod openai;
mod options;
pub(super) mod responses;
#[cfg(test)]
mod tests;

use super::shape::Shape;
use althing_chat::{Answer, Ask, Delta, Tool, ToolChoice};
use althing_gateway::Provider;
use althing_stdx::{Fault, Result};
use serde_json::Value;

/// One language of clients.
pub(super) struct Dialect {
    /// Below `/v1`.
    pub path: &'static str,
    pub shape: Shape,
    /// The same language on the providers' side.
    pub upstream: &'static althing_gateway::dialect::Dialect,
    /// Whether this provider has the same path, so that bodies can pass as they are.
    pub passes: fn(&Provider) -> bool,
    /// Headers of the client that mean something to the provider.
    pub headers: &'static [&'static str],
    /// Settings that are called otherwise than in `Ask`, with their name here.
    pub names: &'static [(&'static str, &'static str)],
    /// What the body asks for. A field whose meaning would be lost is an error that names it; what
    /// else is not understood is `ignored`.
    pub read: fn(&Value) -> Result<Wanted>,
    pub writer: fn(Head) -> Box<dyn Writer>,
}

/// A request in the words of `chat`.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    pub ask: Ask,
    pub echo: Echo,
    /// Fields that are set and that nobody reads. What the model behind has no words for comes on
    /// top, once it is known which model that is.
    pub ignored: Vec<String>,
}

/// What a writer has to know of the request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Echo {
    /// OpenAI: count the tokens at the end of a stream.
    pub include_usage: bool,
    /// Anthropic: the client wants to see the thinking.
    pub thinking: bool,
    /// Completions: what stands before the answer.
    pub prefix: String,
    /// Responses: tools whose input is text, not JSON.
    pub custom: Vec<String>,
    /// Responses: fields that come back as they were sent.
    pub fields: serde_json::Map<String, Value>,
}

/// What every piece of an answer carries.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    /// Random; each dialect puts its own prefix before it.
    pub id: String,
    /// As the client named it.
    pub model: String,
    /// Seconds since 1970.
    pub created: u64,
    pub echo: Echo,
}

/// Writes one answer.
pub(super) trait Writer: Send {
    /// One delta of a stream; after `Delta::Stop` the stream is complete.
    fn delta(&mut self, delta: Delta, out: &mut String);
    /// The end of a stream that went wrong.
    fn fault(&mut self, fault: &Fault, out: &mut String);
    /// The answer in one piece.
    fn whole(&self, answer: &Answer) -> Value;
}

/// An event of a stream, with a name where the dialect has names.
fn event(out: &mut String, name: Option<&str>, data: &Value) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(&data.to_string());
    out.push_str("\n\n");
}

/// What a client says about calling tools.
enum Choice {
    /// The model decides.
    Free,
    /// None may be called.
    None,
    Forced(ToolChoice),
}

impl Choice {
    /// The tools and what has to be called. Tools that may not be called are still shown: the
    /// conversation may have calls of them.
    fn over(self, tools: Vec<Tool>) -> (Vec<Tool>, Option<ToolChoice>) {
        match self {
            Choice::Free => (tools, None),
            Choice::None if tools.is_empty() => (tools, None),
            Choice::None => (tools, Some(ToolChoice::None)),
            Choice::Forced(choice) => (tools, Some(choice)),
        }
    }
}
