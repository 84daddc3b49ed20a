//! The part of a run that has already happened, read back from its log: what must not be asked or
//! told again.

use crate::event::{Event, Note, Outcome, Speech, Turn, What};
use althing_chat::Called;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A turn's place in the method's own course: the same in every replay, whatever its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    pub phase: u32,
    pub seat: usize,
    pub nth: u32,
}

impl From<&Turn> for Place {
    fn from(turn: &Turn) -> Place {
        Place { phase: turn.phase, seat: turn.seat, nth: turn.nth }
    }
}

/// What a log says of a run that stopped.
#[derive(Debug, Default)]
pub struct Past {
    turns: HashMap<Place, (Turn, Outcome)>,
    /// Calls made for turns that will be asked again.
    calls: HashMap<Place, Vec<Called>>,
    pub(crate) phases_started: HashSet<u32>,
    pub(crate) phases_ended: HashSet<u32>,
    pub(crate) pauses_ended: HashSet<u32>,
    /// Turns in flight when the run stopped, by number.
    pub(crate) open: BTreeMap<u32, Turn>,
    pub(crate) turn_next: u32,
    pub(crate) is_empty: bool,
}

impl Past {
    /// A run that has not begun.
    pub fn none() -> Past {
        Past { is_empty: true, ..Past::default() }
    }

    /// Reads a run's events. With `retry_failed`, turns that failed count as not yet asked.
    pub fn read(events: &[Event], retry_failed: bool) -> Past {
        let mut past = Past { is_empty: events.is_empty(), ..Past::default() };
        for event in events {
            past.take(&event.what, retry_failed);
        }
        past
    }

    /// How many turns will not be asked again.
    pub fn kept(&self) -> u32 {
        self.turns.len() as u32
    }

    /// How the turn at `place` ended. A turn of another kind does not count: where failed turns are
    /// asked again, the roles after them may fall to other seats.
    pub(crate) fn outcome(
        &self,
        place: Place,
        speech: Speech,
        role: Option<&str>,
    ) -> Option<&Outcome> {
        let (turn, outcome) = self.turns.get(&place)?;
        (turn.speech == speech && turn.role.as_deref() == role).then_some(outcome)
    }

    /// Calls that were made for the turn at `place`, which is asked again: these are not made again.
    pub(crate) fn calls(&self, place: Place) -> &[Called] {
        self.calls.get(&place).map(Vec::as_slice).unwrap_or_default()
    }

    fn take(&mut self, what: &What, retry_failed: bool) {
        match what {
            What::PhaseStarted { phase, .. } => drop(self.phases_started.insert(*phase)),
            What::PhaseEnded { phase, .. } => drop(self.phases_ended.insert(*phase)),
            What::PauseEnded { phase, .. } => drop(self.pauses_ended.insert(*phase)),
            What::TurnStarted(turn) => {
                self.turn_next = self.turn_next.max(turn.turn + 1);
                self.open.insert(turn.turn, turn.clone());
            }
            What::TurnInterrupted { turn } => drop(self.open.remove(turn)),
            What::TurnEnded { by, outcome } => {
                self.open.remove(&by.turn);
                if retry_failed && matches!(outcome, Outcome::Failed(_)) {
                    self.turns.remove(&Place::from(by));
                } else {
                    self.calls.remove(&Place::from(by));
                    self.turns.insert(Place::from(by), (by.clone(), outcome.clone()));
                }
            }
            // One that was kept is known from when it was made.
            What::TurnNoted { turn, note: Note::Called(called) } if !called.kept => {
                if let Some(turn) = self.open.get(turn) {
                    self.calls.entry(Place::from(turn)).or_default().push(called.clone());
                }
            }
            What::RunStarted(_)
            | What::RunResumed { .. }
            | What::PauseStarted { .. }
            | What::TurnNoted { .. }
            | What::TurnDelta { .. }
            | What::RunEnded { .. } => {}
        }
    }
}
