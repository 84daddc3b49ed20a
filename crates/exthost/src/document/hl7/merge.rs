//! A tree put into a message. What the tree says as the message did keeps its bytes, so that a tree
//! that comes back as it went changes nothing.

use super::super::INDEX_MAX;
use super::edit::{raw, whole};
use super::{HEADERS, Line, Separators, line_end, lines, name, pieces, tree};
use serde_json::{Map, Value};

/// The text of the message `text` after it got the segments of `tree`.
pub(in super::super) fn merge(text: &str, tree: &Value) -> Result<String, String> {
    let segments = tree.get("segments").and_then(Value::as_array);
    let segments = segments.ok_or("expected an object with a list of segments")?;
    let (separators, encoding) = separators(segments)?;
    let encodings = [Some(encoding.as_str())].into_iter().chain(std::iter::repeat(None));
    let wanted = segments.iter().zip(encodings);
    let wanted = wanted.map(|(segment, encoding)| line(segment, separators, encoding));
    let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
    let present: Vec<Line> = lines(text).collect();
    if present.is_empty() || Separators::of(text) != separators {
        return Ok(wanted.join(line_end(text)));
    }
    Ok(Merge { text, separators, present, wanted }.run())
}

/// The separators, and the text of MSH.2; where the tree does not say, the usual ones.
fn separators(segments: &[Value]) -> Result<(Separators, String), String> {
    let Some(first) = segments.first() else { return Err("Message is empty".into()) };
    if first.get("segment").and_then(Value::as_str) != Some("MSH") {
        return Err("Message must start with MSH segment".into());
    }
    let given = |number: &str, usual: &'static str| {
        let value = first.get("fields").and_then(|fields| fields.get(number));
        value.and_then(Value::as_str).map_or(usual, |given| given).to_string()
    };
    let (field, encoding) = Separators::USUAL;
    let encoding = given("2", encoding);
    Ok((Separators::from(&given("1", field), &encoding)?, encoding))
}

/// A segment of a tree as a line. `encoding` is what the first has for MSH.2.
fn line(segment: &Value, separators: Separators, encoding: Option<&str>) -> Result<String, String> {
    let name = segment.get("segment").and_then(Value::as_str);
    let name = name.ok_or("segment: expected the name of a segment")?;
    if name.contains([separators.field, '\r', '\n']) {
        return Err(format!("segment: {name:?} is no name"));
    }
    let fields = match segment.get("fields") {
        None | Some(Value::Null) => &Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err(format!("fields of {name}: expected an object")),
    };
    let is_header = HEADERS.contains(&name);
    let mut pieces = vec![name.to_string()];
    pieces.extend(encoding.map(str::to_string));
    for (key, value) in fields {
        // What is no number is no field, and none of our business.
        let Ok(number) = key.parse::<usize>() else { continue };
        if is_header && number == 1 {
            pieces.resize(pieces.len().max(2), String::new());
            continue;
        }
        let raw = match value {
            Value::String(encoding) if is_header && number == 2 => {
                encoding_of(encoding, separators)
            }
            value => field(value, separators),
        };
        let piece = number.saturating_sub(usize::from(is_header));
        put(&mut pieces, piece, raw.map_err(|what| format!("{name}.{key}: {what}"))?)
            .map_err(|what| format!("{name}.{key}: {what}"))?;
    }
    let mut line = join(pieces, Some(separators.field))?;
    if line.trim().is_empty() {
        // Without it the line would be blank, and no segment.
        line.push(separators.field);
    }
    Ok(line)
}

fn encoding_of(encoding: &str, separators: Separators) -> Result<String, String> {
    if encoding.contains([separators.field, '\r', '\n']) {
        return Err("it has a separator in it".into());
    }
    Ok(encoding.to_string())
}

/// Puts the piece `index` in its place, which counts from 1 here: 0 is the name.
fn put(pieces: &mut Vec<String>, index: usize, raw: String) -> Result<(), String> {
    if !(1..=INDEX_MAX).contains(&index) {
        return Err(format!("expected a number from 1 to {INDEX_MAX}"));
    }
    if pieces.len() <= index && !raw.is_empty() {
        pieces.resize(index + 1, String::new());
    }
    if let Some(piece) = pieces.get_mut(index) {
        *piece = raw;
    }
    Ok(())
}

fn join(pieces: Vec<String>, separator: Option<char>) -> Result<String, String> {
    match (separator, pieces.len()) {
        (Some(separator), _) => Ok(pieces.join(separator.encode_utf8(&mut [0; 4]))),
        (None, 0 | 1) => Ok(pieces.concat()),
        (None, _) => Err("the message has no separator for this".into()),
    }
}

fn field(value: &Value, separators: Separators) -> Result<String, String> {
    let Value::Array(repetitions) = value else { return repetition(value, separators) };
    let repetitions = repetitions.iter().map(|value| repetition(value, separators));
    join(repetitions.collect::<Result<_, _>>()?, separators.repetition)
}

fn repetition(value: &Value, separators: Separators) -> Result<String, String> {
    parts(value, separators.component, &|component| {
        parts(component, separators.subcomponent, &|leaf| scalar(leaf, separators))
    })
}

/// The numbered parts of a value, or the value as the first and only one.
fn parts(
    value: &Value,
    separator: Option<char>,
    part: &dyn Fn(&Value) -> Result<String, String>,
) -> Result<String, String> {
    let Value::Object(numbered) = value else { return part(value) };
    // Number 0 stays empty and is cut off: the parts of a field have no name before them.
    let mut pieces = vec![String::new()];
    for (key, value) in numbered {
        let number = key.parse().map_err(|_| format!("{key:?} is no number of a component"))?;
        put(&mut pieces, number, part(value)?)?;
    }
    pieces.remove(0);
    join(pieces, separator)
}

fn scalar(value: &Value, separators: Separators) -> Result<String, String> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => raw(text, separators),
        Value::Bool(_) | Value::Number(_) => raw(&value.to_string(), separators),
        Value::Array(_) | Value::Object(_) => Err("expected text".into()),
    }
}

/// The lines of a message, and those it is to have.
struct Merge<'a> {
    text: &'a str,
    separators: Separators,
    present: Vec<Line>,
    wanted: Vec<String>,
}

impl Merge<'_> {
    /// Leaves alone what is the same at both ends, and changes what is between.
    fn run(&self) -> String {
        let (old, new) = (self.present.len(), self.wanted.len());
        let shorter = old.min(new);
        let start = (0..shorter).take_while(|&at| self.is_same(at, at)).count();
        let rest = shorter - start;
        let end = (1..=rest).take_while(|at| self.is_same(old - at, new - at)).count();
        let (old, new) = (start..old - end, start..new - end);
        let mut text = self.text.to_string();
        if old.len() == new.len() {
            for at in old.rev() {
                text.replace_range(self.present[at].content.clone(), &self.changed(at));
            }
        } else if new.is_empty() {
            for at in old.rev() {
                text.replace_range(whole(&text, &self.present[at]), "");
            }
        } else {
            let end = line_end(self.text);
            let lines = self.wanted[new].join(end);
            match (self.present.get(old.start), self.present.get(old.end.wrapping_sub(1))) {
                (Some(first), Some(last)) if !old.is_empty() => {
                    text.replace_range(first.content.start..last.content.end, &lines);
                }
                (Some(next), _) => text.insert_str(next.content.start, &(lines + end)),
                (None, last) => {
                    let at = last.map_or(0, |last| last.content.end);
                    text.insert_str(at, &(end.to_string() + &lines));
                }
            }
        }
        text
    }

    fn old(&self, at: usize) -> &str {
        &self.text[self.present[at].content.clone()]
    }

    fn is_same(&self, old: usize, new: usize) -> bool {
        let (old, new) = (self.old(old), self.wanted[new].as_str());
        let tree = |line| tree::segment(line, self.separators);
        old == new || tree(old) == tree(new)
    }

    /// The line `at`, with only those fields changed that are to be.
    fn changed(&self, at: usize) -> String {
        let (old, new) = (self.old(at), self.wanted[at].as_str());
        let field = Some(self.separators.field);
        if name(old, self.separators.field) != name(new, self.separators.field) {
            return new.to_string();
        }
        let old: Vec<_> = pieces(old, field).map(|piece| &old[piece]).collect();
        let new: Vec<_> = pieces(new, field).map(|piece| &new[piece]).collect();
        let value = |raw| tree::field(raw, self.separators);
        let is_header = HEADERS.contains(&old[0]);
        let merged = (0..old.len().max(new.len())).map(|at| {
            let (old, new) = (old.get(at).copied(), new.get(at).copied().unwrap_or_default());
            let is_value = !(is_header && at == 1);
            let same = old.filter(|old| is_value && value(old) == value(new));
            same.unwrap_or(new).to_string()
        });
        merged.collect::<Vec<_>>().join(self.separators.field.encode_utf8(&mut [0; 4]))
    }
}
