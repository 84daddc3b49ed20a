//! Signs of life of a worker that was spawned. They are observed, and only acted upon where a
//! restart is wanted: the other libraries' workers do not answer while they run a call.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::options::Heartbeat;
use super::shared::Shared;
use crate::envelope::{Draft, Id, Kind, heartbeat_metadata, now};
use crate::id;

#[derive(Debug, Default)]
pub(super) struct Beat {
    /// The one that is not answered yet.
    open: Mutex<Option<String>>,
    misses: AtomicU32,
}

impl Beat {
    pub(super) fn answered(&self, id: Option<&str>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_some() && open.as_deref() == id {
            *open = None;
            self.misses.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        self.misses.load(Ordering::Relaxed) == 0
    }

    fn open(&self, id: Option<String>) -> Option<String> {
        std::mem::replace(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner), id)
    }
}

/// Asks until the stop; `hangs` is called when too many stay without an answer.
pub(super) fn run(shared: &Shared, terms: Heartbeat, hangs: impl Fn()) {
    let mut pause = terms.first;
    while !shared.pause(pause) {
        pause = terms.interval;
        let Some(link) = shared.link_now() else { continue };
        let id = id::fresh();
        shared.beat.open(Some(id.to_string()));
        let draft = Draft::new(Kind::Heartbeat, Id::Text(&id));
        let draft = draft.packed("metadata", &heartbeat_metadata(now(), false));
        // One that cannot be sent stays without an answer.
        let _ = link.try_send(draft.finish());
        if shared.pause(terms.max) {
            return;
        }
        pause = terms.interval.saturating_sub(terms.max);
        if shared.beat.open(None).is_some() && !link.is_closed() {
            let misses = shared.beat.misses.fetch_add(1, Ordering::Relaxed) + 1;
            if misses >= terms.misses_max && !shared.has_pending() {
                hangs();
            }
        }
    }
}
