//! A call on its way, and who waits for its answer.

use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::SemaphorePermit;
use tokio::sync::oneshot::{Receiver, error::TryRecvError};

use super::reply::Reply;
use super::seat::Turn;
use super::shared::{Heard, Shared, Up};
use crate::error::Error;
use crate::id::Uuid;
use crate::socket::{Patience, SPIN_MAX};
use crate::wait;

/// How long a caller that reads by itself sleeps at most before it looks whether its call was ended
/// from elsewhere.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// How long a task looks for its answer at a time before it lets others run, where there are no
/// other calls. Where there are, it looks once.
const GLANCE_MAX: Duration = Duration::from_micros(20);

/// A call that waits for its answer, until it is dropped.
pub(super) struct Sent<'a> {
    pub shared: &'a Shared,
    pub up: Up,
    pub id: Uuid,
    pub receiver: Receiver<Result<Reply, Error>>,
    /// For a task.
    pub number: Option<u64>,
    /// Whether it was sent with the token that the worker may want.
    pub had_token: bool,
    /// Whether it may be held back still.
    pub is_held: bool,
    pub is_answered: bool,
    #[expect(dead_code, reason = "held, so that there are not too many")]
    pub place: SemaphorePermit<'a>,
}

impl Sent<'_> {
    /// Waits in a task, which looks out for the answer first where that is faster than being woken.
    pub(super) async fn answer(&mut self) -> Result<Reply, Error> {
        let seat = &self.up.seat;
        seat.like(false);
        let waiting = seat.wait();
        if self.is_held {
            // Other tasks may be about to send.
            tokio::task::yield_now().await;
            self.up.link.flush();
            self.is_held = false;
        }
        if self.is_newest() {
            self.look_out().await;
        }
        // Who is answered needs nobody to read; who is not needs somebody else now.
        let _waiting = self.receiver.is_empty().then_some(waiting);
        if self.is_newest() {
            self.shared.read_for_others(&self.up);
        }
        let answer = (&mut self.receiver).await;
        self.is_answered = true;
        answer.unwrap_or(Err(Error::Stopped))
    }

    /// As [`Sent::answer`], for a call that was not a task's so far.
    pub(super) async fn answer_as_task(&mut self) -> Result<Reply, Error> {
        self.number = Some(self.up.seat.number());
        self.answer().await
    }

    /// Looks in again and again as long as that may pay, until the answer is there or a later call
    /// does. In between others run.
    async fn look_out(&self) {
        let spin = &self.up.link.spin;
        let mut since = wait::now();
        while spin.is_due() && self.is_newest() && self.receiver.is_empty() {
            let Some(heard) = self.look() else { return };
            let took = since.elapsed();
            if heard != Heard::Nothing || took >= SPIN_MAX {
                spin.spun(took);
                since = wait::now();
            }
            if self.receiver.is_empty() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Reads what is there, unless somebody else does or the connection is at its end.
    fn look(&self) -> Option<Heard> {
        let seat = &self.up.seat;
        let Some(mut turn) = seat.turn() else {
            seat.miss();
            return None;
        };
        let glance = if seat.is_alone() { GLANCE_MAX } else { Duration::ZERO };
        let patience = Patience::Look(wait::now() + glance);
        let heard = self.shared.hear(&self.up, turn.inbox(), patience);
        let has_read = turn.inbox().has_read();
        match heard {
            Ok(Heard::Nothing) if has_read => Some(Heard::Others),
            Ok(heard) => Some(heard),
            Err(reason) => {
                turn.end(reason);
                None
            }
        }
    }

    fn is_newest(&self) -> bool {
        self.number.is_some_and(|number| self.up.seat.is_newest(number))
    }

    /// Waits on this thread, and reads meanwhile if nobody does; `None` when the time is over.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> Option<Result<Reply, Error>> {
        if self.is_held {
            // Other threads may be about to send.
            thread::yield_now();
            self.flush();
        }
        let up = self.up.clone();
        up.seat.like(true);
        let waiting = up.seat.wait();
        if let Some(turn) = up.seat.turn() {
            let answer = self.lead(turn, deadline);
            drop(waiting);
            self.shared.read_for_others(&up);
            if answer.is_some() {
                return answer;
            }
        } else if up.seat.is_alone() {
            up.seat.miss();
        }
        let answer = wait::block_until(&mut self.receiver, deadline);
        answer.map(|it| it.unwrap_or(Err(Error::Stopped)))
    }

    /// The answer, if it is there.
    pub(super) fn answer_now(&mut self) -> Option<Result<Reply, Error>> {
        let answer = match self.receiver.try_recv() {
            Err(TryRecvError::Empty) => return None,
            answer => answer.unwrap_or(Err(Error::Stopped)),
        };
        (self.is_answered, self.is_held) = (true, false);
        Some(answer)
    }

    fn flush(&mut self) {
        self.up.link.flush();
        self.is_held = false;
    }

    /// Reads until the answer is there, the time is over or the connection ends.
    fn lead(
        &mut self,
        mut turn: Turn<'_>,
        deadline: Option<Instant>,
    ) -> Option<Result<Reply, Error>> {
        loop {
            if let Some(answer) = self.answer_now() {
                return Some(answer);
            }
            let look = wait::now() + LOOK_MAX;
            let until = Some(deadline.map_or(look, |deadline| deadline.min(look)));
            // Other threads have something to do meanwhile.
            let is_alone = self.up.seat.is_alone();
            let patience = if is_alone { Patience::Awake(until) } else { Patience::Asleep(until) };
            match self.shared.hear(&self.up, turn.inbox(), patience) {
                Ok(Heard::Nothing) if deadline.is_some_and(|it| it <= wait::now()) => return None,
                Ok(_) => {}
                Err(reason) => {
                    turn.end(reason);
                    return None;
                }
            }
        }
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if self.is_held {
            self.flush();
        }
        if !self.is_answered && self.shared.forget(&self.id) {
            self.shared.say_cancel(&self.up.link, &self.id);
        }
        if self.number.is_some_and(|number| self.up.seat.retire(number)) {
            self.shared.read_for_others(&self.up);
        }
    }
}
