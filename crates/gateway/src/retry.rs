//! Whether a failed attempt is worth another, and how long to wait before it. Pure: the dice are
//! thrown by the caller.

use crate::Limits;
use althing_stdx::{Fault, Kind};
use std::time::Duration;

/// The first pause; each further one is twice as long, up to `PAUSE_MAX`.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// What is added to a wait the server asked for, so that many calls do not come back as one.
const RETRY_AFTER_SPREAD: Duration = Duration::from_millis(250);

/// The pause after attempt number `attempt` (from 1) failed with `fault`, or `None` where another
/// attempt would not help. `dice` is in `0.0..1.0`.
pub(crate) fn pause(fault: &Fault, attempt: u32, limits: &Limits, dice: f64) -> Option<Duration> {
    if attempt >= limits.attempts_max || !may_help(fault.kind) {
        return None;
    }
    match fault.retry_after {
        Some(asked) if asked > limits.retry_after_max => None,
        Some(asked) => Some(asked + RETRY_AFTER_SPREAD.mul_f64(dice)),
        None => Some(back_off(attempt).mul_f64(0.5 + dice / 2.0)),
    }
}

/// Says in a fault's words how long its server wants to be left alone, where they do not.
pub(crate) fn tell_wait(mut fault: Fault) -> Fault {
    let says = |words: &&str| fault.message.to_lowercase().contains(words);
    if let Some(wait) = fault.retry_after.filter(|wait| !wait.is_zero())
        && !WAIT_WORDS.iter().any(says)
    {
        fault.message += &format!("; try again in {} s", wait.as_secs_f64().ceil());
    }
    fault
}

/// With these a provider says itself how long.
const WAIT_WORDS: &[&str] = &["try again in", "retry in", "retry after", "try again after"];

/// `TimedOut` is here that of the connection or the provider's own. A model too slow for one of the
/// call's deadlines would be as slow again, and the call does not ask about these.
fn may_help(kind: Kind) -> bool {
    matches!(kind, Kind::RateLimited | Kind::Overloaded | Kind::Network | Kind::TimedOut)
}

fn back_off(attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(PAUSE_DOUBLINGS_MAX);
    (PAUSE_MIN * 2u32.pow(doublings)).min(PAUSE_MAX)
}

/// Beyond these the pause is `PAUSE_MAX` anyway.
const PAUSE_DOUBLINGS_MAX: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, asked_ms: Option<u64>, attempt: u32, want_ms: Option<(u64, u64)>) {
        let fault = Fault::new(kind, "no").retry_after(asked_ms.map(Duration::from_millis));
        let limits = Limits { attempts_max: 5, ..Limits::default() };
        let got = |dice| pause(&fault, attempt, &limits, dice).map(|it| it.as_millis() as u64);
        // The dice are never quite 1, so neither bound is ever passed.
        assert_eq!((got(0.0), got(1.0)), (want_ms.map(|w| w.0), want_ms.map(|w| w.1)), "{kind}");
        let thrown = got(fastrand::f64());
        assert!(thrown.zip(want_ms).is_none_or(|(ms, (min, max))| min <= ms && ms <= max));
    }

    #[test]
    fn pauses_grow_are_bounded_and_jittered() {
        check(Kind::Network, None, 1, Some((250, 500)));
        check(Kind::Overloaded, None, 2, Some((500, 1000)));
        check(Kind::RateLimited, None, 3, Some((1000, 2000)));
        check(Kind::TimedOut, None, 4, Some((2000, 4000)));
        check(Kind::Network, None, 5, None);
        let limits = Limits { attempts_max: u32::MAX, ..Limits::default() };
        let much = pause(&Fault::new(Kind::Network, "no"), 4_000_000, &limits, 1.0);
        assert_eq!(much, Some(PAUSE_MAX));
    }

    #[test]
    fn a_wait_that_was_asked_for_is_kept_or_the_call_given_up() {
        check(Kind::RateLimited, Some(0), 1, Some((0, 250)));
        check(Kind::RateLimited, Some(7_000), 1, Some((7_000, 7_250)));
        check(Kind::Overloaded, Some(60_000), 1, Some((60_000, 60_250)));
        check(Kind::RateLimited, Some(60_001), 1, None);
    }

    #[test]
    fn the_time_to_wait_is_said_once() {
        let told = |message: &str, ms: Option<u64>| {
            let fault = Fault::new(Kind::RateLimited, message);
            tell_wait(fault.retry_after(ms.map(Duration::from_millis))).message
        };
        assert_eq!(told("too many requests", Some(29_100)), "too many requests; try again in 30 s");
        for (message, ms) in [("Try again in 30s.", Some(30_000)), ("no", None), ("no", Some(0))] {
            assert_eq!(told(message, ms), message);
        }
    }

    #[test]
    fn what_stays_wrong_is_not_tried_again() {
        for kind in [Kind::BadKey, Kind::NoCredit, Kind::UnknownModel, Kind::Refused] {
            check(kind, None, 1, None);
        }
        for kind in [Kind::ContextTooLong, Kind::Upstream, Kind::InvalidParams, Kind::Internal] {
            check(kind, Some(1), 1, None);
        }
    }
}
