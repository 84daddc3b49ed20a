//! Thoughts before an answer: some templates open `<think>` themselves, so that what the model says
//! first is thought, up to where it closes it.

use crate::pieces::begun;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Says whether an answer to this prompt begins with thoughts.
pub fn are_opened_by(prompt: &str) -> bool {
    prompt.trim_end().ends_with(OPEN)
}

/// Divides an answer into thoughts and what is said.
#[derive(Debug, Default)]
pub struct ThoughtScanner {
    thinks: bool,
    held: String,
    /// Nothing but space was said yet.
    is_begin: bool,
}

impl ThoughtScanner {
    pub fn new(thinks: bool) -> ThoughtScanner {
        ThoughtScanner { thinks, held: String::new(), is_begin: thinks }
    }

    /// Says whether the thoughts go on.
    pub fn thinks(&self) -> bool {
        self.thinks
    }

    /// Takes a piece; returns what of it is thought and what is said, as far as that is certain.
    pub fn push(&mut self, piece: &str) -> (String, String) {
        if !self.thinks {
            return (String::new(), self.trim_begin(piece));
        }
        self.held += piece;
        match self.held.split_once(CLOSE) {
            Some((thought, said)) => {
                let (thought, said) = (thought.to_string(), said.to_string());
                self.held.clear();
                self.thinks = false;
                (thought, self.trim_begin(&said))
            }
            None => {
                let certain = self.held.len() - begun(&self.held, CLOSE);
                let rest = self.held.split_off(certain);
                (std::mem::replace(&mut self.held, rest), String::new())
            }
        }
    }

    /// Returns what is left of thoughts that were never closed.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// The space between thoughts and answer belongs to neither.
    fn trim_begin(&mut self, said: &str) -> String {
        let said = if self.is_begin { said.trim_start() } else { said };
        self.is_begin &= said.is_empty();
        said.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the answer is cut, the same thoughts and text come out.
    #[track_caller]
    fn check(thinks: bool, answer: &str, thought: &str, said: &str) {
        for size in 1..=answer.len() {
            let mut scanner = ThoughtScanner::new(thinks);
            let (mut thoughts, mut text) = (String::new(), String::new());
            for piece in answer.as_bytes().chunks(size) {
                let (thought, said) = scanner.push(std::str::from_utf8(piece).unwrap());
                thoughts += &thought;
                text += &said;
            }
            thoughts += &scanner.finish();
            assert_eq!((thoughts.as_str(), text.as_str()), (thought, said), "cut at {size}");
        }
    }

    #[test]
    fn thoughts_end_where_they_are_closed() {
        check(true, "hm </thin</think>\n\n four </think>", "hm </thin", "four </think>");
        check(true, "never closed </thi", "never closed </thi", "");
        check(false, " four</think>", "", " four</think>");
    }

    #[test]
    fn a_prompt_may_open_them() {
        assert!(are_opened_by("<|assistant|><think>\n"));
        assert!(!are_opened_by("<|assistant|><think>\n\n</think>\n\n"));
    }
}
