//! A circuit breaker: a server that fails again and again is left alone for a while, then tried
//! with one call.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Results older than this say nothing.
pub(super) const WINDOW: Duration = Duration::from_secs(30);
/// Results looked at; older ones go first.
const RESULTS_MAX: usize = 32;
/// Fewer results than this are chance.
const RESULTS_MIN: usize = 5;
/// Opens where at least this part of the results are failures.
const FAILURES_PERCENT_MIN: usize = 50;
/// How long it stays open the first time; each failed probe doubles it, up to `OPEN_MAX`.
pub(super) const OPEN_MIN: Duration = Duration::from_secs(10);
pub(super) const OPEN_MAX: Duration = Duration::from_secs(160);
/// What callers are told to wait while a probe is under way, whose end nobody knows.
pub(super) const PROBE_WAIT: Duration = Duration::from_secs(1);

/// One server's model. Begins closed.
pub(super) struct Breaker {
    /// When, and whether it was a success; oldest first.
    results: VecDeque<(Instant, bool)>,
    state: State,
    /// How long it stays open the next time.
    rest: Duration,
}

enum State {
    Closed,
    /// Nobody gets through until then; after that one probe does.
    Open {
        until: Instant,
    },
    /// The probe is under way and nobody else gets through.
    Probing,
}

impl Breaker {
    pub(super) fn new() -> Breaker {
        Breaker { results: VecDeque::new(), state: State::Closed, rest: OPEN_MIN }
    }

    /// How long nobody gets through; none where a call may go.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Closed => None,
            State::Open { until } if until <= now => None,
            State::Open { until } => Some(until - now),
            State::Probing => Some(PROBE_WAIT),
        }
    }

    /// A call goes through; says whether it is the probe.
    pub(super) fn admit(&mut self, now: Instant) -> bool {
        let probe = matches!(self.state, State::Open { until } if until <= now);
        if probe {
            self.state = State::Probing;
        }
        probe
    }

    /// The probe came to nothing: the next call is one.
    pub(super) fn release(&mut self, now: Instant) {
        if matches!(self.state, State::Probing) {
            self.state = State::Open { until: now };
        }
    }

    /// A call was answered. Whichever it was, the server works.
    pub(super) fn succeed(&mut self, now: Instant) {
        if !matches!(self.state, State::Closed) {
            *self = Breaker::new();
        }
        self.push(now, true);
    }

    /// A call failed. While it is open only the probe's failure tells anything new.
    pub(super) fn fail(&mut self, probe: bool, now: Instant) {
        match self.state {
            State::Closed => {
                self.push(now, false);
                if self.is_bad() {
                    self.open(now);
                }
            }
            State::Probing if probe => {
                self.rest = (self.rest * 2).min(OPEN_MAX);
                self.open(now);
            }
            State::Open { .. } | State::Probing => {}
        }
    }

    /// Whether it can be forgotten.
    pub(super) fn is_well(&self, now: Instant) -> bool {
        let failed = |(at, ok): &(Instant, bool)| !ok && *at + WINDOW > now;
        matches!(self.state, State::Closed) && !self.results.iter().any(failed)
    }

    fn open(&mut self, now: Instant) {
        self.results.clear();
        self.state = State::Open { until: now + self.rest };
    }

    fn push(&mut self, now: Instant, ok: bool) {
        let stale = |(at, _): &(Instant, bool)| *at + WINDOW <= now;
        while self.results.len() >= RESULTS_MAX || self.results.front().is_some_and(stale) {
            self.results.pop_front();
        }
        self.results.push_back((now, ok));
    }

    fn is_bad(&self) -> bool {
        let all = self.results.len();
        let failures = self.results.iter().filter(|(_, ok)| !ok).count();
        all >= RESULTS_MIN && failures * 100 >= all * FAILURES_PERCENT_MIN
    }
}
