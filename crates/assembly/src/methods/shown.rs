//! What can be shown of a synthesis while it is being written: the sections that make it up, as far
//! as nothing that follows can change them.

use super::brief::is_none;
use crate::parse::{self, FormLine};

/// Letters with which a section may still say that there is nothing to say; so long it is held.
const NONE_CHARS: usize = 4;

/// The form of a method's synthesis.
pub struct Shown {
    /// All its lines.
    pub lines: &'static [FormLine<'static>],
    /// The sections that make the synthesis, in its order: what stands before each, and its label.
    pub parts: &'static [(&'static str, &'static str)],
}

impl Shown {
    /// For what has no form to be shown by.
    pub const NOTHING: Shown = Shown { lines: &[], parts: &[] };

    /// The beginning of the synthesis that `text` is going to be. What was given once stays: but for
    /// dress at its front it is also the beginning of every later one, and of the synthesis itself.
    pub(super) fn so_far(&self, text: &str) -> String {
        let sections = parse::settled(text, self.lines);
        let mut shown = String::new();
        for (before, label) in self.parts {
            let section = sections.iter().find(|it| self.lines[it.line].label == *label);
            let Some(section) = section.filter(|it| says_something(it.text)) else { break };
            if !shown.is_empty() {
                shown.push_str("\n\n");
            }
            shown.push_str(before);
            shown.push_str(section.text);
            if !section.is_whole {
                break;
            }
        }
        shown
    }
}

fn says_something(text: &str) -> bool {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    !is_none(text) && word.chars().count() > NONE_CHARS
}

#[cfg(test)]
mod tests;
