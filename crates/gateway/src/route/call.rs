//! One call along a route. An answer is held back until its first word, so that an error after
//! HTTP 200 still leads to the next target; from then on it is that target's alone.

use super::{Answered, Line, Next, Turn, Voice, rule};
use crate::Limits;
use crate::dialect::cut;
use crate::lane::Place;
use althing_chat::{Ask, Delta, Retry, Speaking};
use althing_stdx::{Fault, Kind};
use futures_util::stream::{StreamExt, unfold};
use std::collections::VecDeque;
use std::mem;
use std::time::Duration;
use tokio::time::Instant;

/// A call under way.
pub(super) struct Call {
    id: String,
    line: Line,
    voice: Voice,
    limits: Limits,
    ask: Ask,
    answered: Answered,

    phase: Phase,
    /// Attempts that failed so far, at all targets.
    failed: u32,
    /// Time targets had so far, without their lines.
    spent: Duration,
    started_at: Option<Instant>,
    /// Whether the listener believes that the request is out.
    is_out: bool,
    ready: VecDeque<Result<Delta, Fault>>,
}

enum Phase {
    Arriving,
    InLine,
    /// Nothing of the answer was handed out. `held` are counts and what the target leaves out, which
    /// a failed one takes with it.
    Holding {
        turn: Turn,
        speaking: Speaking,
        held: Vec<Delta>,
    },
    Flowing {
        turn: Turn,
        speaking: Speaking,
    },
    Over,
}

impl Call {
    pub(super) fn new(
        id: &str,
        line: Line,
        voice: Voice,
        limits: Limits,
        ask: Ask,
        answered: Answered,
    ) -> Call {
        Call {
            id: id.into(),
            line,
            voice,
            limits,
            ask,
            answered,
            phase: Phase::Arriving,
            failed: 0,
            spent: Duration::ZERO,
            started_at: None,
            is_out: false,
            ready: VecDeque::new(),
        }
    }

    /// The call as a stream. Dropping it drops the target's call with it.
    pub(super) fn speaking(self) -> Speaking {
        unfold(self, |mut call| async move { Some((call.next().await?, call)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<Delta, Fault>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            // Where the target's stream is: never taken out across an await, so that a dropped
            // wait loses nothing.
            let heard = match &mut self.phase {
                Phase::Arriving => {
                    self.phase = self.arrive();
                    continue;
                }
                Phase::InLine => {
                    self.phase = self.wait_in_line().await;
                    continue;
                }
                Phase::Holding { speaking, .. } | Phase::Flowing { speaking, .. } => {
                    speaking.next().await
                }
                Phase::Over => return None,
            };
            self.phase = match (mem::replace(&mut self.phase, Phase::Over), heard) {
                (Phase::Holding { turn, speaking, held }, Some(Ok(delta))) => {
                    self.hold(turn, speaking, held, delta)
                }
                (Phase::Holding { turn, speaking, .. }, Some(Err(fault))) => {
                    drop(speaking);
                    self.fall_back(turn, fault)
                }
                (Phase::Holding { turn, speaking, .. }, None) => {
                    drop(speaking);
                    self.fall_back(turn, cut())
                }
                (Phase::Flowing { turn, speaking }, Some(Ok(delta))) => {
                    self.ready.push_back(Ok(delta));
                    Phase::Flowing { turn, speaking }
                }
                (Phase::Flowing { mut turn, .. }, Some(Err(fault))) => {
                    turn.trial.failed(&fault);
                    self.end(fault)
                }
                _ => Phase::Over,
            };
        }
    }

    fn arrive(&mut self) -> Phase {
        match self.line.next() {
            Next::Turn(turn, place) => self.ask(turn, place),
            Next::Wait => self.stand_in_line(),
            Next::Nobody if self.line.is_empty() => {
                self.end(Fault::new(Kind::NotFound, format!("{} has no target", self.id)))
            }
            Next::Nobody => self.end(self.line.resting()),
        }
    }

    fn stand_in_line(&mut self) -> Phase {
        self.is_out = false;
        self.ready.push_back(Ok(Delta::Queued));
        Phase::InLine
    }

    async fn wait_in_line(&mut self) -> Phase {
        match self.line.wait().await {
            Some((turn, place)) => self.ask(turn, place),
            None => self.end(self.line.resting()),
        }
    }

    fn ask(&mut self, turn: Turn, place: Place) -> Phase {
        let attempts_max = if turn.last { self.limits.attempts_max } else { 1 };
        let total = self.limits.total.saturating_sub(self.spent);
        let limits = Limits { attempts_max, total, ..self.limits };
        self.started_at = None;
        let speaking = (self.voice)(&turn.target, limits, place, self.ask.clone());
        Phase::Holding { turn, speaking, held: vec![] }
    }

    fn hold(
        &mut self,
        mut turn: Turn,
        speaking: Speaking,
        mut held: Vec<Delta>,
        delta: Delta,
    ) -> Phase {
        match delta {
            Delta::Queued => {
                self.is_out = false;
                self.ready.push_back(Ok(delta));
            }
            Delta::Started => {
                self.started_at = Some(Instant::now());
                // A second target that has no line goes on where the first one stopped.
                if !mem::replace(&mut self.is_out, true) {
                    self.ready.push_back(Ok(delta));
                }
            }
            Delta::Retrying(retry) => {
                self.failed += 1;
                turn.trial.stumbled(&Fault::new(retry.kind, &retry.message));
                let retry = Retry { attempt: self.failed, ..retry };
                self.ready.push_back(Ok(Delta::Retrying(retry)));
            }
            Delta::Usage(_) | Delta::Ignored(_) => held.push(delta),
            Delta::Text(_)
            | Delta::Reasoning(_)
            | Delta::ToolCall(_)
            | Delta::Calling(_)
            | Delta::Called(_)
            | Delta::Stop(_) => {
                turn.trial.answered();
                // The first word comes once, so nothing is there yet.
                let _ = self.answered.set(turn.target.clone());
                self.ready.extend(held.into_iter().chain([delta]).map(Ok));
                return Phase::Flowing { turn, speaking };
            }
        }
        Phase::Holding { turn, speaking, held }
    }

    /// The next target at once, a wait where none has a place, or the end. The failed target's
    /// stream is already dropped, and its place with it.
    fn fall_back(&mut self, mut turn: Turn, mut fault: Fault) -> Phase {
        turn.trial.failed(&fault);
        self.failed += 1;
        self.spent += self.started_at.take().map_or(Duration::ZERO, |at| at.elapsed());
        if !self.line.is_single() {
            fault.message = format!("{}: {}", turn.target.id(), fault.message);
        }
        let may_go_on = rule(&fault).falls_back && self.spent < self.limits.total;
        match if may_go_on { self.line.next() } else { Next::Nobody } {
            Next::Nobody => {
                // Nobody answered, so nothing is there yet.
                let _ = self.answered.set(turn.target);
                self.end(fault)
            }
            Next::Turn(next, place) => {
                self.tell(&fault, &format!("{} is asked", next.target.id()));
                self.ask(next, place)
            }
            Next::Wait => {
                self.tell(&fault, "the next one that has a place is asked");
                self.stand_in_line()
            }
        }
    }

    /// Why it goes on elsewhere.
    fn tell(&mut self, fault: &Fault, next: &str) {
        self.ready.push_back(Ok(Delta::Retrying(Retry {
            attempt: self.failed,
            wait_ms: 0,
            kind: fault.kind,
            message: format!("{}; {next}", fault.message),
        })));
    }

    fn end(&mut self, fault: Fault) -> Phase {
        self.ready.push_back(Err(fault));
        Phase::Over
    }
}
