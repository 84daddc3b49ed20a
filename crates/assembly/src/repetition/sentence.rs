//! Reads a sentence or line for what it says, apart from its number.

use super::count::{count_letters, count_steps};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a sentence says.
pub(super) struct Sentence {
    /// The text as one number, without the mark of a list and without `number`.
    pub form: u64,
    /// The first number in it.
    pub number: Option<u64>,
    pub letters: usize,
    /// Whether it ends as lines of code or verses do, and not as sentences.
    pub is_open: bool,
}

impl Sentence {
    /// Reads `text`. Returns none where it has neither letters nor figures.
    pub fn read(text: &str) -> Option<Sentence> {
        count_steps(text.len());
        let text = strip_list_mark(text.trim());
        if !text.contains(char::is_alphanumeric) {
            return None;
        }
        let (before, number, after) = split_at_number(text);
        let mut hasher = DefaultHasher::new();
        (before, after).hash(&mut hasher);
        let is_open = text.ends_with([';', ',', '{', '}', '>', '\\']);
        Some(Sentence { form: hasher.finish(), number, letters: count_letters(text), is_open })
    }
}

/// Removes what makes a text an item of a list or a heading: `- `, `12. `, `### 12) `.
fn strip_list_mark(text: &str) -> &str {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || "#>*+-•".contains(c));
    let after = text.trim_start_matches(char::is_numeric);
    let after_mark = after.strip_prefix(['.', ')']).filter(|_| after.len() < text.len());
    let item = after_mark.filter(|it| it.starts_with([' ', '\t', '*']));
    item.map_or(text, |it| it.trim_start_matches([' ', '\t', '*']))
}

/// Splits `text` at its first number; one too long to be a count is part of the text.
fn split_at_number(text: &str) -> (&str, Option<u64>, &str) {
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (before, rest) = text.split_at(start);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    match rest[..end].parse() {
        Ok(number) => (before, Some(number), &rest[end..]),
        Err(_) => (text, None, ""),
    }
}
