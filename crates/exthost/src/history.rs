//! What was done to the message, by whomever, to be undone and done again. A step holds what changed
//! and no more.

use std::collections::VecDeque;

/// Steps that can be undone; the oldest are forgotten beyond these.
const STEPS_MAX: usize = 1_000;
/// Bytes of all steps together; the oldest are forgotten beyond these, but never the last one.
const BYTES_MAX: usize = 64 << 20;

/// What was done since the message was opened.
#[derive(Debug, Default)]
pub(crate) struct History {
    past: VecDeque<Step>,
    future: Vec<Step>,
    bytes: usize,
}

/// One change: at this place stood `before`, and stands `after`.
#[derive(Debug)]
struct Step {
    at: usize,
    before: String,
    after: String,
    by: String,
}

impl History {
    /// Remembers that `by` made `new` out of `old`. One that `joins` is part of the step before it, if
    /// that is of the same hand.
    pub(crate) fn add(&mut self, old: &str, new: &str, by: &str, joins: bool) {
        self.future.clear();
        let joins = joins && self.past.back().is_some_and(|last| last.by == by);
        let last = if joins { self.past.pop_back() } else { None };
        let step = match last {
            Some(last) => {
                self.bytes -= last.bytes();
                let mut first = old.to_string();
                last.undo(&mut first);
                Step::between(&first, new, by)
            }
            None => Step::between(old, new, by),
        };
        self.bytes += step.bytes();
        self.past.push_back(step);
        while self.past.len() > STEPS_MAX || self.bytes > BYTES_MAX && self.past.len() > 1 {
            self.bytes -= self.past.pop_front().map_or(0, |step| step.bytes());
        }
    }

    /// Takes the last step back; none if there is none.
    pub(crate) fn undo(&mut self, text: &str) -> Option<String> {
        let step = self.past.pop_back()?;
        self.bytes -= step.bytes();
        let mut text = text.to_string();
        step.undo(&mut text);
        self.future.push(step);
        Some(text)
    }

    /// Does again what was taken back last.
    pub(crate) fn redo(&mut self, text: &str) -> Option<String> {
        let step = self.future.pop()?;
        self.bytes += step.bytes();
        let mut text = text.to_string();
        text.replace_range(step.at..step.at + step.before.len(), &step.after);
        self.past.push_back(step);
        Some(text)
    }

    /// Whose step would be taken back.
    pub(crate) fn last_by(&self) -> Option<&str> {
        self.past.back().map(|step| step.by.as_str())
    }

    /// Whose step would be done again.
    pub(crate) fn next_by(&self) -> Option<&str> {
        self.future.last().map(|step| step.by.as_str())
    }
}

impl Step {
    fn between(old: &str, new: &str, by: &str) -> Step {
        let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let at = old.floor_char_boundary(same).min(new.floor_char_boundary(same));
        let (rest_old, rest_new) = (&old[at..], &new[at..]);
        let same = rest_old.bytes().rev().zip(rest_new.bytes().rev());
        let same = same.take_while(|(a, b)| a == b).count();
        let end = rest_old.ceil_char_boundary(rest_old.len() - same);
        // Both ends begin at the same character, as what follows is the same in both.
        let (before, tail) = rest_old.split_at(end);
        let after = &rest_new[..rest_new.len() - tail.len()];
        Step { at, before: before.into(), after: after.into(), by: by.into() }
    }

    fn undo(&self, text: &mut String) {
        text.replace_range(self.at..self.at + self.after.len(), &self.before);
    }

    fn bytes(&self) -> usize {
        self.before.len() + self.after.len() + self.by.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_taken_back_and_done_again() {
        let texts = ["", "a", "aä", "aö", "aaaö", "aö", "öa", "", "x\r\ny"];
        let mut history = History::default();
        for pair in texts.windows(2) {
            history.add(pair[0], pair[1], "me", false);
        }
        let mut text = texts[texts.len() - 1].to_string();
        for want in texts.iter().rev().skip(1) {
            text = history.undo(&text).unwrap();
            assert_eq!(&text, want);
        }
        assert_eq!((history.undo(&text), history.last_by()), (None, None));
        for want in &texts[1..] {
            assert_eq!(history.next_by(), Some("me"));
            text = history.redo(&text).unwrap();
            assert_eq!(&text, want);
        }
        assert_eq!(history.redo(&text), None);
    }

    #[test]
    fn what_is_typed_at_once_is_one_step_of_one_hand() {
        let mut history = History::default();
        history.add("", "a", "me", false);
        history.add("a", "ab", "me", true);
        history.add("ab", "abc", "it", true);
        history.add("abc", "abcd", "me", true);
        assert_eq!(history.undo("abcd").as_deref(), Some("abc"));
        assert_eq!((history.last_by(), history.next_by()), (Some("it"), Some("me")));
        assert_eq!(history.undo("abc").as_deref(), Some("ab"));
        assert_eq!(history.undo("ab").as_deref(), Some(""));
        history.add("", "z", "me", false);
        assert_eq!(history.redo("z"), None, "another future has begun");
    }

    #[test]
    fn the_oldest_steps_are_forgotten() {
        let mut history = History::default();
        for _ in 0..STEPS_MAX + 5 {
            history.add("a", "b", "me", false);
        }
        assert_eq!(history.past.len(), STEPS_MAX);
        let long = "x".repeat(BYTES_MAX);
        history.add("", &long, "me", false);
        assert_eq!((history.past.len(), history.undo(&long)), (1, Some(String::new())));
        assert_eq!(history.bytes, 0);
    }
}
