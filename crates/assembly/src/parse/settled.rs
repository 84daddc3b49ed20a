//! An answer while it is being written: what of it stays, whatever follows.

use super::echo::may_be_echo;
use super::{FormLine, Mark, after_label, find, is_dress, strip_label, undress, undressed};

/// A section of an answer that is still being written.
pub struct Settled<'a> {
    /// Which of the lines.
    pub line: usize,
    /// What of it stays, whatever follows.
    pub text: &'a str,
    /// Whether another label has followed.
    pub is_whole: bool,
}

/// The sections of an answer under way, in its order, as far as nothing that follows can change
/// them: what may become a label, or dress around one, is not given yet, and neither is what
/// repeats the prompt or may turn out to. But for dress at its front a section so far is the
/// beginning of what `read_form` will give.
pub fn settled<'a>(answer: &'a str, lines: &[FormLine]) -> Vec<Settled<'a>> {
    let labels: Vec<&str> = lines.iter().map(|line| line.label).collect();
    let last = answer.rfind('\n').map_or(0, |at| at + 1);
    let is_open = may_open(&answer[last..], &labels);
    let heard = if is_open { &answer[..last] } else { answer };
    let limit = if is_open { last } else { last + may_begin(&answer[last..], &labels) };
    let marks = find(heard, lines);
    let ends = marks.iter().skip(1).map(|next| Some(next.start)).chain([None]);
    let under_way = |mark: &Mark| {
        let so_far = |from: usize| answer.get(from..limit).unwrap_or_default();
        let is_held = may_be_echo(so_far(mark.label_end), lines[mark.label].what);
        if is_held { "" } else { begun(so_far(mark.body)) }
    };
    let section = |(mark, end): (&Mark, Option<usize>)| Settled {
        line: mark.label,
        text: end.map_or_else(|| under_way(mark), |end| undress(&answer[mark.body..end])),
        is_whole: end.is_some(),
    };
    let filled = marks.iter().zip(ends).filter(|(mark, _)| !mark.is_echo);
    filled.map(section).collect()
}

/// A section so far, without what its end and the other half of its label's dress may turn out to
/// be.
fn begun(text: &str) -> &str {
    let text = text.trim_start();
    let half = ["**", "__"].into_iter().find_map(|mark| text.strip_prefix(mark));
    let text = half.filter(|rest| rest.starts_with(char::is_whitespace)).unwrap_or(text);
    text.trim_start().trim_end_matches(|c: char| is_dress(c) || c.is_whitespace())
}

/// Whether a line that has no end yet may still turn out to open with a label.
fn may_open(line: &str, labels: &[&str]) -> bool {
    let line = undressed(line);
    // A plural may be one longer.
    let longest = labels.iter().map(|label| label.chars().count() + 1).max().unwrap_or(0);
    let is_alone =
        |label: &&str| strip_label(line, label).is_some_and(|it| after_label(it).is_empty());
    line.chars().count() <= longest || labels.iter().any(is_alone)
}

/// Where in a line that has no end yet a label may be about to begin; the line's length where none
/// is.
fn may_begin(line: &str, labels: &[&str]) -> usize {
    let is_label = |rest: &str| {
        let is_whole = |label: &&str| {
            let after = rest.strip_prefix(*label).map(|it| it.trim_start_matches(['*', '_']));
            after.is_some_and(str::is_empty)
        };
        labels.iter().any(|label| label.starts_with(rest) || is_whole(label))
    };
    let starts = line.char_indices().filter(|(_, c)| c.is_ascii_uppercase());
    starts.map(|(at, _)| at).find(|at| is_label(&line[*at..])).unwrap_or(line.len())
}
