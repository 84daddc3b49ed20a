//! HL7 v2 by its bytes: every part is a range of the text, and a change replaces one range. What is
//! not named stays as it is, however odd.

mod edit;
mod merge;
mod path;
mod tree;

pub(super) use edit::patch;
pub(super) use merge::merge;
pub(super) use tree::tree;

use memchr::memchr2_iter;
use std::ops::Range;

/// Segments whose first field is the separator itself.
const HEADERS: &[&str] = &["MSH", "FHS", "BHS"];

/// The characters between the parts of a message, as its first line has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Separators {
    field: char,
    component: Option<char>,
    repetition: Option<char>,
    escape: Option<char>,
    subcomponent: Option<char>,
    /// The fifth one, since HL7 2.7.
    truncation: Option<char>,
}

impl Separators {
    /// What a message that does not say has.
    const USUAL: (&str, &str) = ("|", "^~\\&");

    fn of(text: &str) -> Separators {
        let line = lines(text).next().map_or("", |line| &text[line.content]);
        let is_header = HEADERS.iter().any(|name| line.starts_with(name));
        let field = line.chars().nth(3).filter(|_| is_header);
        let Some(field) = field else {
            return Separators::from(Self::USUAL.0, Self::USUAL.1).expect("constants");
        };
        let encoding = line[3..].split(field).nth(1).unwrap_or_default();
        Separators::with(field, encoding)
    }

    /// By the values of MSH.1 and MSH.2.
    fn from(field: &str, encoding: &str) -> Result<Separators, String> {
        let mut chars = field.chars();
        let (Some(field), None) = (chars.next(), chars.next()) else {
            return Err("MSH.1: expected one character".into());
        };
        if field.is_alphanumeric() || field.is_whitespace() || field.is_control() {
            return Err(
                "MSH.1: a letter, digit, blank or control character separates nothing".into()
            );
        }
        if encoding.contains(field) || encoding.contains(['\r', '\n']) {
            return Err("MSH.2: it has a separator in it".into());
        }
        Ok(Separators::with(field, encoding))
    }

    fn with(field: char, encoding: &str) -> Separators {
        // What may stand in an escape sequence cannot separate, and what separates already separates
        // nothing else: a path would lead to another place than it names.
        let mut chars = encoding.char_indices().map(|(at, c)| {
            let is_taken = encoding[..at].contains(c);
            Some(c).filter(|c| !c.is_alphanumeric() && !is_taken)
        });
        let mut next = || chars.next().flatten();
        let [component, repetition, escape] = [next(), next(), next()];
        let [subcomponent, truncation] = [next(), next()];
        Separators { field, component, repetition, escape, subcomponent, truncation }
    }
}

/// A line of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// Without its end.
    content: Range<usize>,
    /// Where the next one begins.
    next: usize,
}

/// The lines that are not blank.
fn lines(text: &str) -> impl Iterator<Item = Line> {
    all_lines(text).filter(|line| !text[line.content.clone()].trim().is_empty())
}

/// All lines; they end with CR, LF or both.
fn all_lines(text: &str) -> impl Iterator<Item = Line> {
    let bytes = text.as_bytes();
    let mut ends = memchr2_iter(b'\r', b'\n', bytes);
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= bytes.len() {
            return None;
        }
        let end = ends.next().unwrap_or(bytes.len());
        let mut next = (end + 1).min(bytes.len());
        if bytes[end..].starts_with(b"\r\n") {
            ends.next();
            next += 1;
        }
        let content = start..end;
        start = next;
        Some(Line { content, next })
    })
}

/// How the lines of a message end; like the first one.
fn line_end(text: &str) -> &str {
    match lines(text).next() {
        Some(line) if line.next > line.content.end => {
            let end = &text[line.content.end..line.next];
            if end.is_empty() { "\r" } else { end }
        }
        _ => "\r",
    }
}

/// What stands before the first separator.
fn name(line: &str, field: char) -> &str {
    line.split(field).next().unwrap_or(line)
}

/// The pieces of `text` between separators, as ranges; one piece where there is no separator.
fn pieces(text: &str, separator: Option<char>) -> impl Iterator<Item = Range<usize>> {
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let from = start?;
        let found =
            separator.and_then(|separator| Some((text[from..].find(separator)?, separator)));
        let Some((length, separator)) = found else {
            start = None;
            return Some(from..text.len());
        };
        start = Some(from + length + separator.len_utf8());
        Some(from..from + length)
    })
}

/// Which piece of a line a field is, the name being piece 0.
fn piece_of_field(name: &str, field: usize) -> usize {
    if HEADERS.contains(&name) { field - 1 } else { field }
}

/// Whether a text can be a message at all.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("Message is empty".into());
    }
    let Some(rest) = text.strip_prefix("MSH") else {
        return Err("Message must start with MSH segment".into());
    };
    let Some(field) = rest.chars().next() else {
        return Err("Invalid HL7 message: no field separator after MSH".into());
    };
    let encoding = rest[field.len_utf8()..].split([field, '\r', '\n']).next().unwrap_or_default();
    Separators::from(&field.to_string(), encoding)
        .map(drop)
        .map_err(|what| format!("Invalid HL7 message: {what}"))
}
