//! Bytes through: where client and server speak the same dialect nothing is rebuilt. The model's
//! name is put in its place, and what comes back goes on as it comes.

use crate::dialect::Dialect;
use crate::{Gateway, Target};
use althing_chat::Usage;
use althing_stdx::{Fault, Result};
use bytes::Bytes;
use futures_util::Stream;
use hyper::header::HeaderMap;
use std::borrow::Cow;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a request's body says, as far as it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The model as the client named it.
    pub model: String,
    /// Where the name stands in the body, with its quotes.
    pub span: Range<usize>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
}

impl Head {
    /// Finds `model` and `stream`; everything else is only known to be JSON.
    pub fn scan(_body: &[u8]) -> Result<Head> {
        Err(Fault::internal("scan"))
    }
}

/// A client's request, as it came.
#[derive(Clone)]
pub struct PassRequest {
    /// What the client speaks; targets that speak another are skipped.
    pub dialect: &'static Dialect,
    /// Below `/v1`: `/chat/completions`, `/responses`, `/embeddings`, `/messages`. A query may
    /// follow.
    pub path: Cow<'static, str>,
    pub body: Bytes,
    pub head: Head,
    /// Headers of the client to send on, such as `anthropic-version` and `anthropic-beta`.
    pub headers: Vec<(&'static str, String)>,
}

/// A request that was not answered.
#[derive(Debug, Clone)]
pub struct Declined {
    pub fault: Fault,
    /// The provider's own answer where there was one, without any key.
    pub answer: Option<Answer>,
}

/// An error as the provider sent it.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// Those headers that are for the client.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// An answer on its way.
pub struct Passed {
    pub status: u16,
    /// Those headers that are for the client, `content-type` among them; never a length.
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

/// How a stream went.
#[derive(Debug, Clone)]
pub struct Ended {
    pub how: How,
    /// Tokens, where the provider counted them. OpenAI's servers count a stream only where the
    /// client asks (`stream_options.include_usage`); nothing is added to its request.
    pub usage: Option<Usage>,
}

/// Why a stream is over.
#[derive(Debug, Clone)]
pub enum How {
    Done,
    /// The connection broke, a deadline passed, or the provider sent an error after content.
    Failed(Fault),
    /// The client went away.
    Left,
}

/// The bytes of a streamed answer, as they are read.
pub struct Streaming {
    _later: (),
}

impl Streaming {
    /// Calls `note` once, at the end of the stream or when it is dropped.
    pub fn on_end(&mut self, _note: impl FnOnce(Ended) + Send + 'static) {}
}

impl Stream for Streaming {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        Poll::Ready(None)
    }
}

impl Gateway {
    /// Sends a request on to the first of `targets` that answers it.
    pub async fn pass(
        &self,
        _targets: &[Target],
        _request: PassRequest,
        _affinity: Option<u64>,
    ) -> Result<Passed, Declined> {
        Err(Declined { fault: Fault::internal("pass"), answer: None })
    }
}
