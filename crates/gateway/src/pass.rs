//! Bytes through: where client and server speak the same dialect nothing is rebuilt. The model's
//! name is put in its place, and what comes back goes on as it comes.

mod gate;
mod head;
mod quirks;
mod receive;
mod relay;
mod stream;
mod tail;
#[cfg(test)]
mod tests;
mod trim;

pub use crate::exchange::{Answer, Declined};
pub use head::Head;
pub(crate) use quirks::Quirks;
pub use stream::{Ended, How, Streaming};

use crate::dialect::Dialect;
use crate::{Gateway, Target};
use althing_chat::Usage;
use althing_stdx::Result;
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName};
use std::borrow::Cow;

/// A client's request, as it came.
#[derive(Clone)]
pub struct PassRequest {
    /// What the client speaks; targets that speak another are passed over.
    pub dialect: &'static Dialect,
    /// Below `/v1`: `/chat/completions`, `/completions`, `/responses`, `/embeddings`, `/messages`. A
    /// query may follow.
    pub path: Cow<'static, str>,
    pub body: Bytes,
    pub head: Head,
    /// Headers of the client to send on, such as `anthropic-version` and `anthropic-beta`.
    pub headers: Vec<(&'static str, String)>,
}

/// An answer on its way.
pub struct Passed {
    pub status: u16,
    /// The answer's headers; `for_client` picks those that go on.
    pub headers: HeaderMap,
    /// Who answers.
    pub target: Target,
    /// Attempts that failed before, at this and other targets.
    pub failed: u32,
    pub body: Passing,
}

/// The body of an answer.
pub enum Passing {
    /// All of it, and the tokens it counts.
    Whole(Bytes, Option<Usage>),
    /// As it comes. Dropping it ends the call upstream.
    Stream(Box<Streaming>),
}

/// Headers of an answer that are for the client, by name and by beginning. The others are between
/// two machines, or none of its business.
const FOR_CLIENT: &[&str] = &["content-type", "retry-after", "retry-after-ms"];
const FOR_CLIENT_PREFIXES: &[&str] =
    &["x-ratelimit-", "anthropic-ratelimit-", "request-id", "x-request-id", "openai-", "x-should-"];

/// Whether a header of an answer goes on to the client.
pub fn for_client(name: &HeaderName) -> bool {
    let name = name.as_str();
    FOR_CLIENT.contains(&name) || FOR_CLIENT_PREFIXES.iter().any(|start| name.starts_with(start))
}

impl Gateway {
    /// Sends a request on to the first of `targets` that answers it, by the rules of routes. A
    /// streamed answer is held until its first word, so an error after HTTP 200 falls back too. A
    /// target that lacks the path ends it with [`Kind::UnknownMethod`](althing_stdx::Kind).
    pub async fn pass(
        &self,
        targets: &[Target],
        request: PassRequest,
        affinity: Option<u64>,
    ) -> Result<Passed, Declined> {
        relay::pass(self, targets, request, affinity).await
    }

    /// Whether `target` is known to lack `path`, which is one of [`PassRequest::path`].
    pub fn lacks(&self, target: &Target, path: &str) -> bool {
        self.quirks.lacks(target, path)
    }
}
