//! Where the messages of the other side arrive and its requests are served.

use crate::{
    batch::{self, Batch},
    error::{Ended, Error, INVALID_REQUEST},
    framing::{Frame, Framing},
    handler::{Canceller, Cx, Handler, Trouble},
    link::Inbox,
    message::{self, Incoming, Invalid},
    options::{NullId, WhenFull},
    peer::Peer,
};
use althing_stdx::Kind;
use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use serde_json::{Value, value::RawValue};
use std::{io, panic::AssertUnwindSafe, sync::Arc};
use tokio::{io::AsyncRead, select, task::yield_now};

/// Frames taken before the writer has its turn, however many more have come. It has its turn sooner
/// when the outbox is full.
const TURN_FRAMES: usize = 256;

/// Serves without a task per request: most handlers are ready when first polled.
pub(crate) struct Desk<'a, H> {
    handler: &'a H,
    peer: &'a Peer,
    /// Each gives back how many bytes it held.
    running: FuturesUnordered<BoxFuture<'a, usize>>,
    /// Bytes of the parameters of all that is at work.
    bytes: usize,
    /// Frames since the last that was a message.
    broken: usize,
}

/// A request, or a notification if it has no id.
struct Request {
    id: Option<Arc<RawValue>>,
    method: String,
    params: Box<RawValue>,
    /// With whose answers its own goes back.
    batch: Option<Arc<Batch>>,
}

impl<'a, H: Handler> Desk<'a, H> {
    pub(crate) fn new(handler: &'a H, peer: &'a Peer) -> Desk<'a, H> {
        Desk { handler, peer, running: FuturesUnordered::new(), bytes: 0, broken: 0 }
    }

    /// Reads and serves until the stream ends. Reading waits for no handler; with
    /// `WhenFull::StopReading` no frame is taken while there is no room for more, and the end may be
    /// seen before all of them are.
    pub(crate) async fn open<R, F>(&mut self, inbox: &mut Inbox<R, F>) -> Ended
    where
        R: AsyncRead + Unpin,
        F: Framing,
    {
        let outbox = &self.peer.shared().outbox;
        loop {
            for _ in 0..TURN_FRAMES {
                let taken = match self.next(inbox).await {
                    Ok(Some(frame)) => self.take(frame),
                    Ok(None) => Err(Ended::Eof),
                    Err(error) => Err(Ended::Read(error)),
                };
                if let Err(ended) = taken {
                    return ended;
                }
                if !outbox.has_room() {
                    break;
                }
            }
            yield_now().await;
        }
    }

    /// The next frame, or none when the end is seen; serves until then. One branch is always enabled:
    /// without hands there are requests at work.
    async fn next<R, F>(&mut self, inbox: &mut Inbox<R, F>) -> io::Result<Option<Frame>>
    where
        R: AsyncRead + Unpin,
        F: Framing,
    {
        let outbox = &self.peer.shared().outbox;
        let pauses = self.peer.shared().options.when_full == WhenFull::StopReading;
        loop {
            let has_room = !pauses || outbox.has_room();
            let has_hands = !pauses || !self.is_busy();
            let takes = has_room && has_hands;
            let listens = takes || !inbox.is_at_end();
            let heard =
                async { if takes { inbox.next().await } else { inbox.end().await.map(|()| None) } };
            select! {
                biased;
                Some(bytes) = self.running.next() => self.bytes -= bytes,
                () = outbox.room(), if !has_room => {}
                frame = heard, if listens => return frame,
            }
        }
    }

    /// Serves what was asked before the stream ended.
    pub(crate) async fn finish<R, F>(&mut self, inbox: &mut Inbox<R, F>) -> Ended
    where
        R: AsyncRead + Unpin,
        F: Framing,
    {
        let ended = self.open(inbox).await;
        while let Some(bytes) = self.running.next().await {
            self.bytes -= bytes;
        }
        ended
    }

    fn is_busy(&self) -> bool {
        let limits = &self.peer.shared().options.limits;
        let is_full = self.running.len() >= limits.requests_max.max(1);
        is_full || self.bytes >= limits.requests_bytes_max.max(1)
    }

    fn take(&mut self, frame: Frame) -> Result<(), Ended> {
        match frame {
            Frame::Noise(text) => {
                self.trouble(Trouble::Noise(&text));
                Ok(())
            }
            Frame::Bad { what, start } => {
                self.trouble(Trouble::Bad(what));
                self.broken(&start, None, Error::new(INVALID_REQUEST, what))
            }
            Frame::Body(body) => {
                let takes_batches = self.peer.shared().options.batches;
                match takes_batches.then(|| batch::split(&body)).flatten() {
                    Some(all) => self.take_all(all),
                    None => self.take_one(&body),
                }
            }
        }
    }

    fn take_one(&mut self, body: &[u8]) -> Result<(), Ended> {
        match message::parse(body) {
            Ok(message) => {
                self.broken = 0;
                self.hear(message, None)
            }
            Err(Invalid { id, error }) => {
                self.trouble(Trouble::Invalid(&error));
                self.broken(body, id, error)
            }
        }
    }

    /// Takes the messages of a batch. Those that cannot be read are answered with the others.
    fn take_all(&mut self, all: Vec<Result<Incoming, Invalid>>) -> Result<(), Ended> {
        self.broken = 0;
        let wants_answer = |one: &&Result<Incoming, Invalid>| match one {
            Ok(message) => matches!(message, Incoming::Request { .. }),
            Err(invalid) => invalid.id.is_some(),
        };
        let answers = all.iter().filter(wants_answer).count();
        let batch = Arc::new(Batch::new(answers));
        for one in all {
            match one {
                Ok(message) => self.hear(message, Some(&batch))?,
                Err(Invalid { id, error }) => {
                    self.trouble(Trouble::Invalid(&error));
                    if id.is_some() {
                        self.refuse(id.as_deref(), Some(&batch), NullId::Unreadable, error)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Answers a frame that is no message, or fails the call that it would have answered.
    fn broken(
        &mut self,
        text: &[u8],
        id: Option<Box<RawValue>>,
        error: Error,
    ) -> Result<(), Ended> {
        self.broken += 1;
        let options = &self.peer.shared().options;
        if self.broken > options.limits.broken_max {
            return Err(Ended::Broken { frames: self.broken });
        }
        if id.is_some() || !options.guess_ids {
            return self.refuse(id.as_deref(), None, NullId::Unreadable, error);
        }
        let sketch = message::sketch(text);
        match (sketch.is_response(), sketch.id) {
            (false, id) => self.refuse(id.as_deref(), None, NullId::Unreadable, error),
            (true, Some(id)) => self.hear(Incoming::Response { id, outcome: Err(error) }, None),
            (true, None) => Ok(()),
        }
    }

    fn hear(&mut self, message: Incoming, batch: Option<&Arc<Batch>>) -> Result<(), Ended> {
        match message {
            Incoming::Request { id, method, params } => {
                let batch = batch.cloned();
                self.start(Request { id: Some(id.into()), method, params, batch })
            }
            Incoming::Notification { method, params } => {
                self.start(Request { id: None, method, params, batch: None })
            }
            Incoming::Response { id, outcome } => {
                if let Err(outcome) = self.peer.shared().calls.answer(&id, outcome) {
                    self.trouble(Trouble::Stray { id: &id, error: outcome.as_ref().err() });
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, mut request: Request) -> Result<(), Ended> {
        if message::is_null(&request.params) && !self.peer.shared().options.null_params {
            request.params = message::raw("{}");
        }
        if !self.is_busy() {
            let bytes = request.params.get().len();
            self.bytes += bytes;
            let work = serve(self.handler, self.peer, request).map(move |()| bytes);
            self.running.push(work.boxed());
            return Ok(());
        }
        let busy = format!("Busy: {} requests are at work already", self.running.len());
        let busy = Error::of(Kind::Busy, busy);
        if request.id.is_none() {
            self.trouble(Trouble::Failed { method: &request.method, error: &busy });
        }
        self.refuse(request.id.as_deref(), request.batch.as_deref(), NullId::Always, busy)
    }

    /// Answers at once, room or not. `level` is what it takes to answer one without an id.
    fn refuse(
        &self,
        id: Option<&RawValue>,
        batch: Option<&Batch>,
        level: NullId,
        error: Error,
    ) -> Result<(), Ended> {
        let options = &self.peer.shared().options;
        if id.is_none() && options.null_id < level {
            return Ok(());
        }
        let Some(answer) = self.peer.answer(id, batch, &Err(error)) else { return Ok(()) };
        let bytes = self.peer.shared().outbox.push_now(&answer);
        match options.when_full {
            WhenFull::Refuse { outbox_bytes_hard_max } if bytes > outbox_bytes_hard_max => {
                Err(Ended::OutboxFull { bytes })
            }
            _ => Ok(()),
        }
    }

    fn trouble(&self, trouble: Trouble<'_>) {
        self.handler.trouble(self.peer, trouble);
    }
}

/// Serves one request and answers it. The answer waits for room here, where nobody else does.
async fn serve<H: Handler>(handler: &H, peer: &Peer, request: Request) {
    let Request { id, method, params, batch } = request;
    let (handle, registration) = AbortHandle::new_pair();
    let cx = Cx { peer: peer.clone(), id: id.clone(), canceller: Canceller(handle) };
    let work = async {
        match cx.id {
            Some(_) => handler.request(cx, &method, params).await,
            None => handler.notification(cx, &method, params).await.map(|()| Value::Null),
        }
    };
    let work = AssertUnwindSafe(work).catch_unwind();
    let outcome = match Abortable::new(work, registration).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Error::of(Kind::Internal, "Internal error: the handler panicked")),
        Err(_) => Err(Error::of(Kind::Cancelled, "Request cancelled")),
    };
    if id.is_none() {
        let Err(error) = &outcome else { return };
        handler.trouble(peer, Trouble::Failed { method: &method, error });
        if peer.shared().options.null_id < NullId::Always {
            return;
        }
    }
    if let Some(answer) = peer.answer(id.as_deref(), batch.as_deref(), &outcome) {
        // Fails only when the connection is over, and then nobody waits for the answer.
        let _ = peer.shared().outbox.push(&answer).await;
    }
    handler.answered(peer);
}
