//! Who reads a connection. A caller that waits on its thread reads by itself, for itself and for all
//! others: so an answer wakes nobody on its way. Of the callers that are tasks the newest looks in
//! again and again, between what other tasks do. Where no caller reads, the connection's own thread
//! does. There is one seat, and whoever has the inbox sits in it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::socket::Inbox;

/// How long the connection's own thread waits for the next caller that reads by itself; then it
/// reads. This is also how late a message may be heard that nobody waits for. To look more often
/// takes a core from those who spin.
pub(super) const IDLE_MAX: Duration = Duration::from_millis(50);

/// No task's number.
const NOBODY: u64 = 0;

#[derive(Debug)]
pub(super) struct Seat {
    state: Mutex<State>,
    /// Told to the connection's own thread.
    changed: Condvar,
    /// Whether the last caller waited on its thread.
    is_liked: AtomicBool,
    /// Callers that wait for an answer now.
    waiting: AtomicUsize,
    /// How many callers were tasks so far, and the number of the newest, if it is there still.
    tasks: AtomicU64,
    newest: AtomicU64,
    /// Somebody would have read, and another did.
    is_missed: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Taken while somebody reads.
    inbox: Option<Inbox>,
    /// How often a caller has taken it.
    turns: u64,
    /// Somebody waits and nobody reads.
    is_wanted: bool,
    /// The connection's own thread waits for as long as the caller reads.
    is_asleep: bool,
    /// How the connection ended under a caller.
    end: Option<io::Error>,
}

impl Seat {
    pub(super) fn new(inbox: Inbox) -> Seat {
        let state =
            State { inbox: Some(inbox), turns: 0, is_wanted: true, is_asleep: false, end: None };
        Seat {
            state: Mutex::new(state),
            changed: Condvar::new(),
            is_liked: false.into(),
            waiting: 0.into(),
            tasks: NOBODY.into(),
            newest: NOBODY.into(),
            is_missed: false.into(),
        }
    }

    /// A caller waits for an answer from now on. Said before it looks for the inbox, so that
    /// whoever has it sees this when it leaves.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting(self)
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Whether one caller waits and no more.
    pub(super) fn is_alone(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) == 1
    }

    /// A number for a caller that is a task. As long as it is the newest, it is for that task to
    /// look in or to want somebody who reads, and those before it need not.
    pub(super) fn number(&self) -> u64 {
        let number = self.tasks.fetch_add(1, Ordering::SeqCst) + 1;
        self.newest.store(number, Ordering::SeqCst);
        number
    }

    /// Whether this task is the newest; without one, all are.
    pub(super) fn is_newest(&self, number: u64) -> bool {
        [number, NOBODY].contains(&self.newest.load(Ordering::SeqCst))
    }

    /// A task goes, and says whether it was the newest.
    pub(super) fn retire(&self, number: u64) -> bool {
        let newest = &self.newest;
        newest.compare_exchange(number, NOBODY, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The caller would read, if nobody did.
    pub(super) fn miss(&self) {
        self.is_missed.store(true, Ordering::SeqCst);
    }

    /// Whether a caller has missed the seat since this was asked.
    pub(super) fn was_missed(&self) -> bool {
        self.is_missed.swap(false, Ordering::SeqCst)
    }

    /// Whether callers like this one would take the seat whenever it is free.
    pub(super) fn like(&self, is_liked: bool) {
        self.is_liked.store(is_liked, Ordering::Relaxed);
    }

    pub(super) fn is_liked(&self) -> bool {
        self.is_liked.load(Ordering::Relaxed)
    }

    /// The inbox for a caller, if nobody has it.
    pub(super) fn turn(&self) -> Option<Turn<'_>> {
        let mut state = self.lock();
        let inbox = state.inbox.take()?;
        state.turns += 1;
        Some(Turn { seat: self, inbox: Some(inbox), end: None })
    }

    /// The connection's own thread shall read if nobody does. Whoever reads asks for it afterwards.
    pub(super) fn want(&self) {
        let mut state = self.lock();
        if state.inbox.is_some() && !state.is_wanted {
            state.is_wanted = true;
            self.changed.notify_one();
        }
    }

    /// The inbox for the connection's own thread: when it is wanted, or when callers have not come
    /// for a while, which is `first` at first. An error is the end of the connection.
    pub(super) fn claim(&self, first: Duration) -> io::Result<Inbox> {
        let (mut state, mut max) = (self.lock(), first);
        loop {
            let turns = state.turns;
            let waiting = self.changed.wait_timeout_while(state, max, |it| !it.is_decided());
            let (now, idle) = waiting.unwrap_or_else(PoisonError::into_inner);
            max = IDLE_MAX;
            state = now;
            if let Some(end) = state.end.take() {
                return Err(end);
            }
            let is_quiet = idle.timed_out() && state.turns == turns;
            if state.is_wanted || is_quiet {
                state.is_wanted &= state.inbox.is_none();
                if let Some(inbox) = state.inbox.take() {
                    return Ok(inbox);
                }
            }
            if is_quiet {
                // One caller has been reading all the time, and says when it is done.
                state.is_asleep = true;
                let waiting = self.changed.wait_while(state, |it| it.is_asleep);
                state = waiting.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_free(&self) -> bool {
        self.lock().inbox.is_some()
    }

    /// The connection's own thread makes room for callers.
    pub(super) fn leave(&self, inbox: Inbox) {
        self.lock().inbox = Some(inbox);
    }

    /// A panic of another thread leaves a state that is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_decided(&self) -> bool {
        self.end.is_some() || (self.is_wanted && self.inbox.is_some())
    }
}

/// A caller that waits, until it is dropped.
pub(super) struct Waiting<'a>(&'a Seat);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A caller's time in the seat. When it is dropped the seat is free.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    seat: &'a Seat,
    inbox: Option<Inbox>,
    end: Option<io::Error>,
}

impl Turn<'_> {
    pub(super) fn inbox(&mut self) -> &mut Inbox {
        self.inbox.as_mut().expect("it is there until the drop")
    }

    /// The connection has ended; its own thread is told.
    pub(super) fn end(mut self, reason: io::Error) {
        self.end = Some(reason);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.seat.lock();
        state.inbox = self.inbox.take();
        state.end = self.end.take();
        if state.is_asleep || state.is_decided() {
            state.is_asleep = false;
            self.seat.changed.notify_one();
        }
    }
}
