//! Words of texts, for comparisons that must be the same everywhere.

use serde_json::Value;
use std::collections::HashSet;

/// Shorter words say nothing about what a sentence is about.
const TELLING_CHARS_MIN: usize = 4;

/// The words of `text` in small letters, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).map(str::to_lowercase)
}

/// The words that say what `text` is about; all of them where none is long enough.
pub(super) fn telling(text: &str) -> HashSet<String> {
    let long: HashSet<String> =
        words(text).filter(|word| word.chars().count() >= TELLING_CHARS_MIN).collect();
    if long.is_empty() { words(text).collect() } else { long }
}

/// Which part of the telling words of `text` is among `known`, 0 to 1.
pub(super) fn share(text: &str, known: &HashSet<String>) -> f64 {
    let telling = telling(text);
    if telling.is_empty() {
        return 1.0;
    }
    let hits = telling.iter().filter(|word| known.contains(*word)).count();
    hits as f64 / telling.len() as f64
}

/// Every text inside a value, keys excluded, in order.
pub(super) fn texts<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(items) => items.iter().for_each(|it| texts(it, out)),
        Value::Object(fields) => fields.values().for_each(|it| texts(it, out)),
        _ => {}
    }
}

/// Changes every text inside a value, keys excluded.
pub(super) fn change(value: &mut Value, with: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = with(text),
        Value::Array(items) => items.iter_mut().for_each(|it| change(it, with)),
        Value::Object(fields) => fields.values_mut().for_each(|it| change(it, with)),
        _ => {}
    }
}

/// FNV-1a: the same number for the same text on every machine and in every release.
pub(super) fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
