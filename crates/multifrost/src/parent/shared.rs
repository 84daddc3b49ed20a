//! What a handle and its threads share: the connection, and the calls that wait for an answer.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot, watch};

use super::heartbeat::Beat;
use super::options::{CallOptions, Options, Stream};
use super::reply::{self, Reply};
use super::seat::{IDLE_MAX, Seat};
use super::sent::Sent;
use super::stream::Streams;
use super::teller::Teller;
use crate::envelope::{Draft, Envelope, Id, Kind};
use crate::error::Error;
use crate::ext::{Extension, Extensions, Notes, Peer, UNAUTHENTICATED};
use crate::id::{self, ByUuid, Uuid};
use crate::limits::HANDSHAKE_MAX;
use crate::msgpack;
use crate::socket::{Inbox, Link, Patience, SPIN_MAX, SendError};
use crate::token::Token;
use crate::wait;

/// Whether there is somebody to call.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// Not yet, or not at the moment: calls wait.
    Waiting,
    Up(Up),
    /// It was there and is gone: calls fail at once, until it is there again.
    Lost(Error),
    /// Never again.
    Over(Error),
}

/// A connection, and who reads it.
#[derive(Debug, Clone)]
pub(super) struct Up {
    pub link: Arc<Link>,
    pub seat: Arc<Seat>,
}

/// Who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Task,
    Thread,
    /// One that sends more before it waits.
    Each,
}

type Slot = oneshot::Sender<Result<Reply, Error>>;

#[derive(Debug)]
pub(super) struct Shared {
    pub options: Options,
    pub beat: Beat,
    /// What the worker of this connection knows.
    pub peer: Peer,
    pub streams: Streams,
    pub teller: Teller,
    pub places: Arc<Semaphore>,
    phase: watch::Sender<Phase>,
    is_stopping: watch::Sender<bool>,
    pending: Mutex<ByUuid<Slot>>,
    /// Whether the last wait has brought several answers.
    is_crowded: AtomicBool,
}

impl Shared {
    pub(super) fn new(name: &str, options: Options) -> Shared {
        Shared {
            beat: Beat::default(),
            peer: Peer::default(),
            streams: Streams::default(),
            teller: Teller::new(name, options.output.clone()),
            places: Arc::new(Semaphore::new(options.pending_calls_max.max(1))),
            phase: watch::Sender::new(Phase::Waiting),
            is_stopping: watch::Sender::new(false),
            pending: Mutex::default(),
            is_crowded: false.into(),
            options,
        }
    }

    /// Sends a call and waits for the answer, without a limit of its own. When it is dropped, its
    /// place is free and an answer that comes late finds nobody.
    pub(super) async fn request(
        &self,
        options: &CallOptions,
        function: &str,
        args: &Bytes,
    ) -> Result<Reply, Error> {
        loop {
            let mut sent = self.submit(options, function, args, Who::Task).await?;
            let answer = sent.answer().await;
            if !self.is_to_be_repeated(&sent, &answer) {
                return answer;
            }
        }
    }

    /// As [`Shared::request`], on this thread; `None` when it takes longer than `max`.
    pub(super) fn request_blocking(
        &self,
        options: &CallOptions,
        function: &str,
        args: &Bytes,
        max: Duration,
    ) -> Option<Result<Reply, Error>> {
        // What is beyond all clocks is without a limit.
        let deadline = wait::now().checked_add(max);
        loop {
            let submitted = self.submit(options, function, args, Who::Thread);
            let mut sent = match wait::block_until(submitted, deadline)? {
                Ok(sent) => sent,
                Err(error) => return Some(Err(error)),
            };
            let answer = sent.wait(deadline)?;
            if !self.is_to_be_repeated(&sent, &answer) {
                return Some(answer);
            }
        }
    }

    /// Sends a call, or holds it back with others that are about to be sent, as soon as there is a
    /// place for it and a connection. What has to be waited for is boxed: most calls wait for
    /// nothing, and a future that is short is made and moved faster.
    pub(super) async fn submit(
        &self,
        options: &CallOptions,
        function: &str,
        args: &Bytes,
        who: Who,
    ) -> Result<Sent<'_>, Error> {
        loop {
            let place = match self.places.try_acquire() {
                Ok(place) => place,
                Err(_) => Box::pin(self.places.acquire()).await.map_err(|_| Error::Stopped)?,
            };
            let up = match self.up_now() {
                Some(up) => up,
                None => Box::pin(self.up()).await?,
            };
            let id = id::fresh();
            let had_token = self.peer.has(Extension::Auth);
            let packet = self.draft(&id, options, function, args, false)?.finish();
            let (sender, receiver) = oneshot::channel();
            let is_held = self.pend(id, sender) || who == Who::Each;
            let number = (who == Who::Task).then(|| up.seat.number());
            let (shared, is_answered) = (self, false);
            let mut sent =
                Sent { shared, up, id, receiver, number, had_token, is_held, is_answered, place };
            let link = &sent.up.link;
            let done = match if is_held { link.hold(packet) } else { link.try_send(packet) } {
                Err(SendError::Full(packet)) => {
                    // A worker that waits for us to read reads nothing.
                    sent.up.seat.want();
                    Box::pin(link.send(packet)).await
                }
                done => done,
            };
            if done.is_ok() {
                return Ok(sent);
            }
            // It ended under our hands. What was not sent whole did not run, so the next
            // connection may have it, unless the call was failed with the others.
            if let Ok(failed) = sent.receiver.try_recv() {
                failed?;
            }
        }
    }

    /// A call waits for its answer from now on. Says whether others do, or are about to: then what
    /// one after the other sends should be one write.
    fn pend(&self, id: Uuid, slot: Slot) -> bool {
        let mut pending = self.lock();
        pending.insert(id, slot);
        pending.len() > 1 || self.is_crowded.load(Ordering::Relaxed)
    }

    /// A call as it is sent: it names our extensions until the worker has named its own, and is of
    /// an extension only where the worker knows it.
    pub(super) fn draft(
        &self,
        id: &str,
        options: &CallOptions,
        function: &str,
        args: &Bytes,
        is_stream: bool,
    ) -> Result<Draft, Error> {
        let namespace = options.namespace.as_deref().unwrap_or(&self.options.namespace);
        let token = self.options.token.as_ref().filter(|_| self.peer.has(Extension::Auth));
        let is_unsettled = self.peer.known().is_none();
        let notes = Notes {
            ext: (is_stream || is_unsettled).then_some(Extensions::ALL),
            token: token.map(Token::reveal),
            is_stream,
            ..Notes::default()
        };
        // Before the arguments, so that a child which cannot read those knows whom it tells.
        let draft = Draft::new(Kind::Call, Id::Text(id)).notes(&notes).text("function", function);
        let draft = draft.long("args", args).text("namespace", namespace);
        let draft = match &options.client_name {
            Some(name) => draft.text("client_name", name),
            None => draft,
        };
        let (bytes, max) = (draft.len(), self.options.message_bytes_max);
        if bytes > max { Err(Error::TooLarge { bytes, max }) } else { Ok(draft) }
    }

    /// Whether a call was refused for want of a token that it did not have, and there is one.
    pub(super) fn is_to_be_repeated(&self, sent: &Sent<'_>, answer: &Result<Reply, Error>) -> bool {
        !sent.had_token
            && self.options.token.is_some()
            && self.peer.has(Extension::Auth)
            && *answer == Err(Error::Remote(UNAUTHENTICATED.into()))
    }

    /// Nobody waits for a call any more: the worker is told, if it knows what that means.
    pub(super) fn say_cancel(&self, link: &Arc<Link>, id: &str) {
        if self.peer.has(Extension::Cancel) {
            // A worker that does not read would not hear it in time either.
            let _ = link.try_send(Draft::new(Kind::Cancel, Id::Text(id)).finish());
        }
    }

    /// The connection, if there is one that can be sent to.
    fn up_now(&self) -> Option<Up> {
        match &*self.phase.borrow() {
            Phase::Up(up) if !up.link.is_closed() => Some(up.clone()),
            _ => None,
        }
    }

    /// The connection, as soon as there is one.
    pub(super) async fn up(&self) -> Result<Up, Error> {
        // One that is closed is about to be gone from here.
        let is_decided = |phase: &Phase| match phase {
            Phase::Waiting => false,
            Phase::Up(up) => !up.link.is_closed(),
            Phase::Lost(_) | Phase::Over(_) => true,
        };
        let mut phase = self.phase.subscribe();
        match phase.wait_for(is_decided).await.map(|phase| phase.clone()) {
            Ok(Phase::Up(up)) => Ok(up),
            Ok(Phase::Lost(error) | Phase::Over(error)) => Err(error),
            Ok(Phase::Waiting) | Err(_) => Err(Error::Stopped),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(&*self.phase.borrow(), Phase::Up(_))
    }

    /// The connection, if there is one right now.
    pub(super) fn link_now(&self) -> Option<Arc<Link>> {
        if let Phase::Up(up) = &*self.phase.borrow() { Some(up.link.clone()) } else { None }
    }

    /// Reads a connection to its end, with the callers; then all calls that are pending fail with
    /// what `why` makes of the reason. A second connection beside a live one is refused.
    pub(super) fn serve(&self, link: &Arc<Link>, inbox: Inbox, why: impl FnOnce(String) -> Error) {
        let up = Up { link: link.clone(), seat: Arc::new(Seat::new(inbox)) };
        // The one before may have ended and not be gone from here: then its calls fail first.
        let is_settled = |phase: &Phase| !matches!(phase, Phase::Up(up) if up.link.is_closed());
        let mut phase = self.phase.subscribe();
        // One that never goes is alive for all that is known, and refuses this one below.
        let _ = wait::block_on(phase.wait_for(is_settled), HANDSHAKE_MAX);
        let is_first = self.phase.send_if_modified(|phase| {
            let is_free = matches!(phase, Phase::Waiting | Phase::Lost(_));
            if is_free {
                self.peer.forget();
                *phase = Phase::Up(up.clone());
            }
            is_free
        });
        if !is_first {
            return link.cut();
        }
        let reason = self.read(&up);
        link.cut();
        self.phase.send_if_modified(|phase| {
            let is_up = matches!(phase, Phase::Up(_));
            if is_up {
                *phase = Phase::Waiting;
            }
            is_up
        });
        self.fail_all(&why(reason.to_string()));
    }

    /// A connection that nobody reads yet but callers.
    #[cfg(test)]
    pub(super) fn connected(&self, link: &Arc<Link>, inbox: Inbox) -> Up {
        let up = Up { link: link.clone(), seat: Arc::new(Seat::new(inbox)) };
        self.phase.send_replace(Phase::Up(up.clone()));
        up
    }

    /// Reads whenever no caller does, until the end of the connection, and says why it ended.
    pub(super) fn read(&self, up: &Up) -> io::Error {
        let mut pause = IDLE_MAX;
        loop {
            let start = wait::now();
            let mut inbox = match up.seat.claim(pause) {
                Ok(inbox) => inbox,
                Err(reason) => return reason,
            };
            if pause == SPIN_MAX {
                up.link.spin.spun(start.elapsed());
            }
            pause = loop {
                match self.hear(up, &mut inbox, Patience::Asleep(None)) {
                    Ok(Heard::Answers) => {}
                    Ok(_) => continue,
                    Err(reason) => return reason,
                }
                // A caller would read, and may be about to.
                if up.seat.was_missed() {
                    break SPIN_MAX;
                }
                // When nothing is pending the seat is left to callers that may want it.
                let is_liked = up.seat.is_liked() || up.link.spin.is_due();
                if is_liked && !self.has_pending() {
                    break IDLE_MAX;
                }
            };
            up.seat.leave(inbox);
            if pause == IDLE_MAX {
                self.read_for_others(up);
            }
        }
    }

    /// Waits for a message, and takes it with those that were read along. Nobody is woken before
    /// all have been taken.
    pub(super) fn hear(&self, up: &Up, inbox: &mut Inbox, patience: Patience) -> io::Result<Heard> {
        let mut next = inbox.next_within(&up.link, patience)?;
        if next.is_none() {
            return Ok(Heard::Nothing);
        }
        // Mostly it is one, which needs no list.
        let (mut first, mut more) = (None, Vec::new());
        let end = loop {
            let Some(message) = next else { break None };
            match self.take(message) {
                answer if first.is_none() => first = answer,
                answer => more.extend(answer),
            }
            next = match inbox.next_read(&up.link) {
                Ok(next) => next,
                Err(reason) => break Some(reason),
            };
        };
        self.is_crowded.store(!more.is_empty(), Ordering::Relaxed);
        let heard = if first.is_none() { Heard::Others } else { Heard::Answers };
        first.into_iter().chain(more).for_each(Answer::deliver);
        end.map_or(Ok(heard), Err)
    }

    /// The seat is free: somebody must read if answers are waited for. Asked after it is, so that
    /// whoever found it taken is seen here.
    pub(super) fn read_for_others(&self, up: &Up) {
        if self.has_pending() && (up.seat.is_awaited() || self.streams.are_open()) {
            up.seat.want();
        }
    }

    /// A message from the worker; the answer if it is one to a call.
    pub(super) fn take(&self, message: Vec<u8>) -> Option<Answer> {
        let (envelope, flaw) = Envelope::scan_all(&message);
        let envelope = envelope?;
        // Of what cannot be read only an answer is of use: somebody waits for it.
        if flaw.is_some() && !matches!(envelope.kind, Some(Kind::Response | Kind::Error)) {
            return None;
        }
        let id = || envelope.id.and_then(msgpack::text);
        match envelope.kind? {
            Kind::Stdout => self.print(Stream::Out, envelope.output),
            Kind::Stderr => self.print(Stream::Err, envelope.output),
            Kind::Heartbeat => self.beat.answered(id()),
            Kind::Response | Kind::Error => {
                let text = envelope.id.and_then(msgpack::text_bytes)?;
                if flaw.is_none() {
                    self.peer.settle(envelope.metadata);
                }
                let result = reply::answer(&envelope, flaw, &message);
                let slot = self.lock().remove(text);
                if let Some(slot) = slot {
                    let result = result.map(|it| Reply::new(message, it));
                    return Some(Answer { slot, result });
                }
                let (id, items) = (id()?.to_string(), Notes::read(envelope.metadata).items);
                self.streams.end(&id, result.map(|it| Reply::new(message, it)), items);
            }
            Kind::Stream => {
                let (id, result) =
                    (id()?.to_string(), reply::answer(&envelope, None, &message).ok()?);
                self.streams.item(&id, Reply::new(message, result));
            }
            Kind::Call | Kind::Shutdown | Kind::Cancel => {}
        }
        None
    }

    fn print(&self, stream: Stream, output: Option<&[u8]>) {
        if let Some(text) = output.and_then(msgpack::text).filter(|text| !text.is_empty()) {
            self.tell(stream, text);
        }
    }

    /// Never waits for whoever is told.
    pub(super) fn tell(&self, stream: Stream, text: &str) {
        self.teller.tell(stream, text);
    }

    /// How a worker ended that was told to is no news.
    fn unless_stopping(&self, error: Error) -> Error {
        if self.is_stopping() { Error::Stopped } else { error }
    }

    pub(super) fn fail_all(&self, error: &Error) {
        let error = self.unless_stopping(error.clone());
        let pending = std::mem::take(&mut *self.lock());
        for slot in pending.into_values() {
            // Whoever asked may have given up this instant.
            let _ = slot.send(Err(error.clone()));
        }
        self.streams.fail_all(&error);
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.lock().is_empty() || self.streams.are_open()
    }

    /// Not there, until it is served again.
    pub(super) fn lose(&self, error: Error) {
        self.phase.send_if_modified(|phase| {
            let is_new = matches!(phase, Phase::Waiting);
            if is_new {
                *phase = Phase::Lost(error);
            }
            is_new
        });
    }

    /// Never again, and why; the first reason counts.
    pub(super) fn over(&self, error: Error) {
        let error = self.unless_stopping(error);
        self.phase.send_if_modified(|phase| {
            let is_new = !matches!(phase, Phase::Over(_));
            if is_new {
                *phase = Phase::Over(error.clone());
            }
            is_new
        });
        self.fail_all(&error);
    }

    /// Asks a worker that is ours to end.
    pub(super) fn say_shutdown(&self, is_ours: bool) {
        if let Some(link) = self.link_now().filter(|_| is_ours) {
            let draft = Draft::new(Kind::Shutdown, Id::Text(&id::fresh()));
            let draft = draft.text("namespace", &self.options.namespace);
            // Signals come after it anyway.
            let _ = link.try_send(draft.finish());
        }
    }

    /// Nothing is started, looked for or called any more.
    pub(super) fn stop(&self) {
        self.is_stopping.send_replace(true);
        self.fail_all(&Error::Stopped);
    }

    /// The connection ends, after what is still to be sent.
    pub(super) fn close(&self) {
        let link = self.link_now();
        self.over(Error::Stopped);
        link.iter().for_each(|link| link.close());
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.is_stopping.borrow()
    }

    /// Waits, and says whether the stop came meanwhile.
    pub(super) fn pause(&self, pause: std::time::Duration) -> bool {
        let mut is_stopping = self.is_stopping.subscribe();
        crate::wait::block_on(is_stopping.wait_for(|it| *it), pause).is_some()
    }

    /// Whether a call was pending; now it is not.
    pub(super) fn forget(&self, id: &Uuid) -> bool {
        self.lock().remove(id).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, ByUuid<Slot>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has come of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Nothing,
    Answers,
    /// Messages that answer no call, or a part of one.
    Others,
}

/// An answer, and who waits for it.
#[derive(Debug)]
pub(super) struct Answer {
    slot: Slot,
    result: Result<Reply, Error>,
}

impl Answer {
    pub(super) fn deliver(self) {
        // Whoever asked may have given up this instant.
        let _ = self.slot.send(self.result);
    }
}
