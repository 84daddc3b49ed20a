//! The bytes of a streamed answer, handed on in the task that reads them: no queue, no copy.

use super::tail::Tail;
use crate::Limits;
use crate::call::{Deadline, WIRE_BYTES_FACTOR, from_now, late};
use crate::exchange::scrub;
use crate::http::Body;
use crate::route::Turn;
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until};

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

/// The bytes of a streamed answer, as they are read. Dropping it ends the call upstream.
pub struct Streaming {
    /// What was read before the first word.
    held: VecDeque<Bytes>,
    /// None once it is over.
    flow: Option<Flow>,
    note: Option<Box<dyn FnOnce(Ended) + Send>>,
}

/// What is alive while bytes come.
pub(super) struct Flow {
    /// None where the body had ended before it was released.
    pub(super) body: Option<Body>,
    pub(super) turn: Turn,
    pub(super) tail: Tail,
    pub(super) limits: Limits,
    pub(super) total_at: Instant,
    /// Bytes so far.
    pub(super) heard: usize,
    /// The place in the server's lane.
    pub(super) permit: OwnedSemaphorePermit,
    /// The nearest of the deadlines.
    pub(super) alarm: Pin<Box<Sleep>>,
}

impl Streaming {
    pub(super) fn new(held: VecDeque<Bytes>, mut flow: Flow) -> Streaming {
        held.iter().for_each(|bytes| flow.tail.feed(bytes));
        Streaming { held, flow: Some(flow), note: None }
    }

    /// Calls `note` once, at the end of the stream or when it is dropped.
    pub fn on_end(&mut self, note: impl FnOnce(Ended) + Send + 'static) {
        self.note = Some(Box::new(note));
    }

    /// Lets go of the server and its lane, and tells who wants to know.
    fn end(&mut self, how: How) {
        let Some(Flow { mut turn, tail, body, permit, .. }) = self.flow.take() else { return };
        drop((body, permit));
        let how = match (how, tail.error) {
            (How::Done, Some(fault)) => How::Failed(scrub(&turn.target.endpoint, fault)),
            (how, _) => how,
        };
        if let How::Failed(fault) = &how {
            turn.trial.failed(fault);
        }
        if let Some(note) = self.note.take() {
            note(Ended { how, usage: tail.usage });
        }
    }
}

impl Flow {
    /// The alarm for the time after the bytes that just came.
    pub(super) fn alarm(limits: &Limits, total_at: Instant) -> Pin<Box<Sleep>> {
        Box::pin(sleep_until(from_now(limits.idle).min(total_at)))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        match body.poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(Some(self.take(bytes))),
            Poll::Ready(other) => Poll::Ready(other),
            Poll::Pending => match self.alarm.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Some(Err(self.late()))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn take(&mut self, bytes: Bytes) -> Result<Bytes> {
        self.heard += bytes.len();
        fits(self.heard, &self.limits, || self.turn.target.endpoint.who())?;
        self.tail.feed(&bytes);
        self.alarm.as_mut().reset(from_now(self.limits.idle).min(self.total_at));
        Ok(bytes)
    }

    fn late(&self) -> Fault {
        let total = self.total_at <= Instant::now();
        let deadline = if total { Deadline::Total } else { Deadline::Idle };
        late(&self.turn.target.endpoint.who(), &self.limits, deadline)
    }
}

/// An answer has a length, here counted on the wire.
pub(super) fn fits(heard: usize, limits: &Limits, who: impl FnOnce() -> String) -> Result<()> {
    let max = limits.answer_bytes_max.saturating_mul(WIRE_BYTES_FACTOR);
    if heard <= max {
        return Ok(());
    }
    Err(Fault::new(Kind::Upstream, format!("the answer of {} is longer than {max} bytes", who())))
}

impl Stream for Streaming {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if let Some(bytes) = self.held.pop_front() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        let Some(flow) = &mut self.flow else { return Poll::Ready(None) };
        match flow.poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(Some(Ok(bytes))),
            Poll::Ready(None) => {
                self.end(How::Done);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(fault))) => {
                let fault = scrub(&flow.turn.target.endpoint, fault);
                self.end(How::Failed(fault.clone()));
                Poll::Ready(Some(Err(fault)))
            }
        }
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.end(How::Left);
    }
}
