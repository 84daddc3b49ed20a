//! The bytes of a streamed answer, handed on in the task that reads them: no queue, and what was
//! sent at once goes on at once.

use super::receive::Pieces;
use super::tail::Tail;
use super::trim::Trim;
use crate::Limits;
use crate::call::{Deadline, WIRE_BYTES_FACTOR, from_now, late};
use crate::exchange::scrub;
use crate::http::Body;
use crate::lane::Place;
use crate::route::Turn;
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use std::collections::VecDeque;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes that are handed on as one piece; what is there beyond is the next one.
const PIECE_BYTES_MAX: usize = 16 * 1024;

/// How a stream went.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub how: How,
    /// Tokens, where the provider counted them. OpenAI's servers count a stream only where they are
    /// asked (`stream_options.include_usage`): where the client does not, we do, and keep the count.
    pub usage: Option<Usage>,
}

/// Why a stream is over.
#[derive(Debug, Clone, PartialEq)]
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
    /// None where the body has ended.
    body: Option<Body>,
    /// What ended it, where that is still to be told.
    broken: Option<Fault>,
    turn: Turn,
    tail: Tail,
    /// Takes out what the client has not asked for.
    trim: Option<Trim>,
    limits: Limits,
    total_at: Instant,
    /// Bytes so far.
    heard: usize,
    /// The place in the server's lane.
    place: Place,
    /// The nearest of the deadlines; set while bytes are waited for. A client that takes its time
    /// is no silence of the server.
    alarm: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Streaming {
    pub(super) fn new(held: VecDeque<Bytes>, mut flow: Flow) -> Streaming {
        let mut kept = VecDeque::with_capacity(held.len());
        for bytes in held {
            flow.heard += bytes.len();
            flow.tail.feed(&bytes);
            kept.push_back(flow.trim(bytes));
        }
        kept.retain(|bytes| !bytes.is_empty());
        Streaming { held: kept, flow: Some(flow), note: None }
    }

    /// Calls `note` once, at the end of the stream or when it is dropped.
    pub fn on_end(&mut self, note: impl FnOnce(Ended) + Send + 'static) {
        self.note = Some(Box::new(note));
    }

    /// Lets go of the server and its lane, and tells who wants to know.
    fn end(&mut self, how: How) {
        let Some(Flow { mut turn, tail, body, place, .. }) = self.flow.take() else { return };
        drop((body, place));
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
    pub(super) fn new(
        body: Option<Body>,
        turn: Turn,
        tail: Tail,
        limits: Limits,
        total_at: Instant,
        place: Place,
    ) -> Flow {
        let alarm = Box::pin(sleep_until(total_at));
        Flow {
            body,
            broken: None,
            turn,
            tail,
            trim: None,
            limits,
            total_at,
            heard: 0,
            place,
            alarm,
            is_waiting: false,
        }
    }

    /// The same, with what `trim` takes out of it.
    pub(super) fn trimmed(self, trim: Option<Trim>) -> Flow {
        Flow { trim, ..self }
    }

    /// What of these bytes is for the client.
    fn trim(&mut self, bytes: Bytes) -> Bytes {
        match &mut self.trim {
            Some(trim) => trim.feed(bytes),
            None => bytes,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        match self.poll_piece(cx) {
            Poll::Ready(Some(bytes)) => Poll::Ready(Some(Ok(self.join(bytes, cx)))),
            Poll::Ready(None) => Poll::Ready(self.broken.take().map(Err)),
            Poll::Pending => self.wait(cx).map(|fault| Some(Err(fault))),
        }
    }

    /// All that is there already.
    fn join(&mut self, first: Bytes, cx: &mut Context<'_>) -> Bytes {
        let mut pieces = Pieces::One(first);
        while pieces.len() < PIECE_BYTES_MAX
            && let Poll::Ready(Some(bytes)) = self.poll_piece(cx)
        {
            pieces.push(&bytes);
        }
        pieces.join()
    }

    /// One piece that is for the client; none at the end, and `broken` says whether it was a bad
    /// one.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let Some(bytes) = ready!(self.poll_body(cx)) else {
                let rest = self.trim.take().map(|mut trim| trim.end());
                return Poll::Ready(rest.filter(|rest| !rest.is_empty()));
            };
            let bytes = self.trim(bytes);
            if !bytes.is_empty() {
                return Poll::Ready(Some(bytes));
            }
        }
    }

    /// One piece as it comes.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let taken = match ready!(body.poll_next_unpin(cx)) {
            Some(Ok(bytes)) => self.take(bytes).map(Some),
            Some(Err(fault)) => Err(fault),
            None => Ok(None),
        };
        let bytes = taken.unwrap_or_else(|fault| {
            self.broken = Some(fault);
            None
        });
        if bytes.is_none() {
            self.body = None;
        }
        Poll::Ready(bytes)
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Fault> {
        if !mem::replace(&mut self.is_waiting, true) {
            self.alarm.as_mut().reset(from_now(self.limits.idle).min(self.total_at));
        }
        self.alarm.as_mut().poll(cx).map(|()| self.late())
    }

    fn take(&mut self, bytes: Bytes) -> Result<Bytes> {
        self.heard += bytes.len();
        fits(self.heard, &self.limits, || self.turn.target.endpoint.who())?;
        self.tail.feed(&bytes);
        self.is_waiting = false;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use crate::dialect::openai::OPENAI;
    use crate::route::Line;
    use crate::tests::endpoint;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use tokio::time::sleep;

    const SECOND: Duration = Duration::from_secs(1);

    /// A stream whose server sends a piece after each of these seconds; the client takes `slow`
    /// seconds with each of them. 10 s of silence and 60 s in all are too long.
    async fn ends(server: &'static [u64], slow: u64) -> (usize, Duration, String) {
        let target = Target { endpoint: endpoint("openai", "http://x"), model: "m".into() };
        let mut line = Line::new(&crate::tests::gateway(1), vec![target], None);
        let (turn, place) = line.next_placed().await.unwrap();
        let limits = Limits { idle: 10 * SECOND, total: 60 * SECOND, ..Limits::default() };
        let body = futures_util::stream::iter(server).then(|wait| async {
            sleep(*wait as u32 * SECOND).await;
            Ok(Bytes::from("x"))
        });
        let (tail, total_at) = (Tail::new(&OPENAI), from_now(limits.total));
        let flow = Flow::new(Some(body.boxed()), turn, tail, limits, total_at, place);
        let (mut stream, begun) = (Streaming::new(VecDeque::new(), flow), Instant::now());
        let ended = Arc::new(Mutex::new(String::new()));
        let note = ended.clone();
        stream.on_end(move |end| *note.lock().unwrap() = format!("{:?}", end.how));
        let mut pieces = 0;
        while let Some(Ok(_)) = stream.next().await {
            pieces += 1;
            sleep(slow as u32 * SECOND).await;
        }
        let how = ended.lock().unwrap().clone();
        (pieces, begun.elapsed(), how)
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_the_servers_and_the_end_everybodys() {
        for (server, slow, pieces, seconds, words) in [
            (&[1, 9, 9][..], 0, 3, 19, "Done"),
            (&[1, 11], 0, 1, 11, "fell silent for 10s"),
            (&[1, 9], 20, 2, 41, "Done"),
            (&[9; 9], 0, 6, 60, "was not done within 60s"),
            (&[], 0, 0, 0, "Done"),
        ] {
            let (got, took, how) = ends(server, slow).await;
            assert_eq!((got, took), (pieces, seconds * SECOND), "{server:?}: {how}");
            assert!(how.contains(words), "{server:?}: {how}");
        }
    }
}
