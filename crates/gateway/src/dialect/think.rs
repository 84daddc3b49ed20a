//! `<think>…</think>` at the very start of an answer, as local servers send it, kept apart as
//! reasoning. Safe against tags cut between two pieces.

use super::reader::Out;
use std::mem;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// White space before the tag that is waited through; beyond it the answer is plain text.
const BLANK_BYTES_MAX: usize = 64;

/// Sorts pieces of an answer into thoughts and text.
#[derive(Default)]
pub(super) struct Think {
    place: Place,
    /// What may be part of a tag.
    held: String,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Place {
    /// Nothing but white space or the beginning of a tag so far.
    #[default]
    Start,
    Inside,
    /// Behind the closing tag: blank lines there belong to nobody.
    Behind,
    Text,
}

impl Think {
    pub(super) fn push(&mut self, text: String, out: &mut Out) {
        if self.place == Place::Text {
            return out.text(text);
        }
        self.held.push_str(&text);
        while self.step(out) {}
    }

    /// The answer ended, or the server keeps thoughts apart itself: the rest is what it is.
    pub(super) fn close(&mut self, out: &mut Out) {
        let held = mem::take(&mut self.held);
        match mem::replace(&mut self.place, Place::Text) {
            Place::Inside => out.reasoning(held),
            Place::Start | Place::Behind | Place::Text => out.text(held),
        }
    }

    /// Goes one place on, if what is held tells that much. At most three steps lead to `Text`.
    fn step(&mut self, out: &mut Out) -> bool {
        match self.place {
            Place::Start => self.start(out),
            Place::Inside => self.inside(out),
            Place::Behind => self.behind(out),
            Place::Text => false,
        }
    }

    fn start(&mut self, out: &mut Out) -> bool {
        let body = self.held.trim_start();
        if let Some(thought) = body.strip_prefix(OPEN) {
            self.held = thought.to_string();
            self.place = Place::Inside;
            return true;
        }
        if !OPEN.starts_with(body) || self.held.len() > BLANK_BYTES_MAX {
            self.close(out);
        }
        false
    }

    fn inside(&mut self, out: &mut Out) -> bool {
        let Some(at) = self.held.find(CLOSE) else {
            let keep = longest_beginning(&self.held);
            let rest = self.held.split_off(self.held.len() - keep);
            out.reasoning(mem::replace(&mut self.held, rest));
            return false;
        };
        let rest = self.held.split_off(at);
        out.reasoning(mem::replace(&mut self.held, rest[CLOSE.len()..].to_string()));
        self.place = Place::Behind;
        true
    }

    fn behind(&mut self, out: &mut Out) -> bool {
        self.held = self.held.trim_start().to_string();
        if !self.held.is_empty() {
            self.close(out);
        }
        false
    }
}

/// Bytes at the end of `text` that may be the beginning of the closing tag.
fn longest_beginning(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|len| text.ends_with(&CLOSE[..*len])).unwrap_or(0)
}
