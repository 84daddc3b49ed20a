//! The threads of one connection. One of them reads; when it has read a call it runs it itself, and
//! the next thread reads on. So a call costs no change of threads, and what is not a call never
//! waits for one.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::reply::{Job, Step};
use super::{Ended, Running};
use crate::envelope::Packet;
use crate::limits::ANSWER_MAX;
use crate::socket::{Inbox, Link};
use crate::wait::block_on;

/// Threads that read or are about to; one that comes back beyond that is let go.
const READERS_MAX: usize = 2;

struct Crew {
    child: Arc<Running>,
    link: Arc<Link>,
    inbox: Mutex<Inbox>,
    readers: Mutex<usize>,
    /// Whether the end of this connection is the end of the child.
    is_parent: bool,
}

/// Serves a connection until it ends.
pub(super) fn serve(child: Arc<Running>, link: Arc<Link>, inbox: Inbox, is_parent: bool) {
    child.links.add(&link);
    let (inbox, readers) = (Mutex::new(inbox), Mutex::new(1));
    Arc::new(Crew { child, link, inbox, readers, is_parent }).work();
}

impl Crew {
    fn work(self: Arc<Crew>) {
        while let Some(job) = self.read() {
            self.leave();
            self.run(job);
            if !self.come_back() {
                return;
            }
        }
        self.link.cut();
        self.child.desk.hang_up(&self.link);
        if self.is_parent {
            self.child.links.end(Ended::ParentGone);
        }
    }

    /// Reads until there is a call to run; `None` at the end of the connection.
    fn read(&self) -> Option<Job> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let message = inbox.next(&self.link).ok()?;
            match self.child.judge(&message, &self.link) {
                Step::Ignore => {}
                Step::Answer(packet) => self.send(packet),
                Step::End => self.child.shut_down(),
                Step::Cancel(ticket) => ticket.cancel(),
                Step::Taken(ticket, total) => ticket.taken(total),
                Step::Run(job) => {
                    if let Some(job) = self.child.desk.admit(job) {
                        return Some(job);
                    }
                }
            }
        }
    }

    /// This thread has a call to run: another must read.
    fn leave(self: &Arc<Crew>) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        *readers -= 1;
        if *readers > 0 {
            return;
        }
        let crew = self.clone();
        let thread = thread::Builder::new().name("multifrost-call".into());
        // Without another thread nobody reads until this one is back.
        if thread.spawn(move || crew.work()).is_ok() {
            *readers += 1;
        }
    }

    fn come_back(&self) -> bool {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = *readers < READERS_MAX;
        *readers += usize::from(is_wanted);
        is_wanted
    }

    /// Runs a call, and those that have come to wait meanwhile, whosever they are.
    fn run(&self, job: Job) {
        let mut next = Some(job);
        while let Some(job) = next {
            let answer = job.ticket.around(|| self.child.answer(&job));
            send(&job.ticket.link, answer);
            next = self.child.desk.done(&job.ticket);
        }
    }

    fn send(&self, packet: Packet) {
        send(&self.link, packet);
    }
}

/// Sends, and waits for the other side to read; one that never does is cut off.
fn send(link: &Arc<Link>, packet: Packet) {
    match block_on(link.send(packet), ANSWER_MAX) {
        // A caller that is gone needs no answer.
        Some(_) => {}
        None => link.cut(),
    }
}
