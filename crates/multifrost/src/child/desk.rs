//! Which calls run and which wait: at most so many of each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::reply::Job;
use super::ticket::Ticket;
use crate::limits::{WAITING_BYTES_MAX, WAITING_CALLS_MAX};
use crate::socket::Link;

#[derive(Debug)]
pub(super) struct Desk {
    concurrency: usize,
    jobs: Mutex<Jobs>,
}

/// What becomes of a job.
#[derive(Debug)]
pub(super) enum Admitted {
    /// It may run, on this thread.
    Now(Job),
    /// It waits for [`Desk::done`].
    Later,
    /// Too many wait already.
    Never(Job),
}

#[derive(Debug, Default)]
struct Jobs {
    running: Vec<Arc<Ticket>>,
    waiting: VecDeque<Job>,
    /// Of those that wait.
    bytes: usize,
    is_closed: bool,
}

impl Jobs {
    fn has_room(&self, job: &Job) -> bool {
        let fits = self.bytes + job.bytes() <= WAITING_BYTES_MAX;
        self.waiting.is_empty() || (self.waiting.len() < WAITING_CALLS_MAX && fits)
    }

    fn tickets(&self) -> impl Iterator<Item = &Arc<Ticket>> {
        self.running.iter().chain(self.waiting.iter().map(|job| &job.ticket))
    }
}

impl Desk {
    pub(super) fn new(concurrency: usize) -> Desk {
        Desk { concurrency, jobs: Mutex::default() }
    }

    /// Whether calls may run at the same time.
    pub(super) fn runs_many(&self) -> bool {
        self.concurrency > 1
    }

    /// It never waits: what comes behind a call may be no call.
    pub(super) fn admit(&self, job: Job) -> Admitted {
        let mut jobs = self.lock();
        if jobs.running.len() < self.concurrency {
            jobs.running.push(job.ticket.clone());
            return Admitted::Now(job);
        }
        if !jobs.has_room(&job) {
            return Admitted::Never(job);
        }
        jobs.bytes += job.bytes();
        jobs.waiting.push_back(job);
        Admitted::Later
    }

    /// A job is done: here is the next, if one waits.
    pub(super) fn done(&self, ticket: &Arc<Ticket>) -> Option<Job> {
        let mut jobs = self.lock();
        jobs.running.retain(|it| !Arc::ptr_eq(it, ticket));
        let next = if jobs.is_closed { None } else { jobs.waiting.pop_front() };
        if let Some(next) = &next {
            jobs.bytes -= next.bytes();
            jobs.running.push(next.ticket.clone());
        }
        next
    }

    /// The call of this connection that has this id, if it waits or runs.
    pub(super) fn find(&self, link: &Arc<Link>, id: &[u8]) -> Option<Arc<Ticket>> {
        let jobs = self.lock();
        jobs.tickets().find(|it| Arc::ptr_eq(&it.link, link) && it.id == id).cloned()
    }

    /// A connection has ended.
    pub(super) fn hang_up(&self, link: &Arc<Link>) {
        let jobs = self.lock();
        jobs.tickets().filter(|it| Arc::ptr_eq(&it.link, link)).for_each(|it| it.hang_up());
    }

    /// Nothing that waits is run any more.
    pub(super) fn close(&self) {
        let mut jobs = self.lock();
        jobs.is_closed = true;
        jobs.waiting.clear();
        jobs.bytes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
