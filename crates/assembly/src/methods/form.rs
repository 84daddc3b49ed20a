//! The form in which most methods conclude: a verdict in one word, what is agreed, the answer, what
//! stays open and how views moved.

use super::brief;
use crate::event::{Sureness, Synthesis};
pub(super) use crate::parse::choose;
use crate::parse::{self, FormLine};
use crate::prompt::Prompt;

const SYNTHESIS: &str = "SYNTHESIS";
/// The section that is the synthesis, for whoever watches it being written.
pub(super) const PARTS: &[(&str, &str)] = &[("", SYNTHESIS)];

/// What each line of the form asks for; a method changes what differs.
pub(super) struct Form {
    pub verdict: FormLine<'static>,
    /// Words the verdict may be; where it is none of them, it counts as not stated.
    pub words: &'static [&'static str],
    pub synthesis: &'static str,
    /// The line that asks what stays open.
    pub open: FormLine<'static>,
    /// What stands for it where the answer says that nothing does.
    pub nothing_open: &'static str,
    pub evolution: &'static str,
}

impl Form {
    /// The lines that methods have in common.
    pub const COMMON: Form = Form {
        verdict: FormLine {
            label: "CONSENSUS",
            what: "YES if all amount to the same answer, PARTIAL if they share its core, else NO",
        },
        words: &["YES", "PARTIAL", "NO"],
        synthesis: "the answer this supports: the bottom line first, then what decides it, then its \
                    limits",
        open: FormLine {
            label: "DIFFERENCES",
            what: "what stays disputed, who holds what, what would settle it; None if nothing",
        },
        nothing_open: "None",
        evolution: "whose view moved and which argument did it; None if nobody's",
    };

    /// All lines, in the order in which they are asked for.
    pub const fn lines(&self) -> [FormLine<'static>; 5] {
        let agreed = "what everyone accepts, as short bullets; None if nothing";
        [
            self.verdict,
            FormLine { label: "AGREED", what: agreed },
            FormLine { label: SYNTHESIS, what: self.synthesis },
            self.open,
            FormLine { label: "EVOLUTION", what: self.evolution },
        ]
    }

    /// Asks for this form.
    pub fn ask(&self, prompt: Prompt) -> Prompt {
        ask_lines(prompt, &self.lines())
    }

    /// Reads it back. An answer without labels is all synthesis.
    pub fn read(&self, text: &str, confidences: Vec<Sureness>) -> Synthesis {
        let lines = self.lines();
        let [verdict, agreed, synthesis, open, evolution] = parse::read_form(text, &lines);
        let verdict = verdict.and_then(|said| choose(&said, self.words));
        Synthesis {
            agreed: brief::keep_stated(agreed).unwrap_or_default(),
            more: brief::heading("Evolution", evolution).into_iter().collect(),
            confidences,
            ..concluded(
                verdict,
                brief::keep_stated(synthesis).unwrap_or_else(|| rest(text, &lines, &[SYNTHESIS])),
                brief::read_open_points(open, self.nothing_open),
            )
        }
    }
}

/// Asks for `lines`.
pub(super) fn ask_lines(prompt: Prompt, lines: &[FormLine<'static>]) -> Prompt {
    lines.iter().fold(prompt, |prompt, line| prompt.label(line.label, line.what))
}

/// Asks for `lines` that all want the same.
pub(super) fn ask_alike(prompt: Prompt, lines: &[FormLine<'static>]) -> Prompt {
    let labels: Vec<&'static str> = lines.iter().map(|line| line.label).collect();
    prompt.labels(&labels, lines.first().map_or("", |line| line.what))
}

/// A synthesis with nothing but its three main fields.
pub(super) fn concluded(
    consensus: Option<&str>,
    synthesis: String,
    differences: String,
) -> Synthesis {
    Synthesis {
        consensus: consensus.map(str::to_string),
        agreed: String::new(),
        synthesis,
        differences,
        more: vec![],
        confidences: vec![],
        unstated: vec![],
        messages: 0,
        debated: false,
    }
}

/// What an answer says where nothing stands under the labels `asked`: the words before the first
/// label, or all of them where those labels are not in it.
pub(super) fn rest<const N: usize>(text: &str, lines: &[FormLine; N], asked: &[&str]) -> String {
    let before = parse::before(text, &lines.map(|line| line.label));
    let is_filled = || parse::read_form(text, lines).iter().any(Option::is_some);
    match before {
        "" if is_filled() && !parse::has_label(text, asked) => text.trim().to_string(),
        "" => brief::NOT_STATED.to_string(),
        before => before.to_string(),
    }
}

#[cfg(test)]
mod tests;
