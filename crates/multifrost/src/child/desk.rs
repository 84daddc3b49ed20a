//! Which calls run and which wait: at most so many of each.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::reply::Job;
use crate::limits::WAITING_CALLS_MAX;

#[derive(Debug)]
pub(super) struct Desk {
    concurrency: usize,
    jobs: Mutex<Jobs>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Jobs {
    running: usize,
    waiting: VecDeque<Job>,
    is_closed: bool,
}

impl Desk {
    pub(super) fn new(concurrency: usize) -> Desk {
        Desk { concurrency, jobs: Mutex::default(), room: Condvar::new() }
    }

    /// Whether calls may run at the same time.
    pub(super) fn runs_many(&self) -> bool {
        self.concurrency > 1
    }

    /// The job again if it may run now, on this thread; else it waits for [`Desk::done`]. While
    /// there is no room this waits, and the connection is not read.
    pub(super) fn admit(&self, job: Job) -> Option<Job> {
        let is_full = |jobs: &mut Jobs| jobs.waiting.len() >= WAITING_CALLS_MAX && !jobs.is_closed;
        let jobs = self.room.wait_while(self.lock(), is_full);
        let mut jobs = jobs.unwrap_or_else(PoisonError::into_inner);
        if jobs.running < self.concurrency {
            jobs.running += 1;
            return Some(job);
        }
        jobs.waiting.push_back(job);
        None
    }

    /// A job is done: here is the next, if one waits.
    pub(super) fn done(&self) -> Option<Job> {
        let mut jobs = self.lock();
        let next = if jobs.is_closed { None } else { jobs.waiting.pop_front() };
        match next {
            Some(_) => self.room.notify_one(),
            None => jobs.running -= 1,
        }
        next
    }

    /// Nothing that waits is run any more.
    pub(super) fn close(&self) {
        let mut jobs = self.lock();
        jobs.is_closed = true;
        jobs.waiting.clear();
        self.room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
