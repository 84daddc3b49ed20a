//! The side of a connection that its owner writes.

use crate::{
    error::{CallError, Error},
    framing::Bad,
    peer::Peer,
};
use althing_stdx::text;
use futures_util::future::AbortHandle;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{fmt, sync::Arc};

/// Serves the requests of the other side. All run side by side in the task that drives the
/// connection, each started in the order it came: one that computes for long belongs in a task of
/// its own. One that panics is answered with an error and harms no other.
pub trait Handler: Send + Sync + 'static {
    /// Serves a request. `params` is an object or an array.
    fn request(
        &self,
        cx: Cx,
        method: &str,
        params: Box<RawValue>,
    ) -> impl Future<Output = Result<Value, Error>> + Send;

    /// Serves a notification: unless told otherwise, like a request whose answer nobody wants.
    fn notification(
        &self,
        cx: Cx,
        method: &str,
        params: Box<RawValue>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async { self.request(cx, method, params).await.map(drop) }
    }

    /// Hears that a request which it served has its answer among what is to be written: what is
    /// sent from now on is written after it.
    fn answered(&self, peer: &Peer) {
        let _ = peer;
    }

    /// Hears of what concerns no request, to log or count it. Called by the reader, so it must not
    /// take long. One that has heard enough may close the peer.
    fn trouble(&self, peer: &Peer, trouble: Trouble<'_>) {
        let _ = (peer, trouble);
    }
}

/// Has no method at all: for a side that only calls.
impl Handler for () {
    async fn request(&self, _: Cx, method: &str, _: Box<RawValue>) -> Result<Value, Error> {
        Err(Error::method_not_found(method))
    }
}

/// The request that a handler is serving.
#[derive(Clone)]
pub struct Cx {
    pub(crate) peer: Peer,
    pub(crate) id: Option<Arc<RawValue>>,
    pub(crate) canceller: Canceller,
}

impl Cx {
    /// The connection it came from.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Its id, as it came; none for a notification.
    pub fn id(&self) -> Option<&RawValue> {
        self.id.as_deref()
    }

    /// Stops it from elsewhere.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// `Peer::notify`; what is sent so before the answer is written before it.
    pub async fn notify(&self, method: &str, params: impl Serialize) -> Result<(), CallError> {
        self.peer.notify(method, params).await
    }
}

/// Stops one request.
#[derive(Debug, Clone)]
pub struct Canceller(pub(crate) AbortHandle);

impl Canceller {
    /// Drops the handler's future and answers that the request was cancelled. Does nothing to a
    /// request that is answered already.
    pub fn cancel(&self) {
        self.0.abort();
    }
}

/// Something from the other side that concerns no request.
#[derive(Debug)]
pub enum Trouble<'a> {
    /// Text between frames.
    Noise(&'a [u8]),
    /// A frame that could not be had.
    Bad(Bad),
    /// A frame that is no message.
    Invalid(&'a Error),
    /// An answer that nobody waits for, or no more.
    Stray {
        /// The id it gave.
        id: &'a RawValue,
        /// What it complained of.
        error: Option<&'a Error>,
    },
    /// A notification that failed.
    Failed {
        /// Its method.
        method: &'a str,
        /// Why.
        error: &'a Error,
    },
}

/// What is shown of a trouble, in characters: the other side may have written a novel.
const TROUBLE_CHARS_MAX: usize = 500;

/// One line for a log. The other side's text cannot drive a terminal.
impl fmt::Display for Trouble<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self {
            Trouble::Noise(noise) => {
                format!("not part of a message: {}", String::from_utf8_lossy(noise))
            }
            Trouble::Bad(bad) => bad.to_string(),
            Trouble::Invalid(error) => error.to_string(),
            Trouble::Stray { id, error: None } => {
                format!("an answer nobody waits for, id {}", id.get())
            }
            Trouble::Stray { id, error: Some(error) } => {
                format!("an error that belongs to no call, id {}: {error}", id.get())
            }
            Trouble::Failed { method, error } => format!("notification {method}: {error}"),
        };
        f.write_str(&text::one_line(&shown, TROUBLE_CHARS_MAX))
    }
}
