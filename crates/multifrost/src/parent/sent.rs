//! A call on its way, and who waits for its answer.

use std::time::{Duration, Instant};

use tokio::sync::SemaphorePermit;
use tokio::sync::oneshot::{Receiver, error::TryRecvError};

use super::reply::Reply;
use super::seat::Turn;
use super::shared::{Heard, Pending, Shared, Up};
use crate::error::Error;
use crate::socket::Patience;
use crate::wait;

/// How long a caller that reads by itself sleeps at most before it looks whether its call was ended
/// from elsewhere.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// How long a task looks out for its answer at most, if pieces of it or other messages keep coming;
/// then it lets others run, and the connection's own thread reads.
const TASK_LOOK_MAX: Duration = Duration::from_millis(1);

pub(super) struct Sent<'a> {
    pub up: Up,
    pub receiver: Receiver<Result<Reply, Error>>,
    pub pending: Pending<'a>,
    /// Whether it was sent with the token that the worker may want.
    pub had_token: bool,
    pub _place: SemaphorePermit<'a>,
}

impl Sent<'_> {
    /// Waits in a task, which looks out for the answer first where that is faster than being woken.
    pub(super) async fn answer(mut self) -> Result<Reply, Error> {
        self.up.seat.like(false);
        // With others about, there is better to do than to look out.
        if !self.shared().is_alone() {
            self.up.seat.want();
            return self.receive().await;
        }
        let start = wait::now();
        let has_looked = self.look_out(start + TASK_LOOK_MAX);
        let answer = self.receive().await;
        let spin = &self.up.link.spin;
        if has_looked {
            spin.spun(start.elapsed())
        } else {
            spin.slept(start.elapsed())
        }
        answer
    }

    async fn receive(&mut self) -> Result<Reply, Error> {
        let answer = (&mut self.receiver).await;
        self.pending.is_answered = true;
        answer.unwrap_or(Err(Error::Stopped))
    }

    /// Looks out for the answer as long as that may pay; whether it did.
    fn look_out(&self, until: Instant) -> bool {
        let (up, shared) = (&self.up, self.shared());
        let turn = if up.link.spin.is_due() { up.seat.turn() } else { None };
        let has_looked = turn.is_some();
        if let Some(mut turn) = turn {
            while shared.is_alone() {
                match shared.hear(up, turn.inbox(), Patience::Look(until)) {
                    Ok(Heard::Nothing) => break,
                    Ok(_) => {}
                    Err(reason) => {
                        turn.end(reason);
                        return true;
                    }
                }
            }
        }
        shared.read_for_others(up);
        has_looked
    }

    /// Waits on this thread, and reads meanwhile if nobody does; `None` when the time is over.
    pub(super) fn wait(mut self, deadline: Option<Instant>) -> Option<Result<Reply, Error>> {
        let up = self.up.clone();
        up.seat.like(true);
        if let Some(turn) = up.seat.turn() {
            let answer = self.lead(turn, deadline);
            self.shared().read_for_others(&up);
            if answer.is_some() {
                return answer;
            }
        }
        let answer = wait::block_until(&mut self.receiver, deadline);
        answer.map(|it| it.unwrap_or(Err(Error::Stopped)))
    }

    /// Reads until the answer is there, the time is over or the connection ends.
    fn lead(
        &mut self,
        mut turn: Turn<'_>,
        deadline: Option<Instant>,
    ) -> Option<Result<Reply, Error>> {
        loop {
            match self.receiver.try_recv() {
                Err(TryRecvError::Empty) => {}
                answer => {
                    self.pending.is_answered = true;
                    return Some(answer.unwrap_or(Err(Error::Stopped)));
                }
            }
            let look = wait::now() + LOOK_MAX;
            let until = Some(deadline.map_or(look, |deadline| deadline.min(look)));
            // Others have something to do meanwhile.
            let is_alone = self.shared().is_alone();
            let patience = if is_alone { Patience::Awake(until) } else { Patience::Asleep(until) };
            match self.shared().hear(&self.up, turn.inbox(), patience) {
                Ok(Heard::Nothing) if deadline.is_some_and(|it| it <= wait::now()) => return None,
                Ok(_) => {}
                Err(reason) => {
                    turn.end(reason);
                    return None;
                }
            }
        }
    }

    fn shared(&self) -> &Shared {
        self.pending.shared
    }
}
