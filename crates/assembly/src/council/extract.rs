//! JSON out of what a model really wrote: fences, talk around it, several attempts in one answer.
//! The schema decides which of the values found is meant.

use super::schema::{Form, Problem};
use super::words::{texts, words};
use serde_json::{Deserializer, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// Places at which a value may begin, counted from either end of the text; those between are not
/// tried, so a flood of braces stays cheap and what stands before or after it is found.
const STARTS_HALF_MAX: usize = 2_000;
/// Values of one half that run to the end of the text without closing; each costs a look at all the
/// rest.
const OPEN_ENDS_MAX: usize = 12;
/// Fenced blocks looked at, from the last.
const FENCES_MAX: usize = 64;
/// Values inside a value that is not what was asked for: an envelope around the plan.
const INNER_MAX: usize = 64;
const INNER_DEPTH_MAX: usize = 3;
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

/// The value of `form` in `text`, or what is wrong with the nearest to it. `prompt` is our own part
/// of what was asked: an answer that only repeats it is none.
pub fn extract(text: &str, form: Form, prompt: &str) -> Result<Value, Vec<Problem>> {
    let text = clean(text);
    let (mut found, is_cut) = candidates(&text);
    found.sort_by_cached_key(|value| std::cmp::Reverse(value.to_string().len()));
    found.truncate(CANDIDATES_MAX);
    let mut nearest: Option<Vec<Problem>> = None;
    for value in found {
        let problems = problems(&value, form, prompt);
        if problems.is_empty() {
            return Ok(value);
        }
        if nearest.as_ref().is_none_or(|best| problems.len() < best.len()) {
            nearest = Some(problems);
        }
    }
    let cut = is_cut.then(|| Problem::new("$", "the JSON breaks off before its end"));
    let none = || vec![Problem::new("$", "there is no JSON object in the answer")];
    match (cut, nearest) {
        (Some(cut), None) => Err(vec![cut]),
        (cut, nearest) => Err(cut.into_iter().chain(nearest.unwrap_or_else(none)).collect()),
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

/// Every whole value in `text`, and whether one began that has no end.
fn candidates(text: &str) -> (Vec<Value>, bool) {
    let mut found = Vec::new();
    if let Ok(whole) = serde_json::from_str::<Value>(text.trim()) {
        add(whole, &mut found);
        return (found, false);
    }
    for block in fences(text) {
        if let Ok(value) = serde_json::from_str::<Value>(block.trim()) {
            add(value, &mut found);
        }
    }
    let scanned = scan(text, &mut found);
    (found, scanned.open_ends > 0)
}

/// The insides of fenced blocks, the last first.
fn fences(text: &str) -> Vec<&str> {
    let pieces: Vec<&str> = text.split("```").collect();
    let inside = pieces.iter().skip(1).step_by(2).rev().take(FENCES_MAX);
    // The first line says which language it is.
    let bare = |block: &&'_ str| -> usize {
        let first = block.find('\n').unwrap_or(0);
        if block[..first].contains(['{', '[']) { 0 } else { first }
    };
    inside.map(|block| &block[bare(block)..]).collect()
}

/// What a search for values came to.
struct Scanned {
    /// Places it read on from.
    tries: usize,
    /// Those of them from which it came to the end of the text.
    open_ends: usize,
}

/// Reads on from every brace or bracket that opens something.
fn scan(text: &str, found: &mut Vec<Value>) -> Scanned {
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at);
    let starts: Vec<usize> = starts.filter(|at| may_begin(&text[*at..])).collect();
    let (head, tail) = starts.split_at(starts.len() / 2);
    let tail = &tail[tail.len().saturating_sub(STARTS_HALF_MAX)..];
    let (mut read_to, mut scanned) = (0, Scanned { tries: 0, open_ends: 0 });
    for half in [&head[..head.len().min(STARTS_HALF_MAX)], tail] {
        let mut open_ends = 0;
        for at in half.iter().copied() {
            // Inside what was read already.
            if at < read_to {
                continue;
            }
            scanned.tries += 1;
            let mut values = Deserializer::from_str(&text[at..]).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => {
                    add(value, found);
                    read_to = at + values.byte_offset();
                }
                Some(Err(e)) if e.is_eof() => open_ends += 1,
                _ => {}
            }
            if open_ends > OPEN_ENDS_MAX {
                break;
            }
        }
        scanned.open_ends += open_ends;
    }
    scanned
}

/// Whether an object may begin here, or a list with one in it.
fn may_begin(text: &str) -> bool {
    let next = text[1..].trim_start().chars().next();
    match text.starts_with('{') {
        true => matches!(next, Some('"' | '}') | None),
        false => matches!(next, Some('{' | '[') | None),
    }
}

/// A value, and the objects just inside it.
fn add(value: Value, found: &mut Vec<Value>) {
    let mut left = INNER_MAX;
    inner(&value, INNER_DEPTH_MAX, &mut left, found);
    if value.is_object() {
        found.push(value);
    }
}

fn inner(value: &Value, depth: usize, left: &mut usize, found: &mut Vec<Value>) {
    let items: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return,
    };
    for item in items {
        if item.is_object() && *left > 0 {
            *left -= 1;
            found.push(item.clone());
        }
        if depth > 1 && *left > 0 {
            inner(item, depth - 1, left, found);
        }
    }
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
