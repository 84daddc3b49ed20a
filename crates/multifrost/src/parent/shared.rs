//! What a handle and its threads share: the connection, and the calls that wait for an answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot, watch};

use super::heartbeat::Beat;
use super::options::{CallOptions, Options, Output, Stream};
use super::reply::{self, Reply};
use super::stream::Streams;
use crate::envelope::{Draft, Envelope, Id, Kind};
use crate::error::Error;
use crate::ext::{Extension, Extensions, Notes, Peer, UNAUTHENTICATED};
use crate::id;
use crate::msgpack;
use crate::socket::{Inbox, Link};
use crate::token::Token;

/// Whether there is somebody to call.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// Not yet, or not at the moment: calls wait.
    Waiting,
    Up(Arc<Link>),
    /// Never again.
    Over(Error),
}

type Slot = oneshot::Sender<Result<Reply, Error>>;

#[derive(Debug)]
pub(super) struct Shared {
    pub name: String,
    pub options: Options,
    pub beat: Beat,
    /// What the worker of this connection knows.
    pub peer: Peer,
    pub streams: Streams,
    pub places: Arc<Semaphore>,
    phase: watch::Sender<Phase>,
    is_stopping: watch::Sender<bool>,
    pending: Mutex<HashMap<String, Slot>>,
}

impl Shared {
    pub(super) fn new(name: &str, options: Options) -> Shared {
        Shared {
            name: name.into(),
            beat: Beat::default(),
            peer: Peer::default(),
            streams: Streams::default(),
            places: Arc::new(Semaphore::new(options.pending_calls_max.max(1))),
            phase: watch::Sender::new(Phase::Waiting),
            is_stopping: watch::Sender::new(false),
            pending: Mutex::default(),
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
        let _place = self.places.acquire().await.map_err(|_| Error::Stopped)?;
        loop {
            let link = self.link().await?;
            let id = id::fresh();
            let had_token = self.peer.has(Extension::Auth);
            let packet = self.draft(&id, options, function, args, false)?.finish();
            let (sender, mut receiver) = oneshot::channel();
            self.lock().insert(id.clone(), sender);
            let mut pending = Pending { shared: self, id, link: None };
            if link.send(packet).await.is_ok() {
                pending.link = Some(link);
                let answer = receiver.await.unwrap_or(Err(Error::Stopped));
                if had_token || !self.is_asked_for_token(&answer) {
                    return answer;
                }
                continue;
            }
            // It ended under our hands. What was not sent whole did not run, so the next
            // connection may have it, unless the call was failed with the others.
            if let Ok(failed) = receiver.try_recv() {
                return failed;
            }
        }
    }

    /// A call as it is sent: it names our extensions until the worker has named its own, and is of
    /// an extension only where the worker knows it.
    pub(super) fn draft(
        &self,
        id: &str,
        options: &CallOptions,
        function: &str,
        args: &[u8],
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
        let draft = draft.packed("args", args).text("namespace", namespace);
        let draft = match &options.client_name {
            Some(name) => draft.text("client_name", name),
            None => draft,
        };
        let (bytes, max) = (draft.len(), self.options.message_bytes_max);
        if bytes > max { Err(Error::TooLarge { bytes, max }) } else { Ok(draft) }
    }

    /// Whether a call was refused for want of a token, and there is one to be had.
    fn is_asked_for_token(&self, answer: &Result<Reply, Error>) -> bool {
        self.options.token.is_some()
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

    /// The connection, as soon as there is one.
    pub(super) async fn link(&self) -> Result<Arc<Link>, Error> {
        let mut phase = self.phase.subscribe();
        // One that is closed is about to be gone from here.
        let is_decided = |phase: &Phase| match phase {
            Phase::Waiting => false,
            Phase::Up(link) => !link.is_closed(),
            Phase::Over(_) => true,
        };
        match phase.wait_for(is_decided).await.map(|phase| phase.clone()) {
            Ok(Phase::Up(link)) => Ok(link),
            Ok(Phase::Over(error)) => Err(error),
            Ok(Phase::Waiting) | Err(_) => Err(Error::Stopped),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(&*self.phase.borrow(), Phase::Up(_))
    }

    /// The connection, if there is one right now.
    pub(super) fn link_now(&self) -> Option<Arc<Link>> {
        if let Phase::Up(link) = &*self.phase.borrow() { Some(link.clone()) } else { None }
    }

    /// Reads a connection to its end; then all calls that are pending fail with what `why` makes
    /// of the reason. A second connection beside a live one is refused.
    pub(super) fn serve(
        &self,
        link: &Arc<Link>,
        mut inbox: Inbox,
        why: impl FnOnce(String) -> Error,
    ) {
        let is_first = self.phase.send_if_modified(|phase| {
            let is_free = matches!(phase, Phase::Waiting);
            if is_free {
                self.peer.forget();
                *phase = Phase::Up(link.clone());
            }
            is_free
        });
        if !is_first {
            return link.cut();
        }
        let reason = loop {
            match inbox.next(link) {
                Ok(message) => self.take(message),
                Err(reason) => break reason,
            }
        };
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

    /// A message from the worker.
    pub(super) fn take(&self, message: Vec<u8>) {
        let Ok(envelope) = Envelope::scan(&message) else { return };
        let id = envelope.id.and_then(msgpack::text);
        match envelope.kind {
            Some(Kind::Stdout) => self.print(Stream::Out, envelope.output),
            Some(Kind::Stderr) => self.print(Stream::Err, envelope.output),
            Some(Kind::Heartbeat) => self.beat.answered(id),
            Some(Kind::Response | Kind::Error) => {
                let Some(id) = id else { return };
                self.peer.settle(envelope.metadata);
                let is_error = envelope.kind == Some(Kind::Error);
                let error = is_error.then(|| reply::error_text(&envelope));
                match self.lock().remove(id) {
                    // Whoever asked may have given up this instant.
                    Some(slot) => drop(slot.send(reply::answer(message, error))),
                    None => {
                        let (id, items) = (id.to_string(), Notes::read(envelope.metadata).items);
                        self.streams.end(&id, reply::answer(message, error), items);
                    }
                }
            }
            Some(Kind::Stream) => {
                if let Some(id) = id.map(String::from)
                    && let Ok(item) = Reply::new(message)
                {
                    self.streams.item(&id, item);
                }
            }
            _ => {}
        }
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
        self.streams.fail_all(&error);
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.lock().is_empty() || self.streams.are_open()
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

/// A call that waits for its answer, until it is dropped.
struct Pending<'a> {
    shared: &'a Shared,
    id: String,
    /// Where it was sent to, once it was.
    link: Option<Arc<Link>>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let is_unanswered = self.shared.lock().remove(&self.id).is_some();
        if let Some(link) = self.link.as_ref().filter(|_| is_unanswered) {
            self.shared.say_cancel(link, &self.id);
        }
    }
}
