//! When an agent has had its time, as a value: the moments go in, the next limit comes out.

use crate::agent::Limits;
use std::time::Duration;
use tokio::time::Instant;

/// How long an agent that has given its whole answer may take to end.
pub(crate) const LEAVING_MAX: Duration = Duration::from_secs(5);
/// How long what is still in the pipes is read after the agent itself has ended: something it
/// started may hold them open.
pub(crate) const DRAINING_MAX: Duration = Duration::from_millis(300);

/// Which limit comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Nothing new for too long.
    Idle,
    /// All its time is used up.
    Total,
    /// It has said all and does not end.
    Leaving,
    /// It has ended and something holds its pipes.
    Draining,
}

/// The moments of one process.
#[derive(Debug)]
pub(crate) struct Timer {
    limits: Limits,
    started: Instant,
    heard: Instant,
    answered: Option<Instant>,
    ended: Option<Instant>,
}

impl Timer {
    pub(crate) fn new(limits: Limits, started: Instant) -> Timer {
        Timer { limits, started, heard: started, answered: None, ended: None }
    }

    /// Something new was said.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// The answer is whole; only the first time counts.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.answered.get_or_insert(now);
    }

    /// The process has ended.
    pub(crate) fn ended(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    /// The next limit and when it is reached. An agent that is done has its last moments whatever
    /// the other limits say, so that what it said is not lost.
    pub(crate) fn next(&self) -> (Instant, Limit) {
        match (self.ended, self.answered) {
            (Some(ended), _) => (ended + DRAINING_MAX, Limit::Draining),
            (_, Some(answered)) => (answered + LEAVING_MAX, Limit::Leaving),
            _ => {
                let idle = (self.heard + self.limits.idle, Limit::Idle);
                let total = (self.started + self.limits.total, Limit::Total);
                if idle.0 < total.0 { idle } else { total }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_limit_follows_from_what_happened() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let limits = Limits { idle: Duration::from_secs(10), total: Duration::from_secs(25) };
        let mut timer = Timer::new(limits, start);
        assert_eq!(timer.next(), (at(10), Limit::Idle));
        timer.heard(at(7));
        assert_eq!(timer.next(), (at(17), Limit::Idle));
        timer.heard(at(16));
        assert_eq!(timer.next(), (at(25), Limit::Total), "from the start, not from the last word");
        timer.answered(at(24));
        timer.answered(at(26));
        assert_eq!(timer.next(), (at(24) + LEAVING_MAX, Limit::Leaving));
        timer.ended(at(25));
        assert_eq!(timer.next(), (at(25) + DRAINING_MAX, Limit::Draining));
    }
}
