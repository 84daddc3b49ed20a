//! The part of a run that has already happened, read back from its log: what must not be asked or
//! told again.

use crate::event::{Checked, Event, Fitted, Note, Outcome, Sealed, Speech, Turn, What};
use crate::fit::Cut;
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
    /// Numbers of ended turns in the order in which they ended.
    ended: Vec<u32>,
    /// Turns whose answer was checked.
    pub(crate) checked: HashSet<u32>,
    pub(crate) sealed: Option<Sealed>,
    pub(crate) is_judged: bool,
    pub(crate) is_settled: bool,
    /// What prompts were fitted to, each with its turn, in order.
    fitted: Vec<(u32, Fitted)>,
    /// Turns for which functions were called, and those that thought aloud.
    called: HashSet<u32>,
    thought: HashSet<u32>,
    /// Codes and messages.
    pub(crate) warned: HashSet<(String, String)>,
    is_council: bool,
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

    /// The turn at `place`.
    pub(crate) fn turn(&self, place: Place) -> Option<&Turn> {
        self.turns.get(&place).map(|(turn, _)| turn)
    }

    /// How many turns ended before `turn` did; all of them for one that is not stored.
    pub(crate) fn rank(&self, turn: u32) -> u64 {
        self.ended.iter().position(|it| *it == turn).unwrap_or(self.ended.len()) as u64
    }

    /// Returns what prompts of each group of seats leave out of each transcript.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = ((usize, String), Cut)> {
        let last = |(_, it): &(u32, Fitted)| ((it.seat, it.transcript.clone()), it.cut.lasting());
        self.fitted.iter().map(last)
    }

    /// Returns the window of each group of seats to which prompts were fitted last.
    pub(crate) fn windows(&self) -> impl Iterator<Item = (usize, u64)> {
        self.fitted.iter().map(|(_, it)| (it.seat, it.window))
    }

    /// Returns what the prompt of a stored turn left out.
    pub(crate) fn cut_at(&self, turn: u32, seat: usize, transcript: &str) -> Cut {
        let is_same = |it: &Fitted| it.seat == seat && it.transcript == transcript;
        let mut before = self.fitted.iter().rev().filter(|(at, it)| *at <= turn && is_same(it));
        match before.next() {
            Some((at, it)) if *at == turn => it.cut,
            Some((_, it)) => it.cut.lasting(),
            None => Cut::default(),
        }
    }

    /// Whether functions were called for a stored turn.
    pub(crate) fn has_called(&self, turn: u32) -> bool {
        self.called.contains(&turn)
    }

    /// Whether a stored turn thought aloud.
    pub(crate) fn has_thought(&self, turn: u32) -> bool {
        self.thought.contains(&turn)
    }

    /// What `seat` said in `phase`, in order, with the numbers of the turns.
    pub(crate) fn said(&self, phase: u32, seat: usize) -> Vec<(u32, &str)> {
        let stored = (0..).map_while(|nth| self.turns.get(&Place { phase, seat, nth }));
        let said = stored.filter_map(|(turn, outcome)| match outcome {
            Outcome::Said(said) => Some((turn.turn, said.text.as_str())),
            Outcome::Failed(_) => None,
        });
        said.collect()
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
                self.ended.push(by.turn);
                if retry_failed && !self.is_council && matches!(outcome, Outcome::Failed(_)) {
                    self.turns.remove(&Place::from(by));
                } else {
                    self.calls.remove(&Place::from(by));
                    self.turns.insert(Place::from(by), (by.clone(), outcome.clone()));
                }
            }
            What::RunStarted(opening) => self.is_council = opening.council.is_some(),
            What::AnswerChecked(checked) => self.check(checked, retry_failed),
            What::LabelsSealed(sealed) => self.sealed = Some(Sealed::clone(sealed)),
            What::PlansJudged(_) => self.is_judged = true,
            What::PlanSettled(_) => self.is_settled = true,
            What::Warned { code, message } => {
                self.warned.insert((code.clone(), message.clone()));
            }
            What::TurnNoted { turn, note: Note::Fitted(fitted) } => {
                self.fitted.push((*turn, Fitted::clone(fitted)));
            }
            What::TurnNoted { turn, note: Note::Called(called) } => {
                self.called.insert(*turn);
                // One that was kept is known from when it was made.
                if let Some(turn) = self.open.get(turn).filter(|_| !called.kept) {
                    self.calls.entry(Place::from(turn)).or_default().push(called.clone());
                }
            }
            What::TurnDelta { turn, reasoning: true, .. } => drop(self.thought.insert(*turn)),
            What::RunResumed { .. }
            | What::PauseStarted { .. }
            | What::TurnNoted { .. }
            | What::TurnDelta { .. }
            | What::RunEnded { .. } => {}
        }
    }

    /// In a council it is not one turn that fails but a seat: after all its attempts.
    fn check(&mut self, checked: &Checked, retry_failed: bool) {
        self.checked.insert(checked.turn);
        if retry_failed && !checked.valid && checked.again.is_none() {
            self.turns.retain(|place, _| place.seat != checked.seat);
        }
    }
}
