//! The events of one run that are not in the store yet. Whoever writes next takes them all, so that
//! several who bring some are one piece of work.

use althing_assembly::Event;
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
pub(crate) struct Basket(Mutex<Content>);

#[derive(Default)]
struct Content {
    events: Vec<Event>,
    /// How many of them somebody has stood in line for.
    announced: usize,
}

impl Basket {
    pub fn put(&self, event: Event) {
        self.content().events.push(event);
    }

    /// Somebody is about to stand in line for all that is in it.
    pub fn announce(&self) {
        let mut content = self.content();
        content.announced = content.events.len();
    }

    /// How many events nobody stands in line for, and the milliseconds from the first to the last.
    pub fn held(&self) -> (usize, u64) {
        let content = self.content();
        let held = &content.events[content.announced..];
        let span = |first: &Event, last: &Event| last.at_ms - first.at_ms;
        (held.len(), held.first().zip(held.last()).map_or(0, |(first, last)| span(first, last)))
    }

    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.content()).events
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        // Events come and go whole, so they are in order whatever happened to a holder.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
