//! The floor: who may speak, one turn at a time or all at once. It records every turn, forgives a
//! failed one, and hands back turns that a stopped run had already finished.

mod budget;
mod conclusion;
mod listen;
mod money;
mod state;
#[cfg(test)]
mod tests;

use crate::event::{CutOff, Failure, Note, Opening, Outcome, Parts, Said, Speech, Turn, What};
use crate::fence;
use crate::methods::Method;
use crate::past::{Past, Place};
use crate::prompt::Prompt;
use crate::transcript::Quote;
use althing_chat::{Ask, Model, Usage, Window};
use althing_stdx::{Fault, Kind, Result};
use budget::Budgets;
pub use budget::check_windows;
pub(crate) use conclusion::SYNTHESIS_WORDS;
use futures_util::future::{BoxFuture, join_all};
use state::State;
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::sync::Notify;

/// Where events go. `append` returns when the event is as safe as it has to be: the end of a turn
/// is on disk before the next call starts, a delta may still be on its way.
pub trait Log: Send + Sync {
    fn append(&self, what: What) -> BoxFuture<'_, Result<()>>;
}

/// One place at the table.
pub struct Seat {
    pub index: usize,
    pub name: String,
    pub stance: Option<String>,
    pub model: Arc<dyn Model>,
    /// Dollars for what a call used; none where the price is unknown.
    pub price: Option<Price>,
    /// What one call may hold, prompt and answer together.
    pub window: Window,
}

/// Dollars of a call with this usage.
pub type Price = Arc<dyn Fn(&Usage) -> f64 + Send + Sync>;

/// Limits of a turn.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// A turn that takes longer is cut off. Time spent waiting in line does not count.
    pub turn_max: Duration,
    /// The person's setting behind it, as messages name it.
    pub setting: &'static str,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { turn_max: Duration::from_secs(600), setting: "turn_seconds_max" }
    }
}

/// What a seat is asked to do.
pub struct Cue {
    pub speech: Speech,
    pub role: Option<&'static str>,
    pub round: Option<&'static str>,
    /// Words that the prompt asks for; none: as many as the model likes.
    pub words: Option<u64>,
    /// Whether the answer is a form that may say the same often, such as a plan.
    pub is_form: bool,
    pub prompt: Prompt,
    /// Takes the labelled parts out of the answer.
    pub parse: Box<dyn Fn(&str) -> Parts + Send + Sync>,
}

impl Cue {
    /// A message of at most so many words, without labels.
    pub fn message(role: Option<&'static str>, words: u64, prompt: Prompt) -> Cue {
        Cue {
            speech: Speech::Message,
            role,
            round: None,
            words: Some(words),
            is_form: false,
            prompt,
            parse: Box::new(|_| Parts::Plain),
        }
    }
}

/// What a seat said.
#[derive(Debug, Clone, PartialEq)]
pub struct Spoken {
    pub seat: usize,
    pub model: String,
    pub name: String,
    pub role: Option<&'static str>,
    pub text: String,
    pub parts: Parts,
    pub cut: Option<CutOff>,
    /// The mark of its fence.
    pub mark: String,
}

/// A turn that is over.
pub(crate) struct Attempt {
    /// Its number.
    pub turn: u32,
    /// Which to end it was, in the whole run: the log's own order.
    pub rank: u64,
    pub outcome: Outcome,
}

/// The table of one run.
pub struct Floor {
    pub opening: Opening,
    pub(crate) method: &'static Method,
    seats: Vec<Seat>,
    log: Arc<dyn Log>,
    past: Past,
    rules: Rules,
    resume: Arc<Notify>,
    state: Mutex<State>,
}

impl Floor {
    /// A table for `opening`. `resume` ends a pause; one that comes early ends the next pause.
    pub fn new(
        opening: Opening,
        method: &'static Method,
        seats: Vec<Seat>,
        log: Arc<dyn Log>,
        past: Past,
        rules: Rules,
        resume: Arc<Notify>,
    ) -> Floor {
        let mut opening = opening;
        if opening.mark.is_empty() {
            opening.mark = fence::draw_mark(opening.texts());
        }
        let mut state = State::new(seats.len(), past.turn_next);
        state.marks.push(opening.mark.clone());
        state.budgets = Budgets::new(&opening, &seats, &past);
        Floor { opening, method, seats, log, past, rules, resume, state: Mutex::new(state) }
    }

    /// Quotes `text`, which is what was said or a part of it, under `name`.
    pub fn quote(&self, spoken: &Spoken, name: impl Into<String>, text: &str) -> Quote {
        let mut name = name.into();
        if let Some(cut) = spoken.cut {
            name = format!("{name}, {}", cut.in_words());
        }
        let text = fence::without_marks(text, &self.state().marks);
        Quote { name, text, mark: spoken.mark.clone() }
    }

    pub fn question(&self) -> &str {
        &self.opening.question
    }

    /// All seats, the silent ones too.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// Seats in the role `name`, in their order; the method's own roles where nobody chose any.
    pub fn role(&self, name: &str) -> Vec<&Seat> {
        let default = self.method.default_roles(self.seats.len());
        let roles = if self.opening.roles.is_empty() { &default } else { &self.opening.roles };
        let seats = roles.get(name).map(Vec::as_slice).unwrap_or_default();
        seats.iter().filter_map(|seat| self.seats.get(*seat)).collect()
    }

    /// Whether a seat is still asked: not out for good.
    pub fn is_in(&self, seat: &Seat) -> bool {
        self.state().is_in(seat.index)
    }

    /// Whether a seat spoke when last asked, or has not been asked yet.
    pub fn is_living(&self, seat: &Seat) -> bool {
        self.state().is_living(seat.index)
    }

    /// Seats that are still asked.
    pub fn present(&self) -> Vec<&Seat> {
        self.seats.iter().filter(|seat| self.is_in(seat)).collect()
    }

    /// Why a seat lost its last turn.
    pub fn why_lost(&self, seat: &Seat) -> Option<Failure> {
        self.state().last_failure(seat.index)
    }

    /// Ends the phase before, waits where the person wants to, and opens the phase `number`.
    pub async fn phase(&self, number: u32) -> Result<()> {
        self.check_shortage()?;
        let before = self.state().phase;
        if before > 0 {
            self.quorum(self.needed(number))?;
            self.end_phase(before, number).await?;
            self.pause(number).await?;
        }
        self.state().phase = number;
        if self.past.phases_started.contains(&number) {
            return Ok(());
        }
        let participants = self.present().iter().map(|seat| seat.name.clone()).collect();
        let (total, name) = (self.method.phases.len() as u32, self.phase_name(number));
        self.append(What::PhaseStarted { phase: number, total, name, participants }).await
    }

    /// Seats that phase `number` needs: the last one only concludes, and one voice can do that.
    fn needed(&self, number: u32) -> usize {
        let is_last = number as usize == self.method.phases.len();
        if is_last { 1 } else { self.method.seats_min }
    }

    /// Fails where fewer than `needed` seats are still asked, or where none of them spoke when it
    /// was last asked: then there is nothing to go on with.
    pub fn quorum(&self, needed: usize) -> Result<()> {
        let is_silent = !self.seats.iter().any(|seat| self.is_living(seat));
        let left = if is_silent { 0 } else { self.present().len() };
        if left >= needed {
            return Ok(());
        }
        let models = if needed == 1 { "model" } else { "models" };
        let are = if left == 1 { "is" } else { "are" };
        let name = self.method.name;
        Err(self.too_few(format!("{name} needs {needed} living {models} and {left} {are} left")))
    }

    /// The end of a run for want of speakers, with what happened to each of them.
    pub fn too_few(&self, what: impl std::fmt::Display) -> Fault {
        let state = self.state();
        let lost = self.seats.iter().filter_map(|seat| {
            state.why_lost(seat.index).map(|why| format!("{}: {why}", seat.name))
        });
        let lost = lost.collect::<Vec<String>>().join("; ");
        Fault::new(Kind::TooFew, format!("{what} ({lost})"))
    }

    /// Lets one seat speak. `None`: it lost its turn. An error ends the run.
    pub async fn say(&self, seat: &Seat, cue: Cue) -> Result<Option<Spoken>> {
        self.check_shortage()?;
        let phase = self.state().phase;
        self.quorum(self.needed(phase))?;
        self.turn(seat, cue, false).await
    }

    /// Lets seats speak at the same time; what was said, in the order asked.
    pub async fn all<'a>(
        &self,
        cues: impl IntoIterator<Item = (&'a Seat, Cue)>,
    ) -> Result<Vec<Spoken>> {
        let turns = cues.into_iter().map(|(seat, cue)| self.turn(seat, cue, true));
        // Everyone finishes before an error ends the run: what is paid for is kept.
        let mut spoken = Vec::new();
        for turn in join_all(turns).await {
            match turn {
                Ok(said) => spoken.extend(said),
                Err(fault) if self.may_conclude(&fault) => self.state().shortage = Some(fault),
                Err(fault) => return Err(fault),
            }
        }
        Ok(spoken)
    }

    /// Lets every seat that is still asked speak at the same time.
    pub async fn everyone(&self, cue: impl Fn(&Seat) -> Cue) -> Result<Vec<Spoken>> {
        let cues: Vec<(&Seat, Cue)> =
            self.present().into_iter().map(|seat| (seat, cue(seat))).collect();
        self.all(cues).await
    }

    async fn turn(&self, seat: &Seat, cue: Cue, parallel: bool) -> Result<Option<Spoken>> {
        let Attempt { outcome, .. } = self.attempt(seat, &cue, parallel).await?;
        let Outcome::Said(said) = outcome else { return Ok(None) };
        Ok(Some(Spoken {
            seat: seat.index,
            model: seat.model.id().to_string(),
            name: seat.name.clone(),
            role: cue.role,
            text: said.text,
            parts: said.parts,
            cut: said.cut,
            mark: said.mark,
        }))
    }

    /// Whether the next turn of `seat` has been already, and will not be asked.
    pub(crate) fn is_stored(&self, seat: &Seat, speech: Speech, role: &str) -> bool {
        let place = self.state().peek_place(seat.index);
        self.past.outcome(place, speech, Some(role)).is_some()
    }

    /// One turn and how it ended, for a method that wants to know why one was lost.
    pub(crate) async fn attempt(&self, seat: &Seat, cue: &Cue, parallel: bool) -> Result<Attempt> {
        let place = self.state().next_place(seat.index);
        if let Some(outcome) = self.past.outcome(place, cue.speech, cue.role) {
            let outcome = self.marked(outcome.clone());
            let turn = self.past.turn(place).map_or(0, |turn| turn.turn);
            let mut state = self.state();
            state.settle(seat.index, &outcome);
            state.budgets.learn_again(&self.past, seat, cue, turn, &outcome);
            drop(state);
            return Ok(Attempt { turn, rank: self.past.rank(turn), outcome });
        }
        let by = self.number(seat, place, cue, parallel);
        let outcome = match self.ask(seat, place, cue, &by).await? {
            Err(fault) => Outcome::Failed(Failure::from(&fault)),
            Ok(outcome) => self.marked(outcome),
        };
        self.state().settle(seat.index, &outcome);
        let (turn, rank) = (by.turn, self.past.rank(by.turn) + self.state().next_end());
        self.append(What::TurnEnded { by, outcome: outcome.clone() }).await?;
        Ok(Attempt { turn, rank, outcome })
    }

    /// Asks a seat, once more with less to read where the provider finds the prompt too long, and
    /// with more room where it came to no word. The outer error ends the run; the inner one is a
    /// prompt that cannot be made to fit.
    async fn ask(
        &self,
        seat: &Seat,
        place: Place,
        cue: &Cue,
        by: &Turn,
    ) -> Result<Result<Outcome>> {
        let (mut is_begun, mut wasted, mut refused) = (false, None, None);
        for is_last in [false, true] {
            let fit = self.state().budgets.fit(self, seat, cue, refused);
            let fit = match fit {
                Ok(fit) => fit,
                Err(fault) => {
                    if !is_begun {
                        self.append(What::TurnStarted(by.clone())).await?;
                    }
                    return Ok(Err(fault));
                }
            };
            let ask = Ask { made: self.past.calls(place).to_vec(), ..fit.ask };
            let (asked, is_limited) = (ask.chars(), ask.max_tokens.is_some());
            let mut reserved = match self.reserve(seat, asked, cue.speech) {
                Err(fault) if is_begun && self.is_at_limit(&fault) => return Ok(Err(fault)),
                reserved => reserved?,
            };
            if !is_begun {
                self.append(What::TurnStarted(by.clone())).await?;
                is_begun = true;
            }
            if let Some(fitted) = fit.fitted {
                let note = Note::Fitted(Box::new(fitted));
                self.append(What::TurnNoted { turn: by.turn, note }).await?;
            }
            let heard = listen::listen(self, seat, by, ask, fit.ceiling, &mut reserved).await;
            self.state().reserved -= reserved;
            let mut heard = match heard {
                Err(fault) if self.is_at_limit(&fault) => return Ok(Err(fault)),
                heard => heard?,
            };
            let mut state = self.state();
            // What was called for an answer is not called again for a second try.
            let may_repeat = !is_last && !heard.has_called;
            match &heard.said {
                Err(fault)
                    if fault.kind == Kind::ContextTooLong && heard.chars == 0 && may_repeat =>
                {
                    state.budgets.learn_refusal(seat, fault);
                    refused = Some(fit.weight);
                    continue;
                }
                Err(_) if heard.is_used_up && is_limited && may_repeat => {
                    state.budgets.learn(seat, fit.weight, None, true);
                    wasted = heard.usage;
                    continue;
                }
                Ok(said) if !heard.has_called => {
                    let input = said.usage.and_then(|usage| usage.input);
                    state.budgets.learn(seat, fit.weight, input, heard.thinks);
                }
                _ if heard.thinks => state.budgets.learn(seat, fit.weight, None, true),
                _ => {}
            }
            drop(state);
            heard.add_usage(wasted);
            return Ok(Ok(self.outcome(seat, asked, cue, heard)));
        }
        Ok(Err(Fault::internal("a prompt was fitted twice and not asked")))
    }

    /// Gives a speech the mark of its fence, where it has none yet, and takes note of it.
    fn marked(&self, mut outcome: Outcome) -> Outcome {
        if let Outcome::Said(said) = &mut outcome {
            if said.mark.is_empty() {
                said.mark = fence::draw_mark([said.text.as_str()]);
            }
            self.state().marks.push(said.mark.clone());
        }
        outcome
    }

    fn number(&self, seat: &Seat, place: Place, cue: &Cue, parallel: bool) -> Turn {
        Turn {
            turn: self.state().next_turn(),
            phase: place.phase,
            seat: place.seat,
            nth: place.nth,
            model: seat.model.id().to_string(),
            name: seat.name.clone(),
            speech: cue.speech,
            role: cue.role.map(str::to_string),
            round: cue.round.map(str::to_string),
            parallel,
        }
    }

    /// `asked`: characters of the prompt.
    fn outcome(&self, seat: &Seat, asked: usize, cue: &Cue, heard: listen::Heard) -> Outcome {
        let fault = match heard.said {
            Ok(said) => {
                let said = self.account(seat, asked, heard.chars, said, cue);
                return Outcome::Said(Box::new(said));
            }
            Err(fault) => fault,
        };
        // A call that was refused costs nothing; one that broke off has been paid for so far.
        let answered = heard.chars > 0 || heard.usage.is_some();
        let usage = heard.usage.unwrap_or_else(|| Usage::guess(asked, Some(heard.chars)));
        let priced = || seat.price.as_ref().filter(|_| answered).map(|price| price(&usage));
        let cost_usd = usage.cost_usd().or_else(priced);
        Outcome::Failed(Failure { cost_usd, usage: heard.usage, answered, ..Failure::from(&fault) })
    }

    /// Adds parts and cost to what was said. All `heard` characters are paid for, those too that
    /// are not kept.
    fn account(&self, seat: &Seat, asked: usize, heard: usize, said: Said, cue: &Cue) -> Said {
        let mut said = said;
        said.parts = (cue.parse)(&said.text);
        let usage = said.usage.unwrap_or_else(|| Usage::guess(asked, Some(heard)));
        // Who made the call knows what it cost better than any table.
        let priced = || seat.price.as_ref().map(|price| price(&usage));
        said.cost_usd = usage.cost_usd().or_else(priced);
        said
    }

    async fn end_phase(&self, phase: u32, next: u32) -> Result<()> {
        if self.past.phases_ended.contains(&phase) {
            return Ok(());
        }
        self.append(What::PhaseEnded { phase, next, next_name: self.phase_name(next) }).await
    }

    async fn pause(&self, phase: u32) -> Result<()> {
        let Some(timeout_ms) = self.opening.pause_ms.filter(|ms| *ms > 0) else { return Ok(()) };
        if self.past.pauses_ended.contains(&phase) || self.past.phases_started.contains(&phase) {
            return Ok(());
        }
        self.append(What::PauseStarted { phase, timeout_ms }).await?;
        let wait = Duration::from_millis(timeout_ms);
        let timed_out = tokio::time::timeout(wait, self.resume.notified()).await.is_err();
        self.append(What::PauseEnded { phase, timed_out }).await
    }

    fn phase_name(&self, number: u32) -> String {
        self.method.phases.get(number as usize - 1).copied().unwrap_or_default().to_string()
    }

    pub(crate) fn past(&self) -> &Past {
        &self.past
    }

    pub(crate) async fn append(&self, what: What) -> Result<()> {
        self.log.append(what).await
    }

    /// Tokens and money so far, of the run's earlier sittings too.
    pub fn totals(&self) -> crate::event::Totals {
        self.state().totals
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while holding it would have ended the run; the numbers are still whole.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
