//! The way to a conclusion: after a whole talk, or one that broke off for want of speakers or money.

use super::{Cue, Floor, Seat};
use crate::event::{CONCLUDED_EARLY, Parts, Quoted, Speech, Synthesis};
use crate::prompt::Prompt;
use althing_stdx::{Fault, Kind, Result};

/// Words of a conclusion, all its sections together.
pub(crate) const SYNTHESIS_WORDS: u64 = 500;

impl Floor {
    /// Opens the last phase, however the `talk` before it ended: where too few are left, or no money
    /// for more, whoever is left concludes with what was said.
    pub async fn conclude(&self, talk: Result<()>) -> Result<()> {
        let shortage = talk.err().or_else(|| self.state().shortage.take());
        if let Some(fault) = shortage {
            if !self.may_conclude(&fault) {
                return Err(fault);
            }
            let mut state = self.state();
            state.shortage = None;
            state.broken_off = Some(fault.message);
        }
        let last = self.method.phases.len() as u32;
        let is_open = self.state().phase == last;
        if is_open { Ok(()) } else { self.phase(last).await }
    }

    /// Whether a talk that ended with `fault` can still be concluded: somebody is left, and where
    /// only the money is used up, something was said for it.
    pub(super) fn may_conclude(&self, fault: &Fault) -> bool {
        match fault.kind {
            Kind::TooFew => self.quorum(1).is_ok(),
            Kind::CostLimit => self.opening.concludes_at_limit && self.state().messages > 0,
            _ => false,
        }
    }

    /// Whether the talk broke off before its end.
    pub fn is_broken_off(&self) -> bool {
        self.state().broken_off.is_some()
    }

    pub(super) fn check_shortage(&self) -> Result<()> {
        self.state().shortage.clone().map_or(Ok(()), Err)
    }

    /// Lets the first living seat of the synthesis order conclude; where it fails, the next.
    pub async fn synthesise(
        &self,
        prompt: impl Fn(&Seat) -> Prompt,
        parse: impl Fn(&str) -> Synthesis + Clone + Send + Sync + 'static,
        debated: impl Fn(&Seat) -> bool,
    ) -> Result<()> {
        self.synthesise_first_by(None, prompt, parse, debated).await
    }

    /// Does the same with the seat `first`, where there is one, at the head of the order.
    pub async fn synthesise_first_by(
        &self,
        first: Option<&Seat>,
        prompt: impl Fn(&Seat) -> Prompt,
        parse: impl Fn(&str) -> Synthesis + Clone + Send + Sync + 'static,
        debated: impl Fn(&Seat) -> bool,
    ) -> Result<()> {
        let first = first.map(|seat| seat.index);
        let others = self.opening.synthesizers.iter().copied().filter(|seat| Some(*seat) != first);
        let order = first.into_iter().chain(others).filter_map(|seat| self.seats.get(seat));
        let (living, rest): (Vec<&Seat>, Vec<&Seat>) = order.partition(|seat| self.is_living(seat));
        let broken_off = self.state().broken_off.clone();
        let broken_off = broken_off.map(|text| Quoted { name: CONCLUDED_EARLY.into(), text });
        for seat in living.into_iter().chain(rest).filter(|seat| self.is_in(seat)) {
            let (parse, debated, messages) = (parse.clone(), debated(seat), self.state().messages);
            let broken_off = broken_off.clone();
            let parse = Box::new(move |text: &str| {
                let mut read = Synthesis { messages, debated, ..parse(text) };
                read.more.extend(broken_off.clone());
                Parts::Synthesis(Box::new(read))
            });
            let cue = Cue {
                speech: Speech::Synthesis,
                role: None,
                round: None,
                words: Some(SYNTHESIS_WORDS),
                is_form: false,
                prompt: prompt(seat),
                parse,
            };
            // Not `say`: one voice is enough to conclude.
            if self.turn(seat, cue, false).await?.is_some() {
                return Ok(());
            }
        }
        Err(self.too_few("no model could write the synthesis"))
    }
}
