//! The form in which most methods conclude: a verdict in one word, what is agreed, the answer, what
//! stays open and how views moved.

use super::brief;
use crate::event::{Sureness, Synthesis};
use crate::parse;
use crate::prompt::Prompt;

/// The section that is the synthesis, for whoever watches it being written.
pub(super) const PARTS: &[(&str, &str)] = &[("", "SYNTHESIS")];

/// What each line of the form asks for; a method changes what differs.
pub(super) struct Form {
    /// Label of the verdict and what it asks.
    pub verdict: (&'static str, &'static str),
    /// Words the verdict may be; where it is none of them, it counts as not stated.
    pub words: &'static [&'static str],
    pub synthesis: &'static str,
    /// Label of what stays open and what it asks.
    pub open: (&'static str, &'static str),
    /// What stands for it where nothing stays open.
    pub nothing_open: &'static str,
    pub evolution: &'static str,
}

impl Form {
    /// The lines that methods have in common.
    pub const COMMON: Form = Form {
        verdict: (
            "CONSENSUS",
            "YES if all amount to the same answer, PARTIAL if they share its core, else NO",
        ),
        words: &["YES", "PARTIAL", "NO"],
        synthesis: "the answer this supports: the bottom line first, then what decides it, then its \
                    limits",
        open: (
            "DIFFERENCES",
            "what stays disputed, who holds what, what would settle it; None if nothing",
        ),
        nothing_open: "None",
        evolution: "whose view moved and which argument did it; None if nobody's",
    };

    /// All labels, in the order in which they are asked for.
    pub const fn labels(&self) -> [&'static str; 5] {
        [self.verdict.0, "AGREED", "SYNTHESIS", self.open.0, "EVOLUTION"]
    }

    /// Asks for this form.
    pub fn ask(&self, prompt: Prompt) -> Prompt {
        prompt
            .label(self.verdict.0, self.verdict.1)
            .label("AGREED", "what everyone accepts, as short bullets; None if nothing")
            .label("SYNTHESIS", self.synthesis)
            .label(self.open.0, self.open.1)
            .label("EVOLUTION", self.evolution)
    }

    /// Reads it back. An answer without labels is all synthesis.
    pub fn read(&self, text: &str, confidences: Vec<Sureness>) -> Synthesis {
        let labels = self.labels();
        let [verdict, agreed, synthesis, open, evolution] = parse::sections(text, labels);
        let verdict = verdict.and_then(|said| choose(&said, self.words));
        Synthesis {
            agreed: agreed.filter(|text| !brief::is_none(text)).unwrap_or_default(),
            more: brief::heading("Evolution", evolution).into_iter().collect(),
            confidences,
            ..concluded(
                verdict,
                synthesis.unwrap_or_else(|| rest(text, &labels)),
                open.filter(|text| !brief::is_none(text)).as_deref().unwrap_or(self.nothing_open),
            )
        }
    }
}

/// A synthesis with nothing but its three main fields.
pub(super) fn concluded(
    consensus: Option<&str>,
    synthesis: String,
    differences: &str,
) -> Synthesis {
    Synthesis {
        consensus: consensus.map(str::to_string),
        agreed: String::new(),
        synthesis,
        differences: differences.to_string(),
        more: vec![],
        confidences: vec![],
        unstated: vec![],
        messages: 0,
        debated: false,
    }
}

/// What an answer says where the label that was asked for is missing: the words before the first
/// label, or all of them.
pub(super) fn rest(text: &str, labels: &[&str]) -> String {
    match parse::before(text, labels) {
        "" => text.trim().to_string(),
        before => before.to_string(),
    }
}

/// The one of `words` that a verdict says: its first word, else one in capitals, else any. So
/// neither "for" in a sentence nor a later "NO" is taken for the verdict.
pub(super) fn choose(said: &str, words: &[&'static str]) -> Option<&'static str> {
    let mut tokens = said.split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty());
    let first = tokens.next().and_then(|token| parse::word_of(token, words));
    let capitals = || tokens.find_map(|token| words.iter().position(|word| token == *word));
    first.or_else(capitals).or_else(|| parse::word_of(said, words)).map(|at| words[at])
}

#[cfg(test)]
mod tests;
