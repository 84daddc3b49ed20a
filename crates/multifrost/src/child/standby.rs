//! The thread that stands by while another runs a call. It is not woken for a call that is short:
//! while calls come it looks at them from moment to moment, and sleeps when there are none.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A call that takes longer lets another thread read. What is not a call waits so long at most. Each
/// look takes a core from those who spin, for longer than a call takes.
const MOMENT: Duration = Duration::from_millis(20);
/// After so many moments without a call the thread sleeps until the next.
const IDLE_MOMENTS_MAX: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct Standby {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that run now, and that have begun so far.
    running: usize,
    begun: u64,
    /// Somebody stands by.
    is_there: bool,
    is_asleep: bool,
    /// It shall read at once.
    is_wanted: bool,
    is_over: bool,
}

impl Standby {
    /// A call begins. Says whether somebody stands by; where nobody does, `start` is asked for a
    /// thread that will [`Standby::watch`].
    pub(super) fn begin(&self, is_wanted: bool, start: impl FnOnce() -> bool) -> bool {
        let mut state = self.lock();
        state.running += 1;
        state.begun += 1;
        state.is_wanted = is_wanted;
        state.is_there = state.is_there || start();
        if is_wanted || state.is_asleep {
            state.is_asleep = false;
            self.changed.notify_all();
        }
        state.is_there
    }

    /// A call is done.
    pub(super) fn done(&self) {
        self.lock().running -= 1;
    }

    /// Stands by until it is time to read; false if another does already, or if there is nothing to
    /// read any more.
    pub(super) fn wait(&self) -> bool {
        if std::mem::replace(&mut self.lock().is_there, true) {
            return false;
        }
        self.watch()
    }

    /// The same for the one that is to be there.
    pub(super) fn watch(&self) -> bool {
        let mut state = self.lock();
        let mut idle = 0;
        loop {
            let begun = state.begun;
            let is_idle = |it: &mut State| !it.is_wanted && !it.is_over;
            let waiting = self.changed.wait_timeout_while(state, MOMENT, is_idle);
            state = waiting.unwrap_or_else(PoisonError::into_inner).0;
            let is_same = state.begun == begun;
            if state.is_over || state.is_wanted || (is_same && state.running > 0) {
                state.is_there = false;
                state.is_wanted = false;
                return !state.is_over;
            }
            idle = if is_same { idle + 1 } else { 0 };
            if idle == IDLE_MOMENTS_MAX {
                idle = 0;
                state.is_asleep = true;
                let is_idle = |it: &mut State| it.is_asleep && !it.is_over;
                let waiting = self.changed.wait_while(state, is_idle);
                state = waiting.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// There is nothing to read any more.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// A panic of another thread leaves a state that is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
