//! The line of requests before the engine. Whoever left loses the place, so that those who still
//! wait are not turned away for them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Something that somebody waits for, or not any more.
pub trait Awaited {
    fn is_awaited(&self) -> bool;
}

/// Why a request cannot join the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// Too many wait already.
    Full,
    /// Nobody works on them any more.
    Closed,
}

/// A line with a bounded number of places.
#[derive(Debug)]
pub struct JobLine<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
    places: usize,
}

#[derive(Debug)]
struct State<J> {
    jobs: VecDeque<J>,
    is_closed: bool,
}

impl<J: Awaited> JobLine<J> {
    pub fn new(places: usize) -> JobLine<J> {
        let state = Mutex::new(State { jobs: VecDeque::new(), is_closed: false });
        JobLine { state, changed: Condvar::new(), places }
    }

    /// Joins the line.
    pub fn push(&self, job: J) -> Result<(), Turned> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(Turned::Closed);
        }
        if state.jobs.len() >= self.places {
            state.jobs.retain(J::is_awaited);
        }
        if state.jobs.len() >= self.places {
            return Err(Turned::Full);
        }
        state.jobs.push_back(job);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for the next job that is still awaited; none: the line is closed.
    pub fn pop(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            while let Some(job) = state.jobs.pop_front() {
                if job.is_awaited() {
                    return Some(job);
                }
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends everybody away and takes no more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.jobs.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    impl Awaited for Arc<u8> {
        fn is_awaited(&self) -> bool {
            Arc::strong_count(self) > 1
        }
    }

    #[test]
    fn those_who_left_lose_their_place() {
        let line = JobLine::new(2);
        let (one, two, three) = (Arc::new(1), Arc::new(2), Arc::new(3));
        assert_eq!(line.push(one.clone()), Ok(()));
        assert_eq!(line.push(two.clone()), Ok(()));
        assert_eq!(line.push(three.clone()), Err(Turned::Full));
        drop(one);
        assert_eq!(line.push(three.clone()), Ok(()));
        drop(two);
        assert_eq!(line.pop().as_deref(), Some(&3), "nobody waits for the second any more");
    }

    #[test]
    fn a_closed_line_is_told_from_a_full_one() {
        let line = JobLine::new(1);
        line.close();
        assert_eq!(line.push(Arc::new(1)), Err(Turned::Closed));
        assert_eq!(line.pop(), None);
    }
}
