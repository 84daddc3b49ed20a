//! The threads of one connection. The one that reads a call also runs it, so a call costs no change
//! of threads. Another stands by: when a call takes longer than a moment, or where calls may run at
//! the same time, it reads on, so that what is not a call never waits for one.

use std::sync::{Arc, Mutex, TryLockError};
use std::thread;

use super::desk::Admitted;
use super::functions::Failure;
use super::reply::{Job, Step};
use super::standby::Standby;
use super::ticket::Ticket;
use super::{Ended, Running};
use crate::envelope::Packet;
use crate::limits::ANSWER_MAX;
use crate::socket::{Inbox, Link, SendError};
use crate::wait::block_on;

struct Crew {
    child: Arc<Running>,
    link: Arc<Link>,
    inbox: Mutex<Inbox>,
    standby: Standby,
    /// Whether the end of this connection is the end of the child.
    is_parent: bool,
}

/// What a thread that wants to read comes to.
enum Reading {
    /// A call, and whether others were read along with it.
    Call(Job, bool),
    /// Somebody else reads.
    Others,
    Over,
}

/// Serves a connection until it ends.
pub(super) fn serve(child: Arc<Running>, link: Arc<Link>, inbox: Inbox, is_parent: bool) {
    child.links.add(&link);
    link.limit_writes(ANSWER_MAX);
    let weak = Arc::downgrade(&child);
    link.when_free(move || {
        if let Some(child) = weak.upgrade() {
            child.desk.look_again();
            child.start_waiting();
        }
    });
    let (inbox, standby) = (Mutex::new(inbox), Standby::default());
    Arc::new(Crew { child, link, inbox, standby, is_parent }).work();
}

impl Crew {
    /// Reads and runs; while somebody else reads, stands by. What is held back on the link is sent
    /// by whoever sleeps next, be it to read or to stand by.
    fn work(self: Arc<Crew>) {
        loop {
            match self.read() {
                Reading::Call(job, has_more) => self.run(job, has_more),
                Reading::Others => {
                    self.link.flush();
                    if !self.standby.wait() {
                        return;
                    }
                    self.link.flush();
                }
                Reading::Over => break,
            }
        }
        self.standby.end();
        self.link.cut();
        self.child.desk.hang_up(&self.link);
        if self.is_parent {
            self.child.links.end(Ended::ParentGone);
        }
    }

    /// Reads until there is a call to run.
    fn read(&self) -> Reading {
        let mut inbox = match self.inbox.try_lock() {
            Ok(inbox) => inbox,
            Err(TryLockError::Poisoned(inbox)) => inbox.into_inner(),
            Err(TryLockError::WouldBlock) => return Reading::Others,
        };
        loop {
            let Ok(message) = inbox.next(&self.link) else { return Reading::Over };
            match self.child.judge(message, &self.link) {
                Step::Ignore => {}
                Step::Answer(packet) => send(&self.link, packet),
                Step::End => self.child.shut_down(),
                Step::Cancel(ticket) => ticket.cancel(),
                Step::Taken(ticket, total) => ticket.taken(total),
                Step::Run(job) => match self.child.desk.admit(job) {
                    Admitted::Now(job) => return Reading::Call(job, inbox.has_more()),
                    Admitted::Later => {}
                    Admitted::Full => {
                        self.link.flush();
                        self.child.desk.wait_for_room(&self.link);
                    }
                },
            }
        }
    }

    /// Runs a call, and those that have come to wait meanwhile, whosever they are.
    fn run(self: &Arc<Crew>, job: Job, has_more: bool) {
        let may_hold = self.begin() && has_more;
        let mut next = Some(job);
        while let Some(job) = next {
            let answer = job.ticket.around(|| self.child.answer(&job));
            // It may go with the answers to the calls that were read with this one.
            if may_hold && Arc::ptr_eq(&job.ticket.link, &self.link) {
                hold(&self.link, answer);
            } else {
                post(&job.ticket.link, answer);
            }
            next = self.child.desk.done(&job.ticket);
            if next.is_some() {
                self.link.flush();
            }
        }
        self.standby.done();
    }

    /// Says whether somebody is there to read if this call takes long. Without, nobody reads until
    /// this thread is back.
    fn begin(self: &Arc<Crew>) -> bool {
        self.standby.begin(self.child.desk.runs_many(), || {
            let crew = self.clone();
            let thread = thread::Builder::new().name("multifrost-call".into());
            let stand_by = move || {
                if crew.standby.watch() {
                    crew.link.flush();
                    crew.work();
                }
            };
            thread.spawn(stand_by).is_ok()
        })
    }
}

impl Running {
    /// Begins the calls that wait and may run, each on a thread of its own.
    pub(super) fn start_waiting(self: &Arc<Running>) {
        while let Some(job) = self.desk.start() {
            let (child, ticket) = (self.clone(), job.ticket.clone());
            let thread = thread::Builder::new().name("multifrost-call".into());
            if thread.spawn(move || child.run_all(job)).is_err() {
                post(&ticket.link, self.refuse(&ticket));
                self.desk.drop_out(&ticket);
            }
        }
    }

    /// Runs a call, and those that wait for its place.
    fn run_all(self: &Arc<Running>, job: Job) {
        let mut next = Some(job);
        while let Some(job) = next {
            post(&job.ticket.link, job.ticket.around(|| self.answer(&job)));
            next = self.desk.done(&job.ticket);
        }
    }

    /// Waits for the caller of a call that runs, while others run in its place.
    pub(super) fn wait_aside(
        self: &Arc<Running>,
        ticket: &Arc<Ticket>,
        wait: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.desk.leave(ticket);
        self.start_waiting();
        let waited = wait();
        self.desk.come_back(ticket);
        // With one that waits less its connection may have room for a call.
        self.start_waiting();
        waited
    }
}

fn hold(link: &Arc<Link>, packet: Packet) {
    if let Err(SendError::Full(packet)) = link.hold(packet) {
        post(link, packet);
    }
}

/// Leaves an answer to be read. It may be more than should wait: then no further call of this
/// connection begins before there is less.
fn post(link: &Arc<Link>, packet: Packet) {
    // A caller that is gone needs no answer.
    let _ = link.post(packet);
}

/// Sends what is no answer of a function, and waits for the other side to read: only its own
/// connection waits with it. One that never does is cut off.
fn send(link: &Arc<Link>, packet: Packet) {
    match block_on(link.send(packet), ANSWER_MAX) {
        // A caller that is gone needs no answer.
        Some(_) => {}
        None => link.cut(),
    }
}
