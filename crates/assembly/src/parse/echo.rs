//! A form that comes back as it was sent: behind the label stands what the prompt says behind it.

use super::mention::words_of;
use crate::prompt::LIKEWISE;

/// Words of the prompt in a row that make a line a copy of it, where it is not all of them.
const RUN_WORDS_MIN: usize = 3;

/// How far a section only repeats the prompt, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    /// To the end of its first line, or of the whole section.
    Line(usize),
    /// To where the same line goes on with words of its own.
    Front(usize),
}

/// Finds the prompt's own words at the front of a section: all of `what`, a line made of a part of
/// it, or the word that stands for the same as before.
pub(super) fn find_echo(section: &str, what: &str) -> Option<Echo> {
    if what.is_empty() {
        return None;
    }
    let line_end = find_line_end(section);
    let line = words(&section[..line_end]);
    if is_likewise(&line) {
        return Some(Echo::Line(section.len()));
    }
    if let Some(end) = find_copy_end(section, what) {
        let rest = section[end..].lines().next().unwrap_or_default();
        return Some(match rest.contains(char::is_alphanumeric) {
            true => Echo::Front(end + rest.len() - rest.trim_start_matches(is_between).len()),
            false => Echo::Line(end + rest.len()),
        });
    }
    let is_part = line.len() >= RUN_WORDS_MIN && is_run_of(&line, &words(what), same);
    is_part.then_some(Echo::Line(line_end))
}

/// Tells whether a section that is still being written may turn out to repeat the prompt.
pub(super) fn may_be_echo(section: &str, what: &str) -> bool {
    let (said, asked) = (words(section), words(what));
    if what.is_empty() || said.is_empty() {
        return !what.is_empty();
    }
    let is_front = asked.get(..said.len()).is_some_and(|front| is_run_of(&said, front, begins));
    let is_one_line = !section.trim_start().contains('\n');
    is_front || is_one_line && (is_run_of(&said, &asked, begins) || begins_likewise(&said))
}

/// Tells whether `line` is a part of `asked`, its last word compared by `is_last`.
fn is_run_of(line: &[&str], asked: &[&str], is_last: fn(&str, &str) -> bool) -> bool {
    let Some((last, whole)) = line.split_last() else { return false };
    asked.windows(line.len()).any(|run| {
        whole.iter().zip(run).all(|(word, want)| same(word, want))
            && is_last(last, run[whole.len()])
    })
}

fn begins_likewise(line: &[&str]) -> bool {
    matches!(line, [word] if begins(word, LIKEWISE))
}

fn is_likewise(line: &[&str]) -> bool {
    matches!(line, [word] if same(word, LIKEWISE))
}

/// Returns where the first line that is not blank ends.
fn find_line_end(section: &str) -> usize {
    let blank = section.len() - section.trim_start().len();
    section[blank..].find('\n').map_or(section.len(), |at| blank + at)
}

/// Returns the end of the last word of `what`, where `section` begins with all of them.
fn find_copy_end(section: &str, what: &str) -> Option<usize> {
    let mut rest = section;
    for want in words(what) {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        if !same(&rest[..end], want) {
            return None;
        }
        rest = &rest[end..];
    }
    Some(section.len() - rest.len())
}

fn words(text: &str) -> Vec<&str> {
    words_of(text).collect()
}

fn same(word: &str, want: &str) -> bool {
    word.eq_ignore_ascii_case(want)
}

/// Tells whether a word so far is the beginning of `want`.
fn begins(word: &str, want: &str) -> bool {
    want.get(..word.len()).is_some_and(|front| same(word, front))
}

/// What may stand between the prompt's words and those of the answer.
fn is_between(c: char) -> bool {
    c.is_whitespace() || ":;.,=|*_>)]}\"\u{201d}-\u{2013}\u{2014}".contains(c)
}

#[cfg(test)]
mod tests;
