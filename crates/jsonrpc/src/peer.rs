//! The other side of a connection, to call and to notify.

use crate::{
    batch::Batch,
    calls::Calls,
    error::{CallError, Error},
    framing::Framing,
    message,
    options::Options,
    outbox::Outbox,
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{fmt, sync::Arc, time::Duration};
use tokio::{sync::Notify, time::timeout};

/// The other side of a connection. Clones are the same peer. Nothing goes out or comes in unless
/// the future that [`connect`](crate::connect) gave with it is awaited.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
}

/// What a peer, its clones and its driver share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) outbox: Outbox,
    pub(crate) calls: Calls,
    pub(crate) closing: Notify,
    framing: Box<dyn Framing>,
}

impl Peer {
    pub(crate) fn new(framing: Box<dyn Framing>, options: Options) -> Peer {
        let outbox = Outbox::new(options.limits.outbox_bytes_max);
        let calls = Calls::new(options.limits.calls_max);
        let closing = Notify::new();
        Peer { shared: Arc::new(Shared { options, outbox, calls, closing, framing }) }
    }

    /// Calls a method and waits for the answer, for as long as the connection lasts. Dropping the
    /// future gives the call up.
    pub async fn call(&self, method: &str, params: impl Serialize) -> Result<Value, CallError> {
        let slot = self.shared.calls.open()?;
        self.send(Some(slot.id), method, params).await?;
        let answer = slot.answer().await?;
        serde_json::from_str(answer.get()).map_err(|error| CallError::Malformed(error.to_string()))
    }

    /// Calls a method and waits for the answer for at most `max`.
    pub async fn call_within(
        &self,
        max: Duration,
        method: &str,
        params: impl Serialize,
    ) -> Result<Value, CallError> {
        let call = timeout(max, self.call(method, params));
        call.await.unwrap_or(Err(CallError::TimedOut))
    }

    /// Tells the other side something, and returns when that has its place among what is to be
    /// written: what is sent after that is written after it.
    pub async fn notify(&self, method: &str, params: impl Serialize) -> Result<(), CallError> {
        self.send(None, method, params).await
    }

    /// Ends the connection: requests are dropped, calls fail, and what was said before is written.
    pub fn close(&self) {
        self.shared.closing.notify_one();
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        self.shared.outbox.is_closed()
    }

    /// How many bytes wait to be written.
    pub fn outbox_bytes(&self) -> usize {
        self.shared.outbox.bytes()
    }

    /// How many answers came that nobody waited for, or no more.
    pub fn stray_answers(&self) -> u64 {
        self.shared.calls.stray()
    }

    async fn send(
        &self,
        id: Option<u64>,
        method: &str,
        params: impl Serialize,
    ) -> Result<(), CallError> {
        let body = message::call(id, method, params);
        let body = body.map_err(|error| CallError::Params(error.to_string()))?;
        self.shared.outbox.push(&self.frame(&body)).await
    }

    /// The answer to `id` as it is written; none while others of its batch are missing.
    pub(crate) fn answer(
        &self,
        id: Option<&RawValue>,
        batch: Option<&Batch>,
        outcome: &Result<Value, Error>,
    ) -> Option<Vec<u8>> {
        let answer = message::answer(id, outcome, self.shared.options.omit_empty_data);
        let body = match batch {
            Some(batch) => batch.add(answer)?,
            None => answer,
        };
        Some(self.frame(&body))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn frame(&self, body: &str) -> Vec<u8> {
        let mut frame = Vec::with_capacity(body.len() + FRAME_EXTRA_BYTES);
        self.shared.framing.encode(body, &mut frame);
        frame
    }
}

/// What a framing usually adds to a body; a guess that saves a second allocation.
const FRAME_EXTRA_BYTES: usize = 32;

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut peer = f.debug_struct("Peer");
        peer.field("is_closed", &self.is_closed()).field("outbox_bytes", &self.outbox_bytes());
        peer.finish_non_exhaustive()
    }
}
