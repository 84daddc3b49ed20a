//! Patches: each finds the range it names and replaces that.

use super::path::{Field, Path};
use super::{HEADERS, Line, Separators, all_lines, line_end, lines, name, piece_of_field, pieces};
use crate::code;
use crate::document::Patch;
use althing_jsonrpc::Error;
use std::ops::Range;

/// Applies one patch.
pub(in super::super) fn patch(text: &mut String, patch: &Patch) -> Result<(), Error> {
    let path = Path::parse(&patch.path)?;
    let separators = Separators::of(text);
    match path.field {
        None if patch.create => create(text, separators, &path),
        None if patch.remove => remove(text, separators, &path),
        None => Err(code::invalid_path(
            "it names a segment: create or remove it, or name a field to set",
        )),
        Some(field) => {
            let value = if patch.remove { "" } else { patch.text()? };
            let raw = plain(value, separators).map_err(code::validation)?;
            set(text, separators, &path, field, &raw)
        }
    }
}

/// Puts `raw` where the path points, padding what is missing on the way.
fn set(
    text: &mut String,
    separators: Separators,
    path: &Path,
    field: Field,
    raw: &str,
) -> Result<(), Error> {
    if HEADERS.contains(&path.segment) && field.number <= 2 {
        let what = format!("{}.{} are the separators", path.segment, field.number);
        return Err(code::invalid_path(format!("{what} and cannot be changed")));
    }
    let line = find(text, separators.field, path)?;
    let place = place(&text[line.content.clone()], separators, path.segment, field)?;
    let start = line.content.start;
    match place {
        Place::Found(range) => {
            text.replace_range(start + range.start..start + range.end, raw);
        }
        Place::Missing { .. } if raw.is_empty() => {}
        Place::Missing { at, padding } => text.insert_str(start + at, &(padding + raw)),
    }
    Ok(())
}

/// Where a value is, or what has to come before it.
enum Place {
    Found(Range<usize>),
    Missing { at: usize, padding: String },
}

fn place(line: &str, separators: Separators, segment: &str, field: Field) -> Result<Place, Error> {
    let mut range = 0..line.len();
    let mut padding: Option<String> = None;
    for (separator, index, what) in steps(separators, segment, field) {
        let inside = if padding.is_some() { "" } else { &line[range.clone()] };
        let mut count = 0;
        let mut found = None;
        for piece in pieces(inside, separator) {
            if count == index {
                found = Some(piece);
                break;
            }
            count += 1;
        }
        match (found, separator) {
            (Some(_), _) if padding.is_some() => {}
            (Some(piece), _) => range = range.start + piece.start..range.start + piece.end,
            (None, Some(separator)) => {
                let missing = index + 1 - count;
                let padding = padding.get_or_insert_default();
                padding.extend(std::iter::repeat_n(separator, missing));
            }
            (None, None) => {
                let what = format!("the message has no separator of {what}");
                return Err(code::path_not_found(what));
            }
        }
    }
    Ok(match padding {
        None => Place::Found(range),
        Some(padding) => Place::Missing { at: range.end, padding },
    })
}

/// The way from a line to what the path names: separator, place among the pieces, name.
fn steps(
    separators: Separators,
    segment: &str,
    field: Field,
) -> impl Iterator<Item = (Option<char>, usize, &'static str)> {
    let is_deeper = field.component.is_some();
    let repetition = field.repetition.or(is_deeper.then_some(1));
    let number = piece_of_field(segment, field.number);
    [
        (Some(separators.field), Some(number + 1), "fields"),
        (separators.repetition, repetition, "repetitions"),
        (separators.component, field.component, "components"),
        (separators.subcomponent, field.subcomponent, "subcomponents"),
    ]
    .into_iter()
    .filter_map(|(separator, number, what)| Some((separator, number? - 1, what)))
}

/// The line of the segment that the path names.
fn find(text: &str, field: char, path: &Path) -> Result<Line, Error> {
    let Path { segment, occurrence, .. } = *path;
    of_name(text, field, segment).nth(occurrence - 1).ok_or_else(|| {
        let index = if occurrence > 1 { format!("[{occurrence}]") } else { String::new() };
        code::path_not_found(format!("Segment {segment}{index} not found"))
    })
}

fn of_name(text: &str, field: char, segment: &str) -> impl Iterator<Item = Line> {
    all_lines(text).filter(move |line| {
        let content = &text[line.content.clone()];
        content.starts_with(segment) && name(content, field) == segment
    })
}

/// Makes sure that so many segments of this name exist.
fn create(text: &mut String, separators: Separators, path: &Path) -> Result<(), Error> {
    let mut count = 0;
    let mut last = None;
    for line in of_name(text, separators.field, path.segment) {
        count += 1;
        last = Some(line);
    }
    if path.segment == "MSH" && path.occurrence > count {
        return Err(code::invalid_path("Cannot create a second MSH segment"));
    }
    let missing = path.occurrence.saturating_sub(count);
    if missing == 0 {
        return Ok(());
    }
    let end = line_end(text).to_string();
    let Some(line) = last.or_else(|| lines(text).last()) else {
        return Err(code::no_message());
    };
    if line.next > line.content.end {
        text.insert_str(line.next, &format!("{}{end}", path.segment).repeat(missing));
    } else {
        text.push_str(&format!("{end}{}", path.segment).repeat(missing));
    }
    Ok(())
}

/// Removes the one segment that the path names; where there is none, that is done already.
fn remove(text: &mut String, separators: Separators, path: &Path) -> Result<(), Error> {
    if path.segment == "MSH" {
        return Err(code::invalid_path("Cannot remove MSH segment"));
    }
    let Ok(line) = find(text, separators.field, path) else { return Ok(()) };
    text.replace_range(whole(text, &line), "");
    Ok(())
}

/// A line with its end; the last one, if it has none, with the end before it.
pub(super) fn whole(text: &str, line: &Line) -> Range<usize> {
    let Range { start, end } = line.content;
    if line.next > end {
        return start..line.next;
    }
    let before = &text[..start];
    let ending = ["\r\n", "\r", "\n"].into_iter().find(|ending| before.ends_with(ending));
    start - ending.map_or(0, str::len)..end
}

/// Plain text as it stands in a message.
pub(super) fn plain(value: &str, separators: Separators) -> Result<String, String> {
    encoded(value, separators.escape, separators)
}

/// A raw value of a tree as it stands in a message: its escape sequences stay, while separators,
/// which no such value of ours has, are encoded.
pub(super) fn raw(value: &str, separators: Separators) -> Result<String, String> {
    let special = Separators { escape: None, truncation: None, ..separators };
    encoded(value, separators.escape, special)
}

fn encoded(value: &str, escape: Option<char>, special: Separators) -> Result<String, String> {
    let mut raw = String::with_capacity(value.len());
    for c in value.chars() {
        let Some(code) = code_of(c, special) else {
            raw.push(c);
            continue;
        };
        let Some(escape) = escape else {
            return Err(format!("value: {c:?} separates, and there is no escape character"));
        };
        raw.extend([escape].into_iter().chain(code.chars()).chain([escape]));
    }
    Ok(raw)
}

fn code_of(c: char, special: Separators) -> Option<&'static str> {
    let is = |separator: Option<char>| separator == Some(c);
    Some(match c {
        '\r' => "X0D",
        '\n' => "X0A",
        _ if c == special.field => "F",
        _ if is(special.escape) => "E",
        _ if is(special.component) => "S",
        _ if is(special.subcomponent) => "T",
        _ if is(special.repetition) => "R",
        _ if is(special.truncation) => "P",
        _ => return None,
    })
}
