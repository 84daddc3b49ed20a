//! What fits into a call: the room for the answer, the cut of what was said, and what is learned of
//! each model on the way.

use super::{Cue, Floor, Seat};
use crate::event::{Fitted, Opening};
use crate::fit::{Cut, fit};
use crate::methods::{Method, opening_prompt};
use crate::tokens::TokenEstimate;
use crate::transcript::LeftOut;
use althing_chat::{Ask, Conversation, WindowSource};
use althing_stdx::{Fault, Kind, Result};
use std::collections::HashMap;

/// Tokens of an answer for each word that was asked for: words have one to two, and a speaker who
/// goes over by half is not cut off.
const TOKENS_PER_WORD: u64 = 3;
/// Tokens on top, so that a short answer has room for its labels.
const TOKENS_EXTRA: u64 = 96;
/// An answer gets at most this share of a window.
const ANSWER_SHARE: u64 = 4;
/// Tokens of an answer whose length nobody asked for, in a window that is large enough.
const ANSWER_TOKENS_MAX: u64 = 16_384;
/// Tokens of thinking aloud before an answer.
const REASONING_TOKENS_MAX: u64 = 16_384;
/// A model that thinks gets this share of its window for it.
const REASONING_SHARE: u64 = 4;
/// Up to here a window is that of a model whose answers may fill it.
const SMALL_WINDOW: u64 = 16_384;
/// Tokens of the longest task and form, for the check before a run.
const TASK_TOKENS: u64 = 420;
/// A provider that says that a prompt is too long gets one of this share.
const REFIT_PERCENT: u64 = 70;

/// How much a turn may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ceiling {
    /// Tokens of what is seen.
    pub visible: u64,
    /// Tokens of thinking aloud.
    pub reasoning: u64,
    /// Whether the answer is a form: it may be long and say the same often, and half of it is none.
    pub is_form: bool,
}

/// A request that fits, and what it took.
pub(super) struct Fit {
    pub ask: Ask,
    /// The guess for the whole prompt before anything was learned.
    pub weight: f64,
    pub ceiling: Ceiling,
    /// The cut, where this prompt is the first to have it.
    pub fitted: Option<Fitted>,
}

/// What is known of the models at the table.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    estimates: HashMap<String, TokenEstimate>,
    /// Whether a model that has answered thinks aloud.
    thinks: HashMap<String, bool>,
    /// Windows that turned out to be smaller than was said.
    windows: HashMap<String, u64>,
    pub cuts: HashMap<(String, String), Cut>,
}

impl Budgets {
    pub fn learn(&mut self, model: &str, weight: f64, input: Option<u64>, thinks: bool) {
        if let Some(input) = input {
            self.estimates.entry(model.to_string()).or_default().learn(weight, input);
        }
        *self.thinks.entry(model.to_string()).or_default() |= thinks;
    }

    /// Takes note that a prompt of `weight`, with room for so long an answer, was too long: for the
    /// limit that the provider named, or a smaller one than was thought. Where the prompt seems to
    /// fit even so, our guess of its tokens is too low, and the window is made smaller in our own
    /// measure.
    pub fn shrink(&mut self, seat: &Seat, weight: f64, answer: u64, named: Option<u64>) {
        let (guess, before) = (self.tokens(seat, weight), self.window(seat));
        let window = named.map_or(before, |named| named.min(before));
        let is_learned = guess + answer > window && window < before;
        let window = if is_learned { window } else { window.min(guess) * REFIT_PERCENT / 100 };
        self.windows.insert(seat.model.id().to_string(), window);
    }

    fn tokens(&self, seat: &Seat, weight: f64) -> u64 {
        match self.estimates.get(seat.model.id()) {
            Some(estimate) => estimate.tokens(weight),
            None => TokenEstimate::default().tokens(weight),
        }
    }

    fn window(&self, seat: &Seat) -> u64 {
        let known = self.windows.get(seat.model.id()).copied();
        known.map_or(seat.window.tokens, |known| known.min(seat.window.tokens))
    }

    fn ceiling(&self, seat: &Seat, words: Option<u64>, is_form: bool) -> Ceiling {
        let window = self.window(seat);
        let most = if is_form { u64::MAX } else { ANSWER_TOKENS_MAX };
        let asked = words.map_or(most, |it| it * TOKENS_PER_WORD + TOKENS_EXTRA);
        let share = if words.is_some() { ANSWER_SHARE } else { ANSWER_SHARE / 2 };
        let reasoning = match self.thinks.get(seat.model.id()) {
            Some(false) => 0,
            _ => REASONING_TOKENS_MAX,
        };
        Ceiling { visible: asked.min(window / share).max(1), reasoning, is_form }
    }

    /// Tokens that a prompt may have.
    fn prompt_max(&self, seat: &Seat, ceiling: Ceiling) -> u64 {
        let window = self.window(seat);
        let thinks = self.thinks.get(seat.model.id()).copied().unwrap_or(false);
        let thinking = if thinks { window / REASONING_SHARE } else { 0 };
        window.saturating_sub(ceiling.visible + thinking)
    }

    /// Fits `cue` into the window of `seat`.
    pub fn fit(&mut self, floor: &Floor, seat: &Seat, cue: &Cue) -> Result<Fit> {
        let ceiling = self.ceiling(seat, cue.words, cue.is_form);
        let most = self.prompt_max(seat, ceiling);
        let said = cue.prompt.quoted();
        let key = (seat.model.id().to_string(), said.name.to_string());
        let before = self.cuts.get(&key).copied().unwrap_or_default();
        let tokens = |cut: &Cut| self.tokens(seat, cue.prompt.weight(cut));
        let Some(cut) = fit(&said, before, most, tokens) else {
            let newest = Cut { dropped: said.len(), ..Cut::default() };
            let need = tokens(&newest) + ceiling.visible;
            let is_shrunk = self.windows.contains_key(seat.model.id());
            return Err(too_small(seat, need, self.window(seat), is_shrunk));
        };
        let left = said.left_out(&cut);
        let fitted = (cut != before).then(|| self.note(seat, said.name, cut, left));
        self.cuts.insert(key, cut);
        let weight = cue.prompt.weight(&cut);
        let room = self.window(seat).saturating_sub(self.tokens(seat, weight));
        let max_tokens = self.limit(seat, ceiling, room, cue.words.is_some());
        let ask = Ask {
            tools: floor.opening.tools.clone(),
            stream: floor.opening.stream,
            max_tokens: max_tokens.and_then(|tokens| u32::try_from(tokens).ok()),
            conversation: Some(Conversation {
                run: floor.opening.mark.clone(),
                seat: seat.index as u32,
            }),
            context_tokens: Some(self.window(seat)),
            ..cue.prompt.ask(&cut)
        };
        Ok(Fit { ask, weight, ceiling, fitted })
    }

    /// The limit that the provider is told, where the prompt leaves `room`. Providers refuse a limit
    /// above their own, so a large model is told one only where a length was asked for and nobody
    /// has to guess how long it thinks before.
    fn limit(
        &self,
        seat: &Seat,
        ceiling: Ceiling,
        room: u64,
        is_length_asked: bool,
    ) -> Option<u64> {
        let is_known = self.thinks.contains_key(seat.model.id());
        let is_told = self.window(seat) <= SMALL_WINDOW || (is_known && is_length_asked);
        let all = (ceiling.visible + ceiling.reasoning).min(room.max(ceiling.visible));
        is_told.then_some(all)
    }

    fn note(&self, seat: &Seat, transcript: &str, cut: Cut, left: LeftOut) -> Fitted {
        Fitted {
            model: seat.model.id().to_string(),
            transcript: transcript.to_string(),
            cut,
            dropped: left.speeches,
            shortened: left.shortened,
            words: left.words,
            window: self.window(seat),
        }
    }
}

fn too_small(seat: &Seat, need: u64, window: u64, is_shrunk: bool) -> Fault {
    let source = match seat.window.source {
        _ if is_shrunk => "since its provider found a prompt too long",
        WindowSource::Configured => "context_tokens",
        WindowSource::Provider => "as the provider says",
        WindowSource::Table => "as our table has it",
        WindowSource::Default => "a default, since nobody says how large it is",
    };
    Fault::new(
        Kind::ContextTooLong,
        format!(
            "{} needs {need} tokens for the question, what came with it and an answer, and its \
             window has {window} ({source}); shorten the question, give fewer files, or set \
             context_tokens where the model can hold more",
            seat.name
        ),
    )
}

/// Fails where a seat cannot hold the question, the files and an answer, whatever is left out of the
/// discussion. To be asked before the first call.
pub fn check_windows(opening: &Opening, method: &Method, seats: &[Seat]) -> Result<()> {
    let (budgets, fixed) = (Budgets::default(), opening_prompt(opening));
    let task = if method.seats_min > 1 { TASK_TOKENS } else { 0 };
    for seat in seats {
        let ceiling = budgets.ceiling(seat, Some(0), false);
        let prompt = budgets.tokens(seat, fixed.weight(&Cut::default()));
        let need = prompt + task + ceiling.visible;
        if need > seat.window.tokens {
            return Err(too_small(seat, need, seat.window.tokens, false));
        }
    }
    Ok(())
}
