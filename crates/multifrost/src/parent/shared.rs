//! What a handle and its threads share: the connection, and the calls that wait for an answer.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot, watch};

use super::heartbeat::Beat;
use super::options::{CallOptions, Options, Output, Stream};
use super::reply::{self, Reply};
use super::seat::{Seat, Turn};
use crate::envelope::{Draft, Envelope, Id, Kind, Packet};
use crate::error::Error;
use crate::id;
use crate::msgpack;
use crate::socket::{Inbox, Link, Patience, SendError};
use crate::wait;

/// Whether there is somebody to call.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// Not yet, or not at the moment: calls wait.
    Waiting,
    Up(Up),
    /// Never again.
    Over(Error),
}

/// A connection, and who reads it.
#[derive(Debug, Clone)]
pub(super) struct Up {
    pub link: Arc<Link>,
    seat: Arc<Seat>,
}

impl Up {
    /// Sends with others that are about to: what one task after the other sends is one write.
    async fn send(&self, packet: Packet) -> Result<(), SendError> {
        let flush = Flush(&self.link);
        match self.link.hold(packet) {
            Err(SendError::Full(packet)) => self.link.send(packet).await?,
            done => done?,
        }
        tokio::task::yield_now().await;
        drop(flush);
        Ok(())
    }
}

/// Sends what is held back, also where a caller gives up.
struct Flush<'a>(&'a Arc<Link>);

impl Drop for Flush<'_> {
    fn drop(&mut self) {
        self.0.flush();
    }
}

/// How long a caller that reads by itself sleeps at most before it looks whether its call was ended
/// from elsewhere.
const LOOK_MAX: Duration = Duration::from_millis(50);

type Slot = oneshot::Sender<Result<Reply, Error>>;

#[derive(Debug)]
pub(super) struct Shared {
    pub name: String,
    pub options: Options,
    pub beat: Beat,
    phase: watch::Sender<Phase>,
    is_stopping: watch::Sender<bool>,
    pending: Mutex<HashMap<String, Slot>>,
    places: Semaphore,
}

impl Shared {
    pub(super) fn new(name: &str, options: Options) -> Shared {
        Shared {
            name: name.into(),
            beat: Beat::default(),
            phase: watch::Sender::new(Phase::Waiting),
            is_stopping: watch::Sender::new(false),
            pending: Mutex::default(),
            places: Semaphore::new(options.pending_calls_max.max(1)),
            options,
        }
    }

    /// Sends a call and waits for the answer, without a limit of its own. When it is dropped, its
    /// place is free and an answer that comes late finds nobody.
    pub(super) async fn request(
        &self,
        options: &CallOptions,
        function: &str,
        args: &[u8],
    ) -> Result<Reply, Error> {
        let mut sent = self.submit(options, function, args).await?;
        sent.look_out();
        sent.answer().await
    }

    /// As [`Shared::request`], on this thread; `None` when it takes longer than `max`.
    pub(super) fn request_blocking(
        &self,
        options: &CallOptions,
        function: &str,
        args: &[u8],
        max: Duration,
    ) -> Option<Result<Reply, Error>> {
        let deadline = wait::now().checked_add(max);
        match wait::block_on(self.submit(options, function, args), max)? {
            Ok(sent) => sent.wait(deadline),
            Err(error) => Some(Err(error)),
        }
    }

    /// Sends a call, as soon as there is a place for it and a connection.
    async fn submit(
        &self,
        options: &CallOptions,
        function: &str,
        args: &[u8],
    ) -> Result<Sent<'_>, Error> {
        let place = self.places.acquire().await.map_err(|_| Error::Stopped)?;
        loop {
            let up = self.up().await?;
            let id = id::fresh();
            let packet = self.draft(&id, options, function, args)?.finish();
            let (sender, mut receiver) = oneshot::channel();
            let is_alone = {
                let mut pending = self.lock();
                pending.insert(id.clone(), sender);
                pending.len() == 1
            };
            let pending = Pending { shared: self, id };
            let sent = if is_alone { up.link.send(packet).await } else { up.send(packet).await };
            if sent.is_ok() {
                return Ok(Sent { up, receiver, pending, _place: place });
            }
            // It ended under our hands. What was not sent whole did not run, so the next
            // connection may have it, unless the call was failed with the others.
            if let Ok(failed) = receiver.try_recv() {
                failed?;
            }
        }
    }

    fn draft(
        &self,
        id: &str,
        options: &CallOptions,
        function: &str,
        args: &[u8],
    ) -> Result<Draft, Error> {
        let namespace = options.namespace.as_deref().unwrap_or(&self.options.namespace);
        let draft = Draft::new(Kind::Call, Id::Text(id)).text("function", function);
        let draft = draft.packed("args", args).text("namespace", namespace);
        let draft = match &options.client_name {
            Some(name) => draft.text("client_name", name),
            None => draft,
        };
        let (bytes, max) = (draft.len(), self.options.message_bytes_max);
        if bytes > max { Err(Error::TooLarge { bytes, max }) } else { Ok(draft) }
    }

    /// The connection, as soon as there is one.
    pub(super) async fn up(&self) -> Result<Up, Error> {
        let mut phase = self.phase.subscribe();
        // One that is closed is about to be gone from here.
        let is_decided = |phase: &Phase| match phase {
            Phase::Waiting => false,
            Phase::Up(up) => !up.link.is_closed(),
            Phase::Over(_) => true,
        };
        match phase.wait_for(is_decided).await.map(|phase| phase.clone()) {
            Ok(Phase::Up(up)) => Ok(up),
            Ok(Phase::Over(error)) => Err(error),
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
        let is_first = self.phase.send_if_modified(|phase| {
            let is_free = matches!(phase, Phase::Waiting);
            if is_free {
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

    /// Reads whenever no caller does, until the end of the connection, and says why it ended.
    fn read(&self, up: &Up) -> io::Error {
        loop {
            let mut inbox = match up.seat.claim() {
                Ok(inbox) => inbox,
                Err(reason) => return reason,
            };
            // When nothing is pending the seat is left to callers that may want it.
            loop {
                let is_answer = match inbox.next_within(&up.link, Patience::Asleep) {
                    Ok(message) => message.is_some_and(|it| self.take(it)),
                    Err(reason) => return reason,
                };
                if is_answer && inbox.is_empty() && !self.has_pending() {
                    if up.seat.is_liked() || inbox.is_spin_due() {
                        break;
                    }
                    inbox.skip_spin();
                }
            }
            up.seat.leave(inbox);
            if self.has_pending() {
                up.seat.want();
            }
        }
    }

    /// A message from the worker; whether it answers a call.
    fn take(&self, message: Vec<u8>) -> bool {
        let Ok(envelope) = Envelope::scan(&message) else { return false };
        let id = envelope.id.and_then(msgpack::text);
        match envelope.kind {
            Some(Kind::Stdout) => self.print(Stream::Out, envelope.output),
            Some(Kind::Stderr) => self.print(Stream::Err, envelope.output),
            Some(Kind::Heartbeat) => self.beat.answered(id),
            Some(Kind::Response | Kind::Error) => {
                let Some(slot) = id.and_then(|id| self.lock().remove(id)) else { return false };
                let answer = if envelope.kind == Some(Kind::Error) {
                    Err(Error::Remote(reply::error_text(&envelope)))
                } else {
                    Reply::new(message).map_err(|error| Error::Answer(error.to_string()))
                };
                // Whoever asked may have given up this instant.
                let _ = slot.send(answer);
                return true;
            }
            _ => {}
        }
        false
    }

    fn print(&self, stream: Stream, output: Option<&[u8]>) {
        if let Some(text) = output.and_then(msgpack::text).filter(|text| !text.is_empty()) {
            self.tell(stream, text);
        }
    }

    pub(super) fn tell(&self, stream: Stream, text: &str) {
        (self.options.output)(Output { worker: &self.name, stream, text });
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
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Whether one call is pending and no more.
    fn is_alone(&self) -> bool {
        self.lock().len() == 1
    }

    /// A caller reads no more: somebody must, if calls are pending. Asked after the seat is free,
    /// so that whoever found it taken is seen here.
    fn read_for_others(&self, up: &Up) {
        if self.has_pending() {
            up.seat.want();
        }
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call on its way.
struct Sent<'a> {
    up: Up,
    receiver: oneshot::Receiver<Result<Reply, Error>>,
    pending: Pending<'a>,
    _place: SemaphorePermit<'a>,
}

impl Sent<'_> {
    async fn answer(self) -> Result<Reply, Error> {
        self.receiver.await.unwrap_or(Err(Error::Stopped))
    }

    /// Looks out for the answer as long as that pays, which is shorter than waking a task takes.
    fn look_out(&mut self) {
        self.up.seat.like(false);
        let Some(mut turn) = self.up.seat.turn() else { return };
        // With others about, there is better to do.
        while turn.inbox().is_spin_due() && self.shared().is_alone() {
            match turn.inbox().next_within(&self.up.link, Patience::Look) {
                Ok(Some(message)) => {
                    if self.shared().take(message) {
                        break;
                    }
                }
                Ok(None) => break,
                Err(reason) => {
                    turn.end(reason);
                    return;
                }
            }
        }
        drop(turn);
        self.shared().read_for_others(&self.up);
    }

    /// Waits on this thread, and reads meanwhile if nobody does.
    fn wait(mut self, deadline: Option<Instant>) -> Option<Result<Reply, Error>> {
        let up = self.up.clone();
        up.seat.like(true);
        if let Some(turn) = up.seat.turn() {
            let answer = self.lead(turn, deadline);
            self.shared().read_for_others(&up);
            if answer.is_some() {
                return answer;
            }
        }
        let left = deadline.map(|it| it.saturating_duration_since(wait::now()));
        wait::block_on(self.answer(), left.unwrap_or(Duration::MAX))
    }

    /// Reads until the answer is there, the time is over or the connection ends.
    fn lead(
        &mut self,
        mut turn: Turn<'_>,
        deadline: Option<Instant>,
    ) -> Option<Result<Reply, Error>> {
        loop {
            match self.receiver.try_recv() {
                Err(TryRecvError::Empty) => {}
                answer => return Some(answer.unwrap_or(Err(Error::Stopped))),
            }
            let look = wait::now() + LOOK_MAX;
            let until = deadline.map_or(look, |deadline| deadline.min(look));
            match turn.inbox().next_within(&self.up.link, Patience::Until(until)) {
                Ok(Some(message)) => drop(self.shared().take(message)),
                Ok(None) if deadline.is_some_and(|it| it <= wait::now()) => return None,
                Ok(None) => {}
                Err(reason) => {
                    turn.end(reason);
                    return None;
                }
            }
        }
    }

    fn shared(&self) -> &Shared {
        self.pending.shared
    }
}

/// A call that waits for its answer, until it is dropped.
struct Pending<'a> {
    shared: &'a Shared,
    id: String,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.shared.lock().remove(&self.id);
    }
}
