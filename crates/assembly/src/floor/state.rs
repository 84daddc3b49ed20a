//! The numbers of a run: turns, standing of each seat, tokens and money.

use super::budget::Budgets;
use crate::event::{Failure, Outcome, Totals};
use crate::past::Place;
use althing_stdx::{Fault, text};
use std::collections::HashMap;

/// A seat that loses this many turns in a row is not asked again.
const MISSES_MAX: u32 = 2;
/// Characters of a failure shown in a list of failures.
const WHY_CHARS_MAX: usize = 160;

#[derive(Debug, Clone, Default)]
struct Standing {
    misses: u32,
    is_out: bool,
    last: Option<Failure>,
}

#[derive(Debug)]
pub(super) struct State {
    pub phase: u32,
    pub messages: u32,
    pub totals: Totals,
    /// Dollars set aside for calls in flight.
    pub reserved: f64,
    /// Why some of a phase were not asked: nothing more is, but the conclusion.
    pub shortage: Option<Fault>,
    /// Why the talk broke off before its end.
    pub broken_off: Option<String>,
    /// Marks of all fences so far.
    pub marks: Vec<String>,
    pub budgets: Budgets,
    turn_next: u32,
    /// Turns that ended in this sitting.
    ended: u64,
    nth: HashMap<(u32, usize), u32>,
    standing: Vec<Standing>,
}

impl State {
    pub fn new(seats: usize, turn_next: u32) -> State {
        State {
            phase: 0,
            messages: 0,
            totals: Totals::default(),
            reserved: 0.0,
            shortage: None,
            broken_off: None,
            marks: vec![],
            budgets: Budgets::default(),
            turn_next,
            ended: 0,
            nth: HashMap::new(),
            standing: vec![Standing::default(); seats],
        }
    }

    pub fn is_in(&self, seat: usize) -> bool {
        self.standing.get(seat).is_some_and(|standing| !standing.is_out)
    }

    pub fn is_living(&self, seat: usize) -> bool {
        self.standing.get(seat).is_some_and(|standing| standing.misses == 0 && !standing.is_out)
    }

    pub fn last_failure(&self, seat: usize) -> Option<Failure> {
        self.standing.get(seat)?.last.clone()
    }

    pub fn why_lost(&self, seat: usize) -> Option<String> {
        let failure = self.standing.get(seat)?.last.as_ref()?;
        Some(text::one_line(&failure.message, WHY_CHARS_MAX))
    }

    /// The next turn of `seat` in this phase.
    pub fn next_place(&mut self, seat: usize) -> Place {
        let count = self.nth.entry((self.phase, seat)).or_default();
        *count += 1;
        Place { phase: self.phase, seat, nth: *count - 1 }
    }

    /// The same without taking it.
    pub fn peek_place(&self, seat: usize) -> Place {
        let nth = self.nth.get(&(self.phase, seat)).copied().unwrap_or_default();
        Place { phase: self.phase, seat, nth }
    }

    /// Counts the end of a turn, from 0.
    pub fn next_end(&mut self) -> u64 {
        self.ended += 1;
        self.ended - 1
    }

    pub fn next_turn(&mut self) -> u32 {
        self.turn_next += 1;
        self.turn_next - 1
    }

    pub fn settle(&mut self, seat: usize, outcome: &Outcome) {
        self.totals.add(outcome);
        let Some(standing) = self.standing.get_mut(seat) else { return };
        match outcome {
            Outcome::Said(_) => {
                *standing = Standing::default();
                self.messages += 1;
            }
            Outcome::Failed(failure) => {
                standing.misses += 1;
                standing.is_out = failure.kind.is_permanent() || standing.misses >= MISSES_MAX;
                standing.last = Some(failure.clone());
            }
        }
    }
}

impl From<&Fault> for Failure {
    fn from(fault: &Fault) -> Failure {
        let retry_after_ms = fault.retry_after.map(|wait| wait.as_millis() as u64);
        Failure {
            kind: fault.kind,
            message: fault.message.clone(),
            retry_after_ms,
            cost_usd: None,
            usage: None,
            answered: false,
        }
    }
}
