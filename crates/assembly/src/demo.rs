//! Voices for a machine without any model: scripted, so that a newcomer sees every method at work.
//! They speak about the question in its own words and answer each other; they know nothing, claim
//! no facts and use no network.

mod form;
mod grammar;
mod ideas;
mod lines;
mod pen;
mod plan;
mod scene;
mod scores;
mod speech;
mod topic;
mod words;

use althing_chat::{Ask, Delta, Model, Speaking, Stop, Usage};
use futures_util::StreamExt;
use futures_util::stream;
use pen::Pen;
use scene::Scene;
use std::{sync::Arc, time::Duration};

/// What every id of a demo voice begins with.
pub const PREFIX: &str = "demo:";
/// Characters of a voice's name; a longer one is no voice.
const NAME_CHARS_MAX: usize = 60;
/// Characters of a token, roughly.
const CHARS_PER_TOKEN: usize = 4;

/// A built-in voice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voice {
    /// Behind `demo:`.
    pub name: &'static str,
    pub display: &'static str,
    /// In a line, for a person who chooses.
    pub stance: &'static str,
}

/// The voices that speak where nobody chose any, each with a stance of its own.
pub const VOICES: &[Voice] = &[
    Voice {
        name: "builder",
        display: "Builder (demo)",
        stance: "start small and finish something",
    },
    Voice {
        name: "skeptic",
        display: "Skeptic (demo)",
        stance: "what could go wrong, and who says so",
    },
    Voice { name: "scout", display: "Scout (demo)", stance: "what else there is, and for whom" },
];

/// How fast a voice speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// Before each word; 0 says everything at once.
    pub word_ms: u64,
}

/// The voice `demo:<name>`. Any name will do: one that is not built in takes a stance by its
/// letters. None where a name is empty, too long or has characters that an id may not have.
pub fn voice(name: &str, pace: Pace) -> Option<Arc<dyn Model>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(is_plain) {
        return None;
    }
    Some(Arc::new(Demo { id: format!("{PREFIX}{name}"), pace }))
}

/// How the voice `demo:<name>` is called at the table.
pub fn display(name: &str) -> String {
    if let Some(voice) = VOICES.iter().find(|voice| voice.name == name) {
        return voice.display.to_string();
    }
    let mut chars = name.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    format!("{} (demo)", first.into_iter().chain(chars).collect::<String>())
}

struct Demo {
    id: String,
    pace: Pace,
}

impl Model for Demo {
    fn id(&self) -> &str {
        &self.id
    }

    fn speak(&self, ask: Ask) -> Speaking {
        let (text, stop) = limited(self.say(&ask), ask.max_tokens);
        let tokens = |chars: usize| Some(chars.div_ceil(CHARS_PER_TOKEN) as u64);
        let usage = Usage {
            input: tokens(ask.chars()),
            output: tokens(text.chars().count()),
            ..Usage::default()
        };
        let words: Vec<String> = text.split_inclusive([' ', '\n']).map(String::from).collect();
        let wait = Duration::from_millis(self.pace.word_ms);
        let spoken = stream::iter(words).then(move |word| async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            Delta::Text(word)
        });
        let end = stream::iter([Delta::Usage(usage), Delta::Stop(stop)]);
        stream::iter([Delta::Started]).chain(spoken).chain(end).map(Ok).boxed()
    }
}

impl Demo {
    fn say(&self, ask: &Ask) -> String {
        let name = self.id.strip_prefix(PREFIX).unwrap_or(&self.id);
        let built_in = VOICES.iter().position(|voice| voice.name == name);
        let number = built_in.unwrap_or_else(|| pen::hash(&[name]) as usize % 1000);
        let stance = number % lines::STANCES.len();
        if let Some(plan) = plan::speak(ask, stance) {
            return plan;
        }
        let scene = Scene::of(ask);
        speech::speak(&mut Pen::new(&scene, name, number), lines::STANCES[stance], stance)
    }
}

/// At most `max` words, where a caller counts tokens.
fn limited(text: String, max: Option<u32>) -> (String, Stop) {
    let max = max.map_or(usize::MAX, |max| max as usize);
    let mut ends = text.match_indices([' ', '\n']).map(|(at, _)| at);
    match max.checked_sub(1).and_then(|last| ends.nth(last)) {
        Some(end) => (text[..end].to_string(), Stop::Length),
        None => (text, Stop::End),
    }
}

#[cfg(test)]
mod tests;
