//! When an agent has had its time, as a value: the moments go in, the next limit comes out.

use crate::agent::Limits;
use std::time::Duration;
use tokio::time::Instant;

/// How long an agent that has given its whole answer may take to end.
pub(crate) const LEAVING_MAX: Duration = Duration::from_secs(5);
/// How long what is still in the pipes is read after the agent itself has ended: something it
/// started may hold them open.
pub(crate) const DRAINING_MAX: Duration = Duration::from_millis(300);

/// How long an agent may only say that it tries again, and which part of all its time at most: then
/// it is told as what it is, before whoever asked has lost patience.
const TRYING_MAX: Duration = Duration::from_secs(120);
const TRYING_PART: u32 = 4;

/// Which limit comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Nothing new for too long.
    Idle,
    /// Nothing but attempts to go on for too long.
    Trying,
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
    is_trying: bool,
    answered: Option<Instant>,
    ended: Option<Instant>,
}

impl Timer {
    pub(crate) fn new(limits: Limits, started: Instant) -> Timer {
        Timer { limits, started, heard: started, is_trying: false, answered: None, ended: None }
    }

    /// Something new was said.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Whether all it said last is that it tries again.
    pub(crate) fn tries(&mut self, is_trying: bool) {
        self.is_trying = is_trying;
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
                let next = if idle.0 < total.0 { idle } else { total };
                let trying = (self.heard + trying_max(&self.limits), Limit::Trying);
                if self.is_trying && trying.0 < next.0 { trying } else { next }
            }
        }
    }
}

/// How long an agent with these limits may try.
pub(crate) fn trying_max(limits: &Limits) -> Duration {
    TRYING_MAX.min(limits.total / TRYING_PART)
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
        timer.tries(true);
        timer.heard(at(17));
        assert_eq!(timer.next(), (at(17) + limits.total / 4, Limit::Trying), "a part of its time");
        timer.tries(false);
        timer.answered(at(24));
        timer.answered(at(26));
        assert_eq!(timer.next(), (at(24) + LEAVING_MAX, Limit::Leaving));
        timer.ended(at(25));
        assert_eq!(timer.next(), (at(25) + DRAINING_MAX, Limit::Draining));
    }

    #[test]
    fn an_agent_that_only_tries_has_less_time() {
        let start = Instant::now();
        let hour = Duration::from_secs(3600);
        for (idle, total, want) in [
            (hour, hour, (TRYING_MAX, Limit::Trying)),
            (hour, Duration::from_secs(60), (Duration::from_secs(15), Limit::Trying)),
            (Duration::from_secs(1), hour, (Duration::from_secs(1), Limit::Idle)),
        ] {
            let mut timer = Timer::new(Limits { idle, total }, start);
            timer.tries(true);
            assert_eq!(timer.next(), (start + want.0, want.1));
        }
    }
}
