//! The life of an extension as a value: what happened and the time go in, what to do comes out.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// An extension that has not answered `initialize` by then has failed.
pub(crate) const INITIALIZE_MAX: Duration = Duration::from_secs(10);
/// The steps of an ending, each after its beginning: an extension that does not answer finds its
/// input closed, then is told to end, and is ended.
const CLOSE_AFTER: Duration = Duration::from_secs(3);
const TERMINATE_AFTER: Duration = Duration::from_secs(4);
const KILL_AFTER: Duration = Duration::from_secs(5);
/// Whatever the system does, nobody waits longer for a killed process.
const FORGET_AFTER: Duration = Duration::from_secs(6);

/// Why an extension is to end, as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The host ends.
    Closing,
    /// The person turned it off.
    Disabled,
    /// It is started again at once.
    Reload,
    /// Its answer to `initialize` could not be taken.
    Error,
}

/// When an extension that crashed is started again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Restart {
    /// How many crashes within the window are forgiven; the next is the last.
    pub times_max: usize,
    /// How long a crash counts, in seconds.
    pub window_s: u64,
    /// How long the first wait is, in milliseconds. Each further one is twice as long.
    pub first_ms: u64,
    /// How long a wait may become, in milliseconds.
    pub wait_ms_max: u64,
}

impl Default for Restart {
    fn default() -> Restart {
        Restart { times_max: 3, window_s: 300, first_ms: 500, wait_ms_max: 30_000 }
    }
}

/// Where an extension is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Initializing {
        deadline: Instant,
    },
    Running,
    Stopping {
        since: Instant,
        step: Step,
        then: Then,
    },
    /// Crashed, and to be started again.
    Waiting {
        until: Instant,
    },
    Stopped,
    Failed {
        reason: String,
    },
}

/// How far an ending has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Asked,
    Closed,
    Terminated,
    Killed,
}

/// What comes after an ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Then {
    Stop,
    Start,
    Fail(String),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Start,
    Spawned,
    NotSpawned(String),
    Initialized,
    /// The answer to `initialize` is an error, or none that can be taken.
    Refused(String),
    /// The process is gone; the text says how it ended.
    Gone(String),
    /// The connection is over, although the process is there.
    Lost(String),
    Stop(Reason),
    /// `shutdown` was answered, whatever the answer.
    Answered,
    /// Time has passed.
    Tick,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Spawn,
    Initialize,
    Shutdown(Reason),
    CloseStdin,
    /// Both to the whole group.
    Terminate,
    Kill,
}

pub(crate) struct Lifecycle {
    phase: Phase,
    restart: Option<Restart>,
    /// When it crashed, as far as that still counts; never more than `times_max`.
    crashes: VecDeque<Instant>,
}

impl Lifecycle {
    pub(crate) fn new(restart: Option<Restart>) -> Lifecycle {
        Lifecycle { phase: Phase::Stopped, restart, crashes: VecDeque::new() }
    }

    pub(crate) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// When `Tick` is due.
    pub(crate) fn wake(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Initializing { deadline } => Some(*deadline),
            Phase::Waiting { until } => Some(*until),
            Phase::Stopping { since, step, .. } => Some(*since + step.lasts()),
            _ => None,
        }
    }

    pub(crate) fn on(&mut self, input: Input, now: Instant) -> Option<Action> {
        match (&mut self.phase, input) {
            (Phase::Stopped | Phase::Failed { .. } | Phase::Waiting { .. }, Input::Start) => {
                self.crashes.clear();
                self.enter(Phase::Starting, Some(Action::Spawn))
            }
            (Phase::Waiting { until }, Input::Tick) if now >= *until => {
                self.enter(Phase::Starting, Some(Action::Spawn))
            }
            (Phase::Waiting { .. }, Input::Stop(_)) => self.enter(Phase::Stopped, None),
            (Phase::Starting, Input::NotSpawned(reason)) => {
                self.enter(Phase::Failed { reason }, None)
            }
            (Phase::Starting, Input::Spawned) => {
                let deadline = now + INITIALIZE_MAX;
                self.enter(Phase::Initializing { deadline }, Some(Action::Initialize))
            }
            (Phase::Initializing { .. }, Input::Initialized) => self.enter(Phase::Running, None),
            (Phase::Initializing { .. }, Input::Refused(reason)) => {
                self.stop(Reason::Error, Then::Fail(reason), now)
            }
            (Phase::Initializing { deadline }, Input::Tick) if now >= *deadline => {
                let reason = format!("it did not answer initialize within {INITIALIZE_MAX:?}");
                self.enter(Phase::Failed { reason }, Some(Action::Kill))
            }
            (Phase::Initializing { .. } | Phase::Running, Input::Stop(reason)) => {
                let then = if reason == Reason::Reload { Then::Start } else { Then::Stop };
                self.stop(reason, then, now)
            }
            (Phase::Initializing { .. } | Phase::Running, Input::Gone(how) | Input::Lost(how)) => {
                self.crash(how, now)
            }
            (Phase::Stopping { .. }, input) => self.ending(input, now),
            _ => None,
        }
    }

    fn enter(&mut self, phase: Phase, action: Option<Action>) -> Option<Action> {
        self.phase = phase;
        action
    }

    fn stop(&mut self, reason: Reason, then: Then, now: Instant) -> Option<Action> {
        let phase = Phase::Stopping { since: now, step: Step::Asked, then };
        self.enter(phase, Some(Action::Shutdown(reason)))
    }

    /// Whatever is left of the group goes too, before it is started again or not.
    fn crash(&mut self, reason: String, now: Instant) -> Option<Action> {
        let wait = self.restart.and_then(|restart| self.forgiven(restart, now));
        let phase = match wait {
            Some(wait) => Phase::Waiting { until: now + wait },
            None => Phase::Failed { reason },
        };
        self.enter(phase, Some(Action::Kill))
    }

    /// How long to wait before the next start; none if there were too many.
    fn forgiven(&mut self, restart: Restart, now: Instant) -> Option<Duration> {
        let window = Duration::from_secs(restart.window_s);
        self.crashes.retain(|at| now.duration_since(*at) < window);
        if self.crashes.len() >= restart.times_max {
            return None;
        }
        let doubled = 1_u64.checked_shl(self.crashes.len() as u32).unwrap_or(u64::MAX);
        self.crashes.push_back(now);
        let wait = restart.first_ms.saturating_mul(doubled).min(restart.wait_ms_max);
        Some(Duration::from_millis(wait))
    }

    fn ending(&mut self, input: Input, now: Instant) -> Option<Action> {
        let Phase::Stopping { since, step, then } = &mut self.phase else { return None };
        match input {
            Input::Gone(_) => self.ended(),
            // A reload that is followed by a wish to end ends; never the other way round.
            Input::Stop(reason) if reason != Reason::Reload => {
                if *then == Then::Start {
                    *then = Then::Stop;
                }
                None
            }
            Input::Start if *then == Then::Stop => {
                *then = Then::Start;
                None
            }
            Input::Answered if *step == Step::Asked => {
                *step = Step::Closed;
                Some(Action::CloseStdin)
            }
            Input::Tick if now >= *since + step.lasts() => match step.next() {
                Some((next, action)) => {
                    *step = next;
                    Some(action)
                }
                None => self.ended(),
            },
            _ => None,
        }
    }

    fn ended(&mut self) -> Option<Action> {
        let Phase::Stopping { then, .. } = &self.phase else { return None };
        match then.clone() {
            Then::Stop => self.enter(Phase::Stopped, Some(Action::Kill)),
            Then::Fail(reason) => self.enter(Phase::Failed { reason }, Some(Action::Kill)),
            Then::Start => {
                self.crashes.clear();
                self.enter(Phase::Starting, Some(Action::Spawn))
            }
        }
    }
}

impl Step {
    /// How long after the beginning of the ending the next step is due.
    fn lasts(self) -> Duration {
        match self {
            Step::Asked => CLOSE_AFTER,
            Step::Closed => TERMINATE_AFTER,
            Step::Terminated => KILL_AFTER,
            Step::Killed => FORGET_AFTER,
        }
    }

    fn next(self) -> Option<(Step, Action)> {
        match self {
            Step::Asked => Some((Step::Closed, Action::CloseStdin)),
            Step::Closed => Some((Step::Terminated, Action::Terminate)),
            Step::Terminated => Some((Step::Killed, Action::Kill)),
            Step::Killed => None,
        }
    }
}
