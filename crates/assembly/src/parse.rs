//! Labelled answers as models really write them: bold, in headings, in lists, reordered, on one
//! line, with prose around them.

mod confidence;
mod settled;

pub use confidence::{confidence, score_of};
pub use settled::settled;

/// The texts under `labels` in `answer`, in the order of `labels`. A label counts at the start of a
/// line in any case and dress, or inside a line in capitals. The first place where a label stands is
/// the one; code blocks and block quotes hold no labels.
pub fn sections<const N: usize>(answer: &str, labels: [&str; N]) -> [Option<String>; N] {
    let marks = find(answer, &labels);
    let mut out = [const { None }; N];
    for (at, mark) in marks.iter().enumerate() {
        let end = marks.get(at + 1).map_or(answer.len(), |next| next.start);
        let text = undress(&answer[mark.body..end]);
        if out[mark.label].is_none() {
            out[mark.label] = Some(text.to_string());
        }
    }
    out
}

/// What stands before the first label: the whole answer where there is none.
pub fn before<'a>(answer: &'a str, labels: &[&str]) -> &'a str {
    undress(&answer[..find(answer, labels).first().map_or(answer.len(), |mark| mark.start)])
}

/// The index of the word of `words` that stands first in `text` as a whole word, in any case.
pub fn word_of(text: &str, words: &[&str]) -> Option<usize> {
    text.split(|c: char| !c.is_alphanumeric())
        .find_map(|token| words.iter().position(|word| token.eq_ignore_ascii_case(word)))
}

/// A place in an answer where a label stands.
#[derive(Debug, Clone, Copy)]
struct Mark {
    label: usize,
    /// Where the label begins, its dress included: the section before it ends here.
    start: usize,
    /// Where its text begins.
    body: usize,
}

fn find(answer: &str, labels: &[&str]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut in_code = false;
    let mut start = 0;
    for line in answer.split_inclusive('\n') {
        let bare = line.trim_start();
        if bare.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !bare.starts_with('>') {
            find_in_line(line, start, labels, &mut marks);
        }
        start += line.len();
    }
    marks
}

fn find_in_line(line: &str, offset: usize, labels: &[&str], marks: &mut Vec<Mark>) {
    let is_new = |label: usize, marks: &[Mark]| marks.iter().all(|mark| mark.label != label);
    let mut from = 0;
    if let Some((label, end)) =
        label_at_start(line, labels).filter(|(label, _)| is_new(*label, marks))
    {
        marks.push(Mark { label, start: offset, body: offset + end });
        from = end;
    }
    while let Some((label, start, end)) = label_inside(line, from, labels) {
        if is_new(label, marks) {
            marks.push(Mark { label, start: offset + start, body: offset + end });
        }
        from = end;
    }
}

/// Markdown around a label: headings, bold, lists, numbers, table bars.
fn is_dress(c: char) -> bool {
    matches!(c, '#' | '*' | '_' | '-' | '+' | '|' | '`' | '"' | ' ' | '\t' | '•' | '(' | '[')
}

/// A label that opens the line, followed by a colon, or alone on the line as a heading.
fn label_at_start(line: &str, labels: &[&str]) -> Option<(usize, usize)> {
    let undressed = undressed(line);
    let dressed = undressed.len() < line.len() && line.trim_start().starts_with(['#', '*', '_']);
    let at = line.len() - undressed.len();
    longest(labels, |label| {
        let after = strip_label(undressed, label)?;
        let tail = after_label(after);
        if let Some(text) = tail.strip_prefix([':', '：']) {
            return Some(at + undressed.len() - text.len());
        }
        // A heading without a colon: `## Agreements` or `**AGREEMENTS**`, or capitals alone.
        let is_capitals = undressed.starts_with(label);
        (tail.trim().is_empty() && (dressed || is_capitals))
            .then(|| at + undressed.len() - tail.len())
    })
}

/// A line without the dress and the number in front of it.
fn undressed(line: &str) -> &str {
    let undressed = line.trim_start_matches(is_dress);
    let is_numbered = |rest: &str| rest.starts_with(['.', ')']);
    let digits = undressed.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits {
        rest if rest.len() < undressed.len() && is_numbered(rest) => {
            rest[1..].trim_start_matches(is_dress)
        }
        _ => undressed,
    }
}

/// What follows a label, without its dress.
fn after_label(after: &str) -> &str {
    after.trim_start_matches(['*', '_', '`', '"', ' ', '\t', ')', ']'])
}

/// A label in capitals with a colon inside a line, such as `… so. CONFIDENCE: HIGH`.
fn label_inside(line: &str, from: usize, labels: &[&str]) -> Option<(usize, usize, usize)> {
    let tail = &line[from..];
    let starts = tail.char_indices().filter(|(_, c)| c.is_ascii_uppercase()).map(|(at, _)| at);
    for at in starts {
        if tail[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric()) {
            continue;
        }
        let found = longest(labels, |label| {
            let after = tail[at..].strip_prefix(label)?.trim_start_matches(['*', '_']);
            after.strip_prefix(':').map(|text| line.len() - text.len())
        });
        if let Some((label, end)) = found {
            let dress = tail[..at].len() - tail[..at].trim_end_matches(['*', '_', '|', ' ']).len();
            return Some((label, from + at - dress, end));
        }
    }
    None
}

/// The longest label for which `test` holds, so that `OPEN QUESTIONS` is not taken for `OPEN`.
fn longest(labels: &[&str], test: impl Fn(&str) -> Option<usize>) -> Option<(usize, usize)> {
    let hits =
        labels.iter().enumerate().filter_map(|(at, label)| Some((at, label.len(), test(label)?)));
    hits.max_by_key(|(_, length, _)| *length).map(|(at, _, end)| (at, end))
}

/// Strips `label` in any case from the front of `text`; a plural may stand for a singular and the
/// other way round, and `_` or `-` for a blank.
fn strip_label<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let singular = label.strip_suffix('S').unwrap_or(label);
    let mut rest = text.chars();
    for want in singular.chars() {
        let got = rest.next()?;
        let same = got.eq_ignore_ascii_case(&want)
            || (matches!(want, ' ' | '_') && matches!(got, ' ' | '_' | '-'));
        if !same {
            return None;
        }
    }
    let rest = rest.as_str();
    let rest = rest.strip_prefix(['s', 'S']).unwrap_or(rest);
    (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some(rest)
}

/// A section without the blank lines, the rule and the half of a bold mark around it: the other
/// half stood before its label (`**CONFIDENCE:** HIGH`).
fn undress(text: &str) -> &str {
    let mut text = text.trim();
    for mark in ["**", "__"] {
        if text.matches(mark).count() % 2 == 1 {
            let bare = text.strip_prefix(mark).or_else(|| text.strip_suffix(mark));
            text = bare.unwrap_or(text).trim();
        }
    }
    match text.strip_suffix("---") {
        Some(bare) if bare.is_empty() || bare.ends_with('\n') => bare.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
