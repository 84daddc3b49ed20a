//! A call on its way, and who waits for its answer.

use std::time::{Duration, Instant};

use tokio::sync::SemaphorePermit;
use tokio::sync::oneshot::{Receiver, error::TryRecvError};

use super::reply::Reply;
use super::seat::Turn;
use super::shared::{Pending, Shared, Up};
use crate::error::Error;
use crate::socket::Patience;
use crate::wait;

/// How long a caller that reads by itself sleeps at most before it looks whether its call was ended
/// from elsewhere.
const LOOK_MAX: Duration = Duration::from_millis(50);

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
        let (start, has_looked) = (wait::now(), self.look_out());
        let answer = (&mut self.receiver).await.unwrap_or(Err(Error::Stopped));
        if !has_looked {
            self.up.link.spin.slept(start.elapsed());
        }
        answer
    }

    /// Looks out for the answer as long as that may pay; whether it did.
    fn look_out(&self) -> bool {
        let (up, shared) = (&self.up, self.shared());
        let Some(mut turn) = up.seat.turn() else { return false };
        // With others about, there is better to do.
        let has_looked = up.link.spin.is_due() && shared.is_alone();
        while has_looked && shared.is_alone() {
            match turn.inbox().next_within(&up.link, Patience::Look) {
                Ok(Some(message)) => {
                    shared.take(message);
                }
                Ok(None) => break,
                Err(reason) => {
                    turn.end(reason);
                    return true;
                }
            }
        }
        drop(turn);
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
        let left = deadline.map(|it| it.saturating_duration_since(wait::now()));
        let answer = wait::block_on(&mut self.receiver, left.unwrap_or(Duration::MAX));
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
                answer => return Some(answer.unwrap_or(Err(Error::Stopped))),
            }
            let look = wait::now() + LOOK_MAX;
            let until = deadline.map_or(look, |deadline| deadline.min(look));
            match turn.inbox().next_within(&self.up.link, Patience::Until(until)) {
                Ok(Some(message)) => {
                    self.shared().take(message);
                }
                Ok(None) if deadline.is_some_and(|it| it <= wait::now()) => return None,
                Ok(None) => {}
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
