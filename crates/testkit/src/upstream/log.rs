//! What the upstream has seen, shared with the test that asks.

use super::seen::{Route, Seen, State};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::watch;

/// Requests kept for inspection; a bench sends more, and those are answered and counted only.
const SEEN_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Log {
    book: Mutex<Book>,
    /// Moves at every change of the book.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Book {
    entries: Vec<(Arc<Seen>, State)>,
    counts: HashMap<String, usize>,
    in_flight: usize,
    peak_in_flight: usize,
}

/// A request being answered. Dropped before `finish`, it was aborted by the client.
pub(super) struct Flight {
    log: Arc<Log>,
    /// `None` past `SEEN_MAX`.
    entry: Option<usize>,
    /// Whether it counts among those at once; a question about windows keeps no model busy.
    is_work: bool,
    state: State,
}

impl Log {
    /// Enters a request and gives it its number.
    pub(super) fn open(self: &Arc<Log>, mut seen: Seen) -> (Arc<Seen>, Flight) {
        let mut book = self.book();
        let count = book.counts.entry(seen.model.clone()).or_default();
        *count += 1;
        seen.nth = *count;
        let seen = Arc::new(seen);
        let is_work = !matches!(seen.route, Route::Window(_));
        book.in_flight += usize::from(is_work);
        book.peak_in_flight = book.peak_in_flight.max(book.in_flight);
        let entry = (book.entries.len() < SEEN_MAX).then_some(book.entries.len());
        if entry.is_some() {
            book.entries.push((Arc::clone(&seen), State::Open));
        }
        drop(book);
        self.changed.send_replace(());
        (seen, Flight { log: Arc::clone(self), entry, is_work, state: State::Aborted })
    }

    pub(super) fn requests(&self) -> Vec<Seen> {
        let entry =
            |(seen, state): &(Arc<Seen>, State)| Seen { state: *state, ..Seen::clone(seen) };
        self.book().entries.iter().map(entry).collect()
    }

    pub(super) fn count(&self, model: &str) -> usize {
        self.book().counts.get(model).copied().unwrap_or(0)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.book().in_flight
    }

    pub(super) fn peak_in_flight(&self) -> usize {
        self.book().peak_in_flight
    }

    /// Waits as long as it takes; the caller holds the limit.
    pub(super) async fn wait_for(&self, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let mut changed = self.changed.subscribe();
        loop {
            let seen = self.requests();
            if enough(&seen) {
                return seen;
            }
            changed.changed().await.expect("the sender lives in self");
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics with the book open")
    }
}

impl Flight {
    /// The upstream has done all it meant to do; entered in the book when this is dropped.
    pub(super) fn finish(&mut self) {
        self.state = State::Answered;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut book = self.log.book();
        book.in_flight -= usize::from(self.is_work);
        if let Some(entry) = self.entry {
            book.entries[entry].1 = self.state;
        }
        drop(book);
        self.log.changed.send_replace(());
    }
}
