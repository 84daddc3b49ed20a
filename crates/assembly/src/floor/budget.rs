//! What fits into a call: the room for the answer, the cut of what was said, and what is learned of
//! each model on the way.

use super::{Cue, Floor, Seat};
use crate::council;
use crate::event::{Fitted, Opening, Outcome};
use crate::fit::{Cut, count_words, fit};
use crate::methods::{Method, opening_prompt};
use crate::past::Past;
use crate::prompt::Prompt;
use crate::tokens::{TokenEstimate, weight};
use crate::transcript::LeftOut;
use althing_chat::{Ask, Attachment, Conversation, Tool, WindowSource};
use althing_stdx::{Fault, Kind, Result};
use std::collections::HashMap;

/// Tokens of an answer for each word that was asked for: words have one to two, and a speaker who
/// goes over by half is not cut off.
const TOKENS_PER_WORD: u64 = 3;
/// The same at most, for languages of which a word takes many tokens.
const TOKENS_PER_WORD_MAX: u64 = 24;
/// What a word of an answer may take more than one of the question.
const DENSER: f64 = 1.5;
/// Tokens on top, so that a short answer has room for its labels.
const TOKENS_EXTRA: u64 = 96;
/// An answer whose length was asked for gets at most this share of a window.
const ANSWER_SHARE: u64 = 4;
/// Tokens that an answer of any length finds at the least, where that is no larger share.
const ANSWER_TOKENS_MIN: u64 = 1_024;
/// Tokens of an answer whose length nobody asked for, in a window that is large enough.
const ANSWER_TOKENS_MAX: u64 = 16_384;
/// A form finds so many tokens, and in a small window this share of it.
const FORM_TOKENS_MIN: u64 = 4_096;
const FORM_SHARE: u64 = 2;
/// Tokens of thinking aloud before an answer.
const REASONING_TOKENS_MAX: u64 = 16_384;
/// A model that thinks gets this share of its window for it.
const REASONING_SHARE: u64 = 4;
/// Up to here a window is that of a model whose answers may fill it.
const SMALL_WINDOW: u64 = 16_384;
/// Tokens of the longest task and form of a discussion and of its newest speech, shortened to
/// nothing, for the check before a run.
const TASK_TOKENS: u64 = 640;
/// Words of the longest answer that a discussion asks for: its conclusion.
const WORDS_MAX: u64 = super::SYNTHESIS_WORDS;
/// A provider that finds a prompt too long without naming a limit that says so gets one of at most
/// this share.
const REFIT_PERCENT: u64 = 50;
/// What stands beside a prompt, such as a program's own instructions, has at most this share of the
/// window; a report with more counts several calls.
const BESIDE_SHARE: u64 = 4;
/// Tokens of the rule that stands beside functions.
const TOOLS_RULE_TOKENS: f64 = 100.0;

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
    /// The guess for the whole request before anything was learned.
    pub weight: f64,
    pub ceiling: Ceiling,
    /// The cut, where this prompt is the first to have it.
    pub fitted: Option<Fitted>,
}

/// How long an answer is to be.
#[derive(Debug, Clone, Copy)]
enum Length {
    Words(u64),
    Form,
    Any,
}

impl Length {
    fn of(cue: &Cue) -> Length {
        match cue.words {
            _ if cue.is_form => Length::Form,
            Some(words) => Length::Words(words),
            None => Length::Any,
        }
    }
}

/// What is known of the models at the table.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    estimates: HashMap<String, TokenEstimate>,
    /// Whether a model that has answered thinks aloud.
    thinks: HashMap<String, bool>,
    /// By seat: the first one of the same model and window, which reads the same prompts.
    groups: Vec<usize>,
    /// Tokens of the pictures and documents that stand in every prompt. They are added to a guess as
    /// they are: what a model makes of text says nothing about them.
    attachments: u64,
    /// By seat: tokens of the functions that its model is offered.
    tools: Vec<f64>,
    /// Windows that turned out to be smaller than was said, by group.
    windows: HashMap<usize, u64>,
    /// What prompts leave out, by group and transcript.
    cuts: HashMap<(usize, String), Cut>,
    tokens_per_word: u64,
}

impl Budgets {
    /// What is known before the first call, and after the calls of a run that goes on.
    pub fn new(opening: &Opening, seats: &[Seat], past: &Past) -> Budgets {
        let same = |one: &Seat, other: &Seat| {
            one.model.id() == other.model.id() && one.window.tokens == other.window.tokens
        };
        let group = |seat| seats.iter().position(|it| same(it, seat)).unwrap_or_default();
        Budgets {
            groups: seats.iter().map(group).collect(),
            attachments: opening.attachments.iter().map(Attachment::tokens).sum(),
            tools: seats.iter().map(|seat| weight_of_tools(opening, seat)).collect(),
            windows: past.windows().collect(),
            cuts: past.cuts().collect(),
            tokens_per_word: tokens_per_word(&opening.question),
            ..Budgets::default()
        }
    }

    pub fn learn(&mut self, seat: &Seat, weight: f64, input: Option<u64>, thinks: bool) {
        let (model, beside_max) = (seat.model.id(), self.window(seat) / BESIDE_SHARE);
        if let Some(input) = input {
            self.estimates.entry(model.to_string()).or_default().learn(weight, input, beside_max);
        }
        *self.thinks.entry(model.to_string()).or_default() |= thinks;
    }

    /// Learns from a stored turn what it taught when it was held.
    pub fn learn_again(&mut self, past: &Past, seat: &Seat, cue: &Cue, turn: u32, it: &Outcome) {
        let Outcome::Said(said) = it else { return };
        let cut = past.cut_at(turn, self.group(seat), cue.prompt.quoted().name);
        let weight = cue.prompt.weight(&cut) + self.weight_of_tools(seat);
        let input = said.usage.and_then(|usage| usage.input).filter(|_| !past.has_called(turn));
        let is_hidden = said.usage.and_then(|it| it.reasoning).is_some_and(|tokens| tokens > 0);
        self.learn(seat, weight, input, is_hidden || past.has_thought(turn));
    }

    /// Takes note that the provider found a request too long, and of the window that it named.
    pub fn learn_refusal(&mut self, seat: &Seat, fault: &Fault) {
        if let Some(named) = fault.context_tokens.filter(|named| *named < self.window(seat)) {
            self.windows.insert(self.group(seat), named);
        }
    }

    fn tokens(&self, seat: &Seat, weight: f64) -> u64 {
        let text = match self.estimates.get(seat.model.id()) {
            Some(estimate) => estimate.tokens(weight),
            None => TokenEstimate::default().tokens(weight),
        };
        text + self.attachments
    }

    fn group(&self, seat: &Seat) -> usize {
        self.groups.get(seat.index).copied().unwrap_or(seat.index)
    }

    fn weight_of_tools(&self, seat: &Seat) -> f64 {
        self.tools.get(seat.index).copied().unwrap_or_default()
    }

    fn window(&self, seat: &Seat) -> u64 {
        let known = self.windows.get(&self.group(seat)).copied();
        known.map_or(seat.window.tokens, |known| known.min(seat.window.tokens))
    }

    /// The room that an answer finds at the least.
    fn answer_least(&self, seat: &Seat, length: Length) -> u64 {
        let window = self.window(seat);
        let least = match length {
            Length::Words(words) => {
                (words * self.tokens_per_word + TOKENS_EXTRA).min(window / ANSWER_SHARE)
            }
            Length::Form => FORM_TOKENS_MIN.min(window / FORM_SHARE),
            Length::Any => ANSWER_TOKENS_MIN.min(window / ANSWER_SHARE),
        };
        least.max(1)
    }

    /// How much may be said behind a prompt that leaves `room`.
    fn ceiling(&self, seat: &Seat, length: Length, room: u64) -> Ceiling {
        let least = self.answer_least(seat, length);
        let visible = match length {
            Length::Words(_) => least,
            Length::Form => room.max(least),
            Length::Any => room.clamp(least, ANSWER_TOKENS_MAX.max(least)),
        };
        let is_form = matches!(length, Length::Form);
        Ceiling { visible, reasoning: REASONING_TOKENS_MAX, is_form }
    }

    /// Tokens that a prompt may have: with room for thoughts as long as that is possible.
    fn prompt_limits(&self, seat: &Seat, length: Length) -> [u64; 2] {
        let thinks = self.thinks.get(seat.model.id()).copied().unwrap_or(false);
        let most = self.window(seat).saturating_sub(self.answer_least(seat, length));
        let thinking = if thinks { self.window(seat) / REASONING_SHARE } else { 0 };
        [most.saturating_sub(thinking), most]
    }

    /// Fits `cue` into the window of `seat`. `refused` is the weight of a prompt for the same that
    /// its provider found too long, though it seemed to fit: this one is about half of it.
    pub fn fit(
        &mut self,
        floor: &Floor,
        seat: &Seat,
        cue: &Cue,
        refused: Option<f64>,
    ) -> Result<Fit> {
        let length = Length::of(cue);
        let said = cue.prompt.quoted();
        let key = (self.group(seat), said.name.to_string());
        let before = self.cuts.get(&key).copied().unwrap_or_default();
        let weight = |cut: &Cut| cue.prompt.weight(cut) + self.weight_of_tools(seat);
        let tokens = |cut: &Cut| self.tokens(seat, weight(cut));
        let [roomy, most] = self.prompt_limits(seat, length);
        let shortest = tokens(&said.shortest_cut());
        // Where even the shortest prompt is more than half, it is tried all the same.
        let half = |refused| (self.tokens(seat, refused) * REFIT_PERCENT / 100).max(shortest);
        let half = refused.map_or(u64::MAX, half);
        let mut limits = [roomy.min(half), most.min(half)].into_iter();
        let Some(cut) = limits.find_map(|most| fit(&said, before, most, tokens)) else {
            let nothing = Cut { dropped: said.len(), aside_chars: Some(0), ..Cut::default() };
            let need = tokens(&nothing) + self.answer_least(seat, length);
            let is_shrunk = self.windows.contains_key(&self.group(seat));
            return Err(too_small(seat, need, self.window(seat), is_shrunk));
        };
        let left = said.left_out(&cut);
        let fitted = (cut != before).then(|| self.note(seat, said.name, cut, left));
        let weight = weight(&cut);
        let room = self.window(seat).saturating_sub(self.tokens(seat, weight));
        let ceiling = self.ceiling(seat, length, room);
        let max_tokens = match refused {
            // It may have been the limit that was too much beside the prompt.
            Some(_) => Some(ceiling.visible).filter(|_| self.window(seat) <= SMALL_WINDOW),
            None => self.limit(seat, ceiling, room, cue.words.is_some()),
        };
        self.cuts.insert(key, cut.lasting());
        let mut ask = Ask {
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
        if let Some(message) = ask.messages.last_mut() {
            message.attachments.clone_from(&floor.opening.attachments);
        }
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
        let thinks = self.thinks.get(seat.model.id()).copied();
        // Calls of functions count as thoughts: nobody knows how long they are.
        let has_tools = self.weight_of_tools(seat) > 0.0;
        let is_known = thinks.is_some() && !has_tools;
        let is_told = self.window(seat) <= SMALL_WINDOW || (is_known && is_length_asked);
        let unseen = if thinks == Some(false) && !has_tools { 0 } else { ceiling.reasoning };
        let all = (ceiling.visible + unseen).min(room.max(ceiling.visible));
        is_told.then_some(all)
    }

    fn note(&self, seat: &Seat, transcript: &str, cut: Cut, left: LeftOut) -> Fitted {
        Fitted {
            model: seat.model.id().to_string(),
            seat: self.group(seat),
            transcript: transcript.to_string(),
            cut,
            dropped: left.speeches,
            shortened: left.shortened,
            words: left.words,
            window: self.window(seat),
        }
    }
}

/// Tokens that a word of the answer may take, by those that one of the question takes: both are in
/// the same language as a rule.
fn tokens_per_word(question: &str) -> u64 {
    let words = count_words(question).max(1) as f64;
    let tokens = (weight(question) / words * DENSER).ceil() as u64;
    tokens.clamp(TOKENS_PER_WORD, TOKENS_PER_WORD_MAX)
}

/// Tokens of the functions that stand beside every prompt of a seat.
fn weight_of_tools(opening: &Opening, seat: &Seat) -> f64 {
    let of_tool = |tool: &Tool| {
        weight(&tool.name) + weight(&tool.description) + weight(&tool.parameters.to_string())
    };
    let own = seat.model.tools();
    let rule = if own.is_empty() { 0.0 } else { TOOLS_RULE_TOKENS };
    rule + own.iter().chain(&opening.tools).map(of_tool).sum::<f64>()
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
    let budgets = Budgets::new(opening, seats, &Past::none());
    for seat in seats {
        for (prompt, more, length) in largest_prompts(opening, method, seat) {
            let nothing = Cut { dropped: usize::MAX, ..Cut::default() };
            let weight = prompt.weight(&nothing) + budgets.weight_of_tools(seat);
            let need = budgets.tokens(seat, weight) + more + budgets.answer_least(seat, length);
            if need > seat.window.tokens {
                return Err(too_small(seat, need, seat.window.tokens, false));
            }
        }
    }
    Ok(())
}

/// The prompts of a seat that need the most room, with what stands in them beside their own text and
/// the length of their answers.
fn largest_prompts(opening: &Opening, method: &Method, seat: &Seat) -> Vec<(Prompt, u64, Length)> {
    if opening.council.is_some() {
        let prompts = council::shortest_prompts(opening, seat);
        return prompts.into_iter().map(|prompt| (prompt, 0, Length::Form)).collect();
    }
    let (more, length) = match method.seats_min {
        1 => (0, Length::Any),
        _ => (TASK_TOKENS, Length::Words(WORDS_MAX)),
    };
    vec![(opening_prompt(opening), more, length)]
}
