//! A message as a tree of raw values, as Hermes extensions know it:
//! `{"segments":[{"segment":"PID","fields":{"3":{"1":"123"}}}]}`. What is empty is left out, except
//! for repetitions, whose place counts.

use super::super::INDEX_MAX;
use super::{HEADERS, Separators, lines, pieces};
use serde_json::{Map, Value, json};

/// All segments of a message.
pub(in super::super) fn tree(text: &str) -> Result<Value, String> {
    super::check(text)?;
    let separators = Separators::of(text);
    if lines(text).any(|line| is_too_wide(&text[line.content], separators)) {
        // Their numbers could not come back.
        return Err(format!("a part of it has over {INDEX_MAX} parts"));
    }
    let segments = lines(text).map(|line| segment(&text[line.content], separators));
    Ok(json!({ "segments": segments.collect::<Vec<_>>() }))
}

/// Whether a part of a line has a number that no path and no view may have.
fn is_too_wide(line: &str, separators: Separators) -> bool {
    // Nearly all lines are too short for so many.
    if line.len() < INDEX_MAX {
        return false;
    }
    let is_wide = |raw, separator| parts(raw, separator).nth(INDEX_MAX).is_some();
    let fields = || parts(line, Some(separators.field));
    let mut repetitions = fields().flat_map(|field| parts(field, separators.repetition));
    fields().nth(INDEX_MAX + 1).is_some()
        || repetitions.any(|raw| {
            let mut components = parts(raw, separators.component);
            is_wide(raw, separators.component)
                || components.any(|raw| is_wide(raw, separators.subcomponent))
        })
}

/// One line.
pub(super) fn segment(line: &str, separators: Separators) -> Value {
    let mut raw = pieces(line, Some(separators.field)).map(|piece| &line[piece]);
    let name = raw.next().unwrap_or_default();
    let mut fields = Map::new();
    let mut number = 1;
    if HEADERS.contains(&name)
        && let Some(encoding) = raw.next()
    {
        fields.insert("1".into(), separators.field.to_string().into());
        fields.insert("2".into(), encoding.into());
        number = 3;
    }
    for (raw, number) in raw.zip(number..) {
        if let Some(value) = field(raw, separators) {
            fields.insert(number.to_string(), value);
        }
    }
    json!({ "segment": name, "fields": fields })
}

/// A field; none if it is empty.
pub(super) fn field(raw: &str, separators: Separators) -> Option<Value> {
    let repetitions: Vec<_> = parts(raw, separators.repetition).collect();
    match repetitions[..] {
        [raw] => repetition(raw, separators),
        _ => Some(repetitions.into_iter().map(|raw| repetition(raw, separators)).collect()),
    }
}

fn repetition(raw: &str, separators: Separators) -> Option<Value> {
    let component = |raw| numbered(parts(raw, separators.subcomponent).map(text));
    let components = parts(raw, separators.component).map(|raw| plain(component(raw)?));
    let mut components = numbered(components)?;
    // A single component needs no number, unless it has parts of its own.
    match components.get("1") {
        Some(Value::String(_)) if components.len() == 1 => components.remove("1"),
        _ => Some(Value::Object(components)),
    }
}

fn parts(raw: &str, separator: Option<char>) -> impl Iterator<Item = &str> {
    pieces(raw, separator).map(|piece| &raw[piece])
}

fn text(raw: &str) -> Option<Value> {
    (!raw.is_empty()).then(|| raw.into())
}

/// The parts that are not empty, by their numbers; none if there is none.
fn numbered(parts: impl Iterator<Item = Option<Value>>) -> Option<Map<String, Value>> {
    let numbered = (1..).zip(parts).filter_map(|(number, part)| Some((number.to_string(), part?)));
    Some(numbered.collect::<Map<_, _>>()).filter(|parts| !parts.is_empty())
}

/// A component with only a first part is that part.
fn plain(mut parts: Map<String, Value>) -> Option<Value> {
    match parts.len() {
        1 if parts.contains_key("1") => parts.remove("1"),
        _ => Some(Value::Object(parts)),
    }
}
