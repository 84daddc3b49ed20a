//! JSON out of what a model really wrote: fences, talk around it, several attempts in one answer.
//! The schema decides which of the values found is meant; what is only thought never beats it.

mod search;

use super::loose_json::{Flaw, find_place};
use super::schema::{Form, Problem};
use super::words::{texts, words};
use search::{Broken, search};
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;

/// Bytes of something that cannot be read which are looked through for the names of fields.
const BROKEN_BYTES_MAX: usize = 1 << 20;
/// Values held against the schema; the largest go first.
const CANDIDATES_MAX: usize = 256;

/// Words of a shingle, how many an answer must have to be compared, and the share of them that an
/// echo of the prompt has in common with it.
const SHINGLE_WORDS: usize = 5;
const SHINGLES_MIN: usize = 8;
const ECHO_SHARE: f64 = 0.8;

/// Beginnings of an answer that is a refusal, where it has no JSON at all.
const REFUSALS: &[&str] = &[
    "i can't",
    "i cannot",
    "i can not",
    "i'm sorry",
    "i am sorry",
    "sorry, but",
    "i won't",
    "i will not",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i am not able",
    "as an ai",
    "i must decline",
    "unable to comply",
    "i'm afraid i can't",
];
/// Characters in which a refusal says that it is one.
const REFUSAL_CHARS: usize = 200;

/// A value that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    pub value: Value,
    /// What had to be mended to read it, each with its place; nothing of it could mean anything else.
    pub repairs: Vec<String>,
}

/// The value of `form` in `text`, or what is wrong with the nearest to it. `prompt` is our own part
/// of what was asked: an answer that only repeats it is none.
pub fn extract(text: &str, form: Form, prompt: &str) -> Result<Extracted, Vec<Problem>> {
    let text = clean(text);
    let mut found = search(&text);
    found.candidates.sort_by_cached_key(|it| Reverse(it.value.to_string().len()));
    found.candidates.truncate(CANDIDATES_MAX);
    let mut nearest: Option<(Nearness, Vec<Problem>)> = None;
    for candidate in &found.candidates {
        let problems = problems(&candidate.value, form, prompt);
        let repairs = || candidate.repairs.iter().map(|it| told(&text, it));
        if problems.is_empty() {
            let repairs = repairs().map(|it| it.to_string()).collect();
            return Ok(Extracted { value: candidate.value.clone(), repairs });
        }
        let nearness = nearness(&candidate.value, form, problems.len());
        if nearest.as_ref().is_none_or(|(best, _)| nearness > *best) {
            nearest = Some((nearness, problems.into_iter().chain(repairs()).collect()));
        }
    }
    for broken in &found.broken {
        let nearness = nearness_of_broken(&text[broken.at..], form);
        if nearest.as_ref().is_none_or(|(best, _)| nearness.0 > best.0) {
            nearest = Some((nearness, vec![complaint(&text, broken)]));
        }
    }
    let none = match found.is_only_thought {
        true => "the JSON stands in the thoughts only; the answer comes behind them",
        false => "there is no JSON object in the answer",
    };
    Err(nearest.map_or_else(|| vec![Problem::new("$", none)], |(_, problems)| problems))
}

/// How near something is to what was asked for: how many of the form's own fields it has, and how
/// little is wrong with it.
type Nearness = (usize, Reverse<usize>);

fn nearness(value: &Value, form: Form, problems: usize) -> Nearness {
    let fields = form.fields().iter().filter(|field| value.get(field).is_some());
    (fields.count(), Reverse(problems))
}

/// The same of what cannot be read, by the names in it.
fn nearness_of_broken(text: &str, form: Form) -> Nearness {
    let text = &text[..text.floor_char_boundary(BROKEN_BYTES_MAX)];
    let has = |field: &&String| text.contains(&format!("\"{field}\""));
    (form.fields().iter().filter(has).count(), Reverse(1))
}

/// What is wrong at a place of the text.
fn told(text: &str, flaw: &Flaw) -> Problem {
    let (line, column) = find_place(text, flaw.at);
    Problem::new(format!("line {line}, column {column}"), &flaw.what)
}

fn complaint(text: &str, broken: &Broken) -> Problem {
    match broken.stop.is_end {
        true => Problem::new("$", "the JSON breaks off before its end"),
        false => told(text, &broken.stop.flaw),
    }
}

/// Whether a text without JSON declines the task.
pub fn is_refusal(text: &str) -> bool {
    let start: String = text.trim().chars().take(REFUSAL_CHARS).collect();
    let start = start.to_lowercase().replace('’', "'");
    !text.contains('{') && REFUSALS.iter().any(|words| start.contains(words))
}

/// What is wrong with a value: its form first, then what no schema can say.
fn problems(value: &Value, form: Form, prompt: &str) -> Vec<Problem> {
    let problems = form.problems(value);
    if !problems.is_empty() {
        return problems;
    }
    let mut problems = Vec::new();
    hollow("$", value, &mut problems);
    if is_echo(value, prompt) {
        problems.push(Problem::new("$", "it repeats the request instead of answering it"));
    }
    problems
}

/// Texts that are empty, or that the template asked to be replaced.
fn hollow(path: &str, value: &Value, out: &mut Vec<Problem>) {
    match value {
        Value::String(text) if text.trim().is_empty() => {
            out.push(Problem::new(path, "it is empty"));
        }
        Value::String(text) if is_placeholder(text.trim()) => {
            out.push(Problem::new(path, format!("'{text}' is a place to be filled in")));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                hollow(&format!("{path}[{at}]"), item, out);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                hollow(&format!("{path}.{name}"), field, out);
            }
        }
        _ => {}
    }
}

/// The whole text is `<…>`; a type such as `Vec<u8>` inside a sentence is not.
fn is_placeholder(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|inner| !inner.contains(['<', '>']))
}

fn is_echo(value: &Value, prompt: &str) -> bool {
    let mut own = Vec::new();
    texts(value, &mut own);
    let own: Vec<String> = own.into_iter().flat_map(words).collect();
    let mut left: HashSet<&[String]> = own.windows(SHINGLE_WORDS).collect();
    let count = left.len();
    if count < SHINGLES_MIN {
        return false;
    }
    let asked: Vec<String> = words(prompt).collect();
    for shingle in asked.windows(SHINGLE_WORDS) {
        left.remove(shingle);
    }
    (count - left.len()) as f64 > ECHO_SHARE * count as f64
}

/// Without a byte order mark and without the escapes that colour a terminal.
fn clean(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => drop(chars.by_ref().find(|c| ('@'..='~').contains(c))),
            Some(']') => drop(chars.by_ref().find(|c| matches!(c, '\u{7}' | '\\'))),
            _ => {}
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
