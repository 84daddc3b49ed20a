//! Which calls run and which wait. Calls wait per connection, so that nobody waits for the reader of
//! another: a connection whose answers or streams are not read gets no further call begun, and one
//! with too many bytes of calls that wait is not read until there are fewer.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::reply::Job;
use super::ticket::Ticket;
use crate::limits::{STALLED_STREAMS_MAX, WAITING_BYTES_MAX};
use crate::socket::Link;

#[derive(Debug)]
pub(super) struct Desk {
    concurrency: usize,
    jobs: Mutex<Jobs>,
    /// Told to readers that pause, and to calls that come back.
    changed: Condvar,
}

/// What becomes of a job.
#[derive(Debug)]
pub(super) enum Admitted {
    /// It may run, on this thread.
    Now(Job),
    /// It waits for [`Desk::done`].
    Later,
    /// It waits, and its connection should be read no more until [`Desk::wait_for_room`] is over.
    Full,
}

#[derive(Debug, Default)]
struct Jobs {
    running: Vec<Arc<Ticket>>,
    /// Calls that have left their place while they wait for their callers to read.
    aside: Vec<Arc<Ticket>>,
    /// So many of them want a place again, before any other.
    returning: usize,
    /// Connections with calls that wait, in the order in which they come next.
    lanes: VecDeque<Lane>,
    is_closed: bool,
}

/// The calls of one connection that wait.
#[derive(Debug)]
struct Lane {
    link: Arc<Link>,
    waiting: VecDeque<Job>,
    bytes: usize,
}

impl Jobs {
    fn has_place(&self, concurrency: usize) -> bool {
        self.running.len() + self.returning < concurrency
    }

    /// Whether a connection reads enough of what it gets to be given more.
    fn may_begin(&self, link: &Arc<Link>) -> bool {
        let stalled = self.aside.iter().filter(|it| Arc::ptr_eq(&it.link, link));
        !link.is_full() && stalled.count() < STALLED_STREAMS_MAX
    }

    fn lane(&mut self, link: &Arc<Link>) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| Arc::ptr_eq(&lane.link, link))
    }

    fn waiting_bytes(&self, link: &Arc<Link>) -> usize {
        let lane = self.lanes.iter().find(|lane| Arc::ptr_eq(&lane.link, link));
        lane.map_or(0, |lane| lane.bytes)
    }

    /// The next call that may run; connections take turns.
    fn next(&mut self, concurrency: usize) -> Option<Job> {
        if self.is_closed || !self.has_place(concurrency) {
            return None;
        }
        let at = self.lanes.iter().position(|lane| self.may_begin(&lane.link))?;
        let mut lane = self.lanes.remove(at)?;
        let job = lane.waiting.pop_front()?;
        lane.bytes -= job.bytes();
        if !lane.waiting.is_empty() {
            self.lanes.push_back(lane);
        }
        self.running.push(job.ticket.clone());
        Some(job)
    }

    fn tickets(&self) -> impl Iterator<Item = &Arc<Ticket>> {
        let waiting = self.lanes.iter().flat_map(|lane| &lane.waiting);
        self.running.iter().chain(&self.aside).chain(waiting.map(|job| &job.ticket))
    }
}

impl Desk {
    pub(super) fn new(concurrency: usize) -> Desk {
        Desk { concurrency, jobs: Mutex::default(), changed: Condvar::new() }
    }

    /// Whether calls may run at the same time.
    pub(super) fn runs_many(&self) -> bool {
        self.concurrency > 1
    }

    /// It never waits: what comes behind a call may be no call.
    pub(super) fn admit(&self, job: Job) -> Admitted {
        let mut jobs = self.lock();
        let is_next = jobs.lane(&job.ticket.link).is_none() && jobs.may_begin(&job.ticket.link);
        if is_next && jobs.has_place(self.concurrency) {
            jobs.running.push(job.ticket.clone());
            return Admitted::Now(job);
        }
        let link = job.ticket.link.clone();
        if jobs.lane(&link).is_none() {
            let lane = Lane { link: link.clone(), waiting: VecDeque::new(), bytes: 0 };
            jobs.lanes.push_back(lane);
        }
        let Some(lane) = jobs.lane(&link) else { return Admitted::Later };
        lane.bytes += job.bytes();
        lane.waiting.push_back(job);
        if lane.bytes > WAITING_BYTES_MAX { Admitted::Full } else { Admitted::Later }
    }

    /// Waits until half of what may wait for a connection does, or its end.
    pub(super) fn wait_for_room(&self, link: &Arc<Link>) {
        let is_full = |jobs: &mut Jobs| {
            let is_over = jobs.is_closed || link.is_closed();
            !is_over && jobs.waiting_bytes(link) > WAITING_BYTES_MAX / 2
        };
        let waited = self.changed.wait_while(self.lock(), is_full);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// A connection has room for answers, or has ended.
    pub(super) fn look_again(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// A job is done: here is the next, if one waits.
    pub(super) fn done(&self, ticket: &Arc<Ticket>) -> Option<Job> {
        let mut jobs = self.lock();
        jobs.running.retain(|it| !Arc::ptr_eq(it, ticket));
        self.next(jobs)
    }

    /// A job was not begun; whoever says so looks for the next.
    pub(super) fn drop_out(&self, ticket: &Arc<Ticket>) {
        self.lock().running.retain(|it| !Arc::ptr_eq(it, ticket));
        self.changed.notify_all();
    }

    /// A job that waits and may run, if there is one.
    pub(super) fn start(&self) -> Option<Job> {
        self.next(self.lock())
    }

    fn next(&self, mut jobs: MutexGuard<'_, Jobs>) -> Option<Job> {
        let next = jobs.next(self.concurrency);
        let has_room = next.as_ref().is_some_and(|job| {
            let left = jobs.waiting_bytes(&job.ticket.link);
            left <= WAITING_BYTES_MAX / 2 && left + job.bytes() > WAITING_BYTES_MAX / 2
        });
        let is_told = has_room || jobs.returning > 0;
        drop(jobs);
        if is_told {
            self.changed.notify_all();
        }
        next
    }

    /// A call that runs waits for its caller, and leaves its place to another.
    pub(super) fn leave(&self, ticket: &Arc<Ticket>) {
        let mut jobs = self.lock();
        jobs.running.retain(|it| !Arc::ptr_eq(it, ticket));
        jobs.aside.push(ticket.clone());
        self.changed.notify_all();
    }

    /// Waits for a place; those that have had one come before those that have not.
    pub(super) fn come_back(&self, ticket: &Arc<Ticket>) {
        let mut jobs = self.lock();
        jobs.returning += 1;
        let has_none = |jobs: &mut Jobs| jobs.running.len() >= self.concurrency;
        let waited = self.changed.wait_while(jobs, has_none);
        jobs = waited.unwrap_or_else(PoisonError::into_inner);
        jobs.returning -= 1;
        jobs.aside.retain(|it| !Arc::ptr_eq(it, ticket));
        jobs.running.push(ticket.clone());
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
        jobs.lanes.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
