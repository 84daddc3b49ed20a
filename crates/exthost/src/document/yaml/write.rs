//! Trees as YAML in blocks. Every value that is text has quotes, so that no reader takes it for a
//! number, a date or a word of its own.

use serde_json::Value;
use std::fmt::Write;

/// A tree. With `is_bare`, keys that are numbers have no quotes.
pub(in super::super) fn write(tree: &Value, is_bare: bool) -> String {
    let mut out = String::new();
    match tree {
        Value::Object(members) if !members.is_empty() => block(tree, 0, is_bare, &mut out),
        Value::Array(elements) if !elements.is_empty() => block(tree, 0, is_bare, &mut out),
        _ => {
            out.push_str(&flow(tree));
            out.push('\n');
        }
    }
    out
}

/// The lines of a map or list that is not empty. The first goes on where `out` ends.
fn block(tree: &Value, indent: usize, is_bare: bool, out: &mut String) {
    let mut before = "";
    let blanks = " ".repeat(indent);
    match tree {
        Value::Object(members) => {
            for (name, value) in members {
                out.push_str(before);
                out.push_str(&key(name, is_bare));
                out.push(':');
                nested(value, indent, is_bare, out);
                before = &blanks;
            }
        }
        Value::Array(elements) => {
            for value in elements {
                out.push_str(before);
                out.push('-');
                if is_block(value) {
                    out.push(' ');
                    block(value, indent + 2, is_bare, out);
                } else {
                    nested(value, indent, is_bare, out);
                }
                before = &blanks;
            }
        }
        _ => {}
    }
}

/// What follows a key or a dash.
fn nested(value: &Value, indent: usize, is_bare: bool, out: &mut String) {
    if is_block(value) {
        out.push('\n');
        out.push_str(&" ".repeat(indent + 2));
        block(value, indent + 2, is_bare, out);
    } else {
        out.push(' ');
        out.push_str(&flow(value));
        out.push('\n');
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        _ => false,
    }
}

fn key(name: &str, is_bare: bool) -> String {
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !WORDS.contains(&name.to_ascii_lowercase().as_str());
    if is_word || (is_bare && is_number) { name.to_string() } else { flow(&name.into()) }
}

/// What some reader takes for a value that is no text.
const WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// A tree on one line: JSON, with an escape for what YAML does not take as it is.
pub(super) fn flow(value: &Value) -> String {
    let json = value.to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("strings take all");
            }
            c => out.push(c),
        }
    }
    out
}
