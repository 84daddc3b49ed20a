//! Calls of ours that wait for their answers.

use crate::error::{CallError, Error};
use serde_json::value::RawValue;
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::oneshot;

/// What a call was answered.
type Outcome = Result<Box<RawValue>, Error>;

pub(crate) struct Calls {
    max: usize,
    table: Mutex<Table>,
    stray: AtomicU64,
}

struct Table {
    is_open: bool,
    last_id: u64,
    waiting: HashMap<u64, oneshot::Sender<Outcome>>,
}

impl Calls {
    pub(crate) fn new(max: usize) -> Calls {
        let table = Table { is_open: true, last_id: 0, waiting: HashMap::new() };
        Calls { max, table: Mutex::new(table), stray: AtomicU64::new(0) }
    }

    /// A place for one more answer, free again when the `Slot` is dropped.
    pub(crate) fn open(&self) -> Result<Slot<'_>, CallError> {
        let mut table = self.table();
        if !table.is_open {
            return Err(CallError::Closed);
        }
        if table.waiting.len() >= self.max {
            return Err(CallError::TooMany { limit: self.max });
        }
        table.last_id += 1;
        let id = table.last_id;
        let (sender, answer) = oneshot::channel();
        table.waiting.insert(id, sender);
        Ok(Slot { calls: self, id, answer })
    }

    /// Hands an answer to whoever waits for it. What nobody waits for is counted and given back.
    pub(crate) fn answer(&self, id: &RawValue, outcome: Outcome) -> Result<(), Outcome> {
        let id = id.get().parse().ok();
        let waiting = id.and_then(|id: u64| self.table().waiting.remove(&id));
        let handed = match waiting {
            Some(sender) => sender.send(outcome),
            None => Err(outcome),
        };
        handed.inspect_err(|_| {
            self.stray.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// No answer comes any more: every call fails, the waiting and the future ones.
    pub(crate) fn end(&self) {
        let mut table = self.table();
        table.is_open = false;
        table.waiting.clear();
    }

    /// Answers that nobody waited for.
    pub(crate) fn stray(&self) -> u64 {
        self.stray.load(Ordering::Relaxed)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place for the answer to the call `id`.
pub(crate) struct Slot<'a> {
    calls: &'a Calls,
    pub(crate) id: u64,
    answer: oneshot::Receiver<Outcome>,
}

impl Slot<'_> {
    pub(crate) async fn answer(mut self) -> Result<Box<RawValue>, CallError> {
        let outcome = (&mut self.answer).await.map_err(|_| CallError::Closed)?;
        outcome.map_err(CallError::Remote)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.calls.table().waiting.remove(&self.id);
    }
}
