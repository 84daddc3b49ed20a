//! Where the values of a text are, and where one should be that cannot be read.

use super::super::loose_json::{self, Flaw, Stop};
use serde_json::{Deserializer, Value};
use std::ops::Range;

/// Places at which a value may begin, counted from either end of the text; those between are not
/// tried, so a flood of braces stays cheap and what stands before or after it is found.
pub(super) const STARTS_HALF_MAX: usize = 2_000;
/// Values of one half that run to the end of the text without closing; each costs a look at all the
/// rest.
pub(super) const OPEN_ENDS_MAX: usize = 12;
/// Bytes that are read once more, to mend them or to name what is wrong; then only what is right as it
/// stands is found.
const LOOSE_BYTES_MAX: usize = 16 << 20;
/// Broken values of one half that are remembered; the first are the outermost.
const BROKEN_MAX: usize = 16;
/// Fenced blocks looked at, from the last.
const FENCES_MAX: usize = 64;
/// Values inside a value that is not what was asked for: an envelope around the plan.
const INNER_MAX: usize = 64;
const INNER_DEPTH_MAX: usize = 3;

/// How models mark what they only thought.
const THOUGHT_TAGS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis", "<|end|>"),
];

/// An object of the text.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub value: Value,
    /// Where it stands; an object inside another has the place of that.
    pub place: Range<usize>,
    /// What had to be mended to read it.
    pub repairs: Vec<Flaw>,
}

/// An object that begins and cannot be read.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    pub at: usize,
    pub stop: Stop,
}

/// All that a search came to.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub candidates: Vec<Candidate>,
    pub broken: Vec<Broken>,
    /// Something was found in closed thoughts and left there.
    pub is_only_thought: bool,
}

/// Every object in `text`, without those that were only thought.
pub(super) fn search(text: &str) -> Found {
    let mut found = Found::default();
    if let Ok(whole) = serde_json::from_str::<Value>(text.trim()) {
        add(whole, 0..text.len(), vec![], &mut found.candidates);
        return found;
    }
    for block in fences(text) {
        if let Ok(value) = serde_json::from_str::<Value>(text[block.clone()].trim()) {
            add(value, block, vec![], &mut found.candidates);
        }
    }
    scan(text, &mut found);
    leave_thoughts(text, found)
}

/// Takes out what stands in thoughts. Of thoughts that do not end the answer may be a part.
fn leave_thoughts(text: &str, mut found: Found) -> Found {
    let places: Vec<Range<usize>> = found.candidates.iter().map(|it| it.place.clone()).collect();
    let thoughts = thoughts(text, &places);
    let is_in = |at: usize, is_closed: bool| {
        thoughts.iter().any(|it| it.is_closed == is_closed && it.place.contains(&at))
    };
    let had_any = !found.candidates.is_empty() || !found.broken.is_empty();
    found.candidates.retain(|it| !is_in(it.place.start, true));
    found.broken.retain(|it| !is_in(it.at, true));
    found.is_only_thought = had_any && found.candidates.is_empty() && found.broken.is_empty();
    if found.candidates.iter().any(|it| !is_in(it.place.start, false)) {
        found.candidates.retain(|it| !is_in(it.place.start, false));
        found.broken.retain(|it| !is_in(it.at, false));
    } else if let Some(last) = found.candidates.iter().map(|it| it.place.start).max()
        && is_in(last, false)
    {
        // A thought that nobody ended: drafts come first, and the answer last.
        found.candidates.retain(|it| it.place.start == last);
        found.broken.retain(|it| it.at > last);
    }
    found
}

struct Thought {
    place: Range<usize>,
    is_closed: bool,
}

/// Where thoughts stand. Tags inside a value are a part of it.
fn thoughts(text: &str, values: &[Range<usize>]) -> Vec<Thought> {
    let mut all = Vec::new();
    let small = text.to_ascii_lowercase();
    for (open, close) in THOUGHT_TAGS {
        let is_bare = |at: &usize| !values.iter().any(|it| it.start < *at && *at < it.end);
        let places = |tag: &str| -> Vec<usize> {
            small.match_indices(tag).map(|(at, _)| at).filter(is_bare).collect()
        };
        let (opens, closes) = (places(open), places(close));
        // Some models are made to begin with a thought and only end it.
        if let Some(end) = closes.iter().rfind(|end| opens.first().is_none_or(|open| open > *end)) {
            all.push(Thought { place: 0..*end, is_closed: true });
        }
        let mut read_to = 0;
        for at in opens {
            if at < read_to {
                continue;
            }
            let end = closes.iter().copied().find(|end| *end > at);
            read_to = end.unwrap_or(text.len());
            all.push(Thought { place: at..read_to, is_closed: end.is_some() });
        }
    }
    all
}

/// The insides of fenced blocks, the last first.
fn fences(text: &str) -> Vec<Range<usize>> {
    let marks: Vec<usize> = text.match_indices("```").map(|(at, _)| at).collect();
    let block = |pair: &[usize]| {
        let start = pair[0] + 3;
        let end = pair.get(1).copied().unwrap_or(text.len());
        // The first line says which language it is.
        let first = text[start..end].find('\n').unwrap_or(0);
        let is_language = !text[start..start + first].contains(['{', '[']);
        if is_language { start + first..end } else { start..end }
    };
    let blocks: Vec<Range<usize>> = marks.chunks(2).map(block).collect();
    blocks.into_iter().rev().take(FENCES_MAX).collect()
}

/// What a search for values came to.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Places it read on from.
    pub tries: usize,
    /// Those of them from which it came to the end of the text.
    pub open_ends: usize,
    /// Bytes that were read loosely.
    loose_bytes: usize,
}

/// Reads on from every brace or bracket that opens something.
pub(super) fn scan(text: &str, found: &mut Found) -> Scanned {
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at);
    let starts: Vec<usize> = starts.filter(|at| may_begin(&text[*at..])).collect();
    let (head, tail) = starts.split_at(starts.len() / 2);
    let tail = &tail[tail.len().saturating_sub(STARTS_HALF_MAX)..];
    let (mut read_to, mut scanned) = (0, Scanned::default());
    for half in [&head[..head.len().min(STARTS_HALF_MAX)], tail] {
        let before = scanned.open_ends;
        // Inside a broken value the next ones are its parts.
        let (mut broken_to, mut broken) = (0, 0);
        for at in half.iter().copied().filter(|at| text.is_char_boundary(*at)) {
            // Inside what was read already.
            if at < read_to {
                continue;
            }
            scanned.tries += 1;
            match read(text, at, &mut scanned) {
                Ok(candidate) => {
                    read_to = candidate.place.end;
                    add(candidate.value, candidate.place, candidate.repairs, &mut found.candidates);
                }
                Err(Some(stop)) if at >= broken_to && broken < BROKEN_MAX => {
                    broken_to = stop.flaw.at;
                    broken += 1;
                    found.broken.push(Broken { at, stop });
                }
                Err(_) => {}
            }
            if scanned.open_ends - before > OPEN_ENDS_MAX {
                break;
            }
        }
    }
    scanned
}

/// The value that begins here: as it stands, or mended.
fn read(text: &str, at: usize, scanned: &mut Scanned) -> Result<Candidate, Option<Stop>> {
    let mut values = Deserializer::from_str(&text[at..]).into_iter::<Value>();
    let is_open = match values.next() {
        Some(Ok(value)) => {
            let place = at..at + values.byte_offset();
            return Ok(Candidate { value, place, repairs: vec![] });
        }
        Some(Err(e)) => e.is_eof(),
        None => false,
    };
    scanned.open_ends += usize::from(is_open);
    if scanned.loose_bytes > LOOSE_BYTES_MAX {
        return Err(None);
    }
    match loose_json::read_value(text, at) {
        Ok(loose) => {
            scanned.loose_bytes += loose.end - at;
            Ok(Candidate { value: loose.value, place: at..loose.end, repairs: loose.repairs })
        }
        Err(stop) => {
            scanned.loose_bytes += stop.flaw.at - at;
            scanned.open_ends += usize::from(stop.is_end && !is_open);
            Err(Some(stop))
        }
    }
}

/// Whether an object may begin here, or a list with one in it.
fn may_begin(text: &str) -> bool {
    let next = text[1..].trim_start().chars().next();
    match text.starts_with('{') {
        true => matches!(next, Some('"' | '}' | '/') | None),
        false => matches!(next, Some('{' | '[') | None),
    }
}

/// A value, and the objects just inside it.
fn add(value: Value, place: Range<usize>, repairs: Vec<Flaw>, found: &mut Vec<Candidate>) {
    let mut left = INNER_MAX;
    let mut all = Vec::new();
    inner(&value, INNER_DEPTH_MAX, &mut left, &mut all);
    if value.is_object() {
        all.push(value);
    }
    let candidate = |value| Candidate { value, place: place.clone(), repairs: repairs.clone() };
    found.extend(all.into_iter().map(candidate));
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
