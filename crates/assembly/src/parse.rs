//! Labelled answers as models really write them: bold, in headings, in lists, reordered, on one
//! line, with prose around them.

mod choice;
mod confidence;
mod echo;
mod mention;
mod settled;

pub use choice::choose;
pub use confidence::{confidence, score_of};
pub use mention::{is_negated, is_one_of, is_stated_between, words_at};
pub use settled::settled;

use echo::{Echo, find_echo};

/// A line of the form that an answer is asked to fill in.
#[derive(Debug, Clone, Copy)]
pub struct FormLine<'a> {
    pub label: &'a str,
    /// What the prompt asks for behind the label. Where an answer repeats it, it states nothing.
    pub what: &'a str,
}

/// Makes lines that all ask for the same.
pub const fn make_lines<'a, const N: usize>(
    labels: [&'a str; N],
    what: &'a str,
) -> [FormLine<'a>; N] {
    let mut lines = [FormLine { label: "", what }; N];
    let mut at = 0;
    while at < N {
        lines[at].label = labels[at];
        at += 1;
    }
    lines
}

/// The texts under `labels` in `answer`, in the order of `labels`. A label counts at the start of a
/// line in any case and dress, or inside a line in capitals. The first place where a label stands
/// is the one; code blocks and block quotes hold no labels.
pub fn sections<const N: usize>(answer: &str, labels: [&str; N]) -> [Option<String>; N] {
    find_sections(answer, &make_lines(labels, ""))
}

/// Reads what `answer` states under each of `lines`: none where a label is missing, has nothing
/// behind it or only the prompt's own words. A label that is repeated with those words and filled
/// in later counts where it is filled in.
pub fn read_form<const N: usize>(answer: &str, lines: &[FormLine; N]) -> [Option<String>; N] {
    let says_something = |text: &String| {
        text.contains(|c: char| c.is_alphanumeric() || matches!(c, '-' | '\u{2013}' | '\u{2014}'))
    };
    find_sections(answer, lines).map(|section| section.filter(says_something))
}

fn find_sections<const N: usize>(answer: &str, lines: &[FormLine; N]) -> [Option<String>; N] {
    let marks = find(answer, lines);
    let mut out = [const { None }; N];
    let mut is_filled = [false; N];
    for (at, mark) in marks.iter().enumerate() {
        let end = marks.get(at + 1).map_or(answer.len(), |next| next.start);
        let text = undress(&answer[mark.body..end]);
        // Text behind the prompt's words counts unless the label comes again.
        let is_better = match mark.is_echo {
            true => out[mark.label].is_none() && !text.is_empty(),
            false => !is_filled[mark.label],
        };
        if is_better {
            out[mark.label] = Some(text.to_string());
            is_filled[mark.label] = !mark.is_echo;
        }
    }
    out
}

/// What stands before the first label: the whole answer where there is none.
pub fn before<'a>(answer: &'a str, labels: &[&str]) -> &'a str {
    let first = find_labels(answer, labels).first().map_or(answer.len(), |place| place.start);
    undress(&answer[..first])
}

/// Tells whether one of `labels` stands in `answer`, with or without a text behind it.
pub fn has_label(answer: &str, labels: &[&str]) -> bool {
    !find_labels(answer, labels).is_empty()
}

/// A place in an answer where a label stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    label: usize,
    /// Where the label begins, its dress included: the section before it ends here.
    start: usize,
    /// Where its text begins.
    body: usize,
}

/// A place that opens a section.
#[derive(Debug, Clone, Copy)]
struct Mark {
    label: usize,
    start: usize,
    /// Where the label ends.
    label_end: usize,
    /// Where its text begins, behind words that only repeat the prompt.
    body: usize,
    /// The prompt's words fill the rest of the line.
    is_echo: bool,
}

/// Finds the sections of an answer: every label once, and before that wherever it is only repeated.
fn find(answer: &str, lines: &[FormLine]) -> Vec<Mark> {
    let labels: Vec<&str> = lines.iter().map(|line| line.label).collect();
    let places = find_labels(answer, &labels);
    let mut marks: Vec<Mark> = Vec::new();
    for (at, Place { label, start, body }) in places.iter().copied().enumerate() {
        if marks.iter().any(|mark| mark.label == label && !mark.is_echo) {
            continue;
        }
        let end = places.get(at + 1).map_or(answer.len(), |next| next.start);
        let echo = find_echo(&answer[body..end], lines[label].what);
        let is_echo = matches!(echo, Some(Echo::Line(_)));
        let skipped = match echo {
            Some(Echo::Line(length) | Echo::Front(length)) => length,
            None => 0,
        };
        marks.push(Mark { label, start, label_end: body, body: body + skipped, is_echo });
    }
    marks
}

fn find_labels(answer: &str, labels: &[&str]) -> Vec<Place> {
    let mut places = Vec::new();
    let mut in_code = false;
    let mut start = 0;
    for line in answer.split_inclusive('\n') {
        let bare = line.trim_start();
        if bare.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !bare.starts_with('>') {
            find_in_line(line, start, labels, &mut places);
        }
        start += line.len();
    }
    places
}

fn find_in_line(line: &str, offset: usize, labels: &[&str], places: &mut Vec<Place>) {
    let mut from = 0;
    if let Some((label, end)) = label_at_start(line, labels) {
        places.push(Place { label, start: offset, body: offset + end });
        from = end;
    }
    while let Some((label, start, end)) = label_inside(line, from, labels) {
        places.push(Place { label, start: offset + start, body: offset + end });
        from = end;
    }
}

/// Words that models put before a label they were given.
const QUALIFIERS: [&str; 9] =
    ["KEY", "MAIN", "MAJOR", "MINOR", "CORE", "REMAINING", "OVERALL", "NOTABLE", "IMPORTANT"];

/// Markdown around a label: headings, bold, lists, numbers, table bars.
fn is_dress(c: char) -> bool {
    matches!(c, '#' | '*' | '_' | '-' | '+' | '|' | '`' | '"' | ' ' | '\t' | '•' | '(' | '[')
}

/// A label that opens the line, followed by a colon, or alone on the line as a heading.
fn label_at_start(line: &str, labels: &[&str]) -> Option<(usize, usize)> {
    let undressed = undressed(line);
    let dressed = undressed.len() < line.len() && line.trim_start().starts_with(['#', '*', '_']);
    longest(labels, |label| {
        let named = strip_label(undressed, label).map(|after| (undressed, after));
        let qualified = || {
            let name = strip_qualifier(undressed)?;
            Some((name, strip_label(name, label)?))
        };
        let (name, after) = named.or_else(qualified)?;
        let tail = after_label(after);
        if let Some(text) = tail.strip_prefix([':', '：']) {
            return Some(line.len() - text.len());
        }
        // A heading without a colon: `## Agreements` or `**AGREEMENTS**`, or capitals alone.
        let is_capitals = name.starts_with(label);
        (tail.trim().is_empty() && (dressed || is_capitals)).then(|| line.len() - tail.len())
    })
}

/// Strips the word that makes a label of our own out of ours: `KEY DIFFERENCES`.
fn strip_qualifier(text: &str) -> Option<&str> {
    let (word, rest) = text.split_once([' ', '_'])?;
    mention::is_one_of(word, &QUALIFIERS).then_some(rest)
}

/// Bytes of such a word, in capitals, that `before` ends with.
fn qualifier_length(before: &str) -> usize {
    let bare = before.trim_end_matches([' ', '_']);
    let start = bare
        .rfind(|c: char| !c.is_alphanumeric())
        .map_or(0, |at| at + bare[at..].chars().next().map_or(1, char::len_utf8));
    if QUALIFIERS.contains(&&bare[start..]) { before.len() - start } else { 0 }
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
            let before = &tail[..at - qualifier_length(&tail[..at])];
            let before = before.trim_end_matches(['*', '_', '|', ' ']);
            return Some((label, from + before.len(), end));
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
