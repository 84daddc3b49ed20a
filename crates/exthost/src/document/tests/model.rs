//! Patches done the slow and plain way: the message is taken apart into all its pieces, one piece
//! is changed, and all are put together again. Nothing but that piece can differ.

use crate::document::Patch;
use hl7::{Deep, Separators};

/// What the editor must make of a patch that it takes; none where it must refuse.
pub(super) fn patched(text: &str, patch: &Patch) -> Option<String> {
    let path = Path::parse(&patch.path)?;
    let separators = Separators::of(text);
    let mut lines = lines(text);
    let end = lines.iter().find(|line| !line.0.trim().is_empty()).map(|line| line.1.clone());
    let end = end.filter(|end| !end.is_empty()).unwrap_or("\r".into());
    let is_named =
        |line: &&(String, String)| line.0.split(separators.field).next() == Some(&path.segment);
    let count = lines.iter().filter(is_named).count();
    let at = lines.iter().enumerate().filter(|(_, line)| is_named(line));
    let at = at.map(|(at, _)| at).nth(path.occurrence - 1);
    let Some(numbers) = &path.field else {
        if patch.create {
            if path.segment == "MSH" && path.occurrence > count {
                return None;
            }
            let last = lines.iter().rposition(|line| is_named(&line));
            let last = last.or(lines.iter().rposition(|line| !line.0.trim().is_empty()))?;
            for _ in count..path.occurrence {
                let mut new = (path.segment.clone(), end.clone());
                if lines[last].1.is_empty() {
                    std::mem::swap(&mut lines[last].1, &mut new.1);
                }
                lines.insert(last + 1, new);
            }
            return Some(joined(&lines));
        }
        if !patch.remove || path.segment == "MSH" {
            return None;
        }
        if let Some(at) = at {
            let (_, end) = lines.remove(at);
            if end.is_empty() && at > 0 {
                lines[at - 1].1.clear();
            }
        }
        return Some(joined(&lines));
    };
    let is_header = ["MSH", "FHS", "BHS"].contains(&path.segment.as_str());
    if is_header && numbers.field <= 2 {
        return None;
    }
    let line = &mut lines[at?].0;
    let value = match &patch.value {
        _ if patch.remove => "",
        None | Some(serde_json::Value::Null) => "",
        Some(value) => value.as_str()?,
    };
    let raw = separators.escaped(value)?;
    let field = if is_header { numbers.field - 1 } else { numbers.field };
    let mut way = vec![(Some(separators.field), field)];
    if numbers.repetition.is_some() || numbers.component.is_some() {
        way.push((separators.repetition, numbers.repetition.unwrap_or(1) - 1));
    }
    way.extend(numbers.component.map(|it| (separators.component, it - 1)));
    way.extend(numbers.subcomponent.map(|it| (separators.subcomponent, it - 1)));
    *line = Deep { way: &way, raw: &raw }.put(line)?;
    Some(joined(&lines))
}

fn joined(lines: &[(String, String)]) -> String {
    lines.iter().map(|(line, end)| format!("{line}{end}")).collect()
}

/// Every line and its end.
fn lines(text: &str) -> Vec<(String, String)> {
    let mut lines = vec![];
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(length);
        let end = ["\r\n", "\r", "\n", ""].into_iter().find(|end| tail.starts_with(end)).unwrap();
        lines.push((line.to_string(), end.to_string()));
        rest = &tail[end.len()..];
    }
    lines
}

struct Path {
    segment: String,
    occurrence: usize,
    field: Option<Numbers>,
}

struct Numbers {
    field: usize,
    repetition: Option<usize>,
    component: Option<usize>,
    subcomponent: Option<usize>,
}

impl Path {
    /// Read word by word, unlike in the editor.
    fn parse(text: &str) -> Option<Path> {
        let mut words = vec![];
        let mut word = String::new();
        for c in text.chars() {
            if ".- [".contains(c) {
                words.push(std::mem::take(&mut word));
            }
            word.push(c);
        }
        words.push(word);
        let segment = words.remove(0);
        if segment.chars().count() != 3 || !segment.chars().all(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        let mut words = words.into_iter().peekable();
        let bracket = |words: &mut std::iter::Peekable<std::vec::IntoIter<String>>| {
            let Some(word) = words.next_if(|word| word.starts_with('[')) else { return Some(None) };
            number(word.strip_prefix('[')?.strip_suffix(']')?).map(Some)
        };
        let occurrence = bracket(&mut words)?.unwrap_or(1);
        let Some(field) = words.next() else {
            return Some(Path { segment, occurrence, field: None });
        };
        let field = number(field.strip_prefix(['.', '-', ' '])?)?;
        let repetition = bracket(&mut words)?;
        let mut next = || match words.next() {
            None => Some(None),
            Some(word) => number(word.strip_prefix(['.', '-', ' '])?).map(Some),
        };
        let (component, subcomponent) = (next()?, next()?);
        if words.next().is_some() {
            return None;
        }
        let field = Some(Numbers { field, repetition, component, subcomponent });
        Some(Path { segment, occurrence, field })
    }
}

fn number(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let number: usize = text.parse().ok().filter(|_| is_number)?;
    (1..=9999).contains(&number).then_some(number)
}

/// The message's own part of the model.
mod hl7 {
    pub(super) struct Separators {
        pub(super) field: char,
        pub(super) component: Option<char>,
        pub(super) repetition: Option<char>,
        escape: Option<char>,
        pub(super) subcomponent: Option<char>,
        truncation: Option<char>,
    }

    impl Separators {
        pub(super) fn of(text: &str) -> Separators {
            let mut lines = text.split(['\r', '\n']);
            let first = lines.find(|line| !line.trim().is_empty()).unwrap_or("");
            let is_header = ["MSH", "FHS", "BHS"].iter().any(|name| first.starts_with(name));
            let mut chars = first.chars().skip(3);
            let (field, encoding) = match chars.next() {
                Some(field) if is_header => {
                    (field, chars.take_while(|c| *c != field).collect::<Vec<_>>())
                }
                _ => ('|', vec!['^', '~', '\\', '&']),
            };
            let at = |at: usize| {
                let is_first = |c: &char| !encoding[..at].contains(c);
                encoding.get(at).copied().filter(|c| !c.is_alphanumeric()).filter(is_first)
            };
            Separators {
                field,
                component: at(0),
                repetition: at(1),
                escape: at(2),
                subcomponent: at(3),
                truncation: at(4),
            }
        }

        pub(super) fn escaped(&self, value: &str) -> Option<String> {
            let mut raw = String::new();
            for c in value.chars() {
                let code = match Some(c) {
                    Some('\r') => "X0D",
                    Some('\n') => "X0A",
                    it if it == Some(self.field) => "F",
                    it if it == self.escape => "E",
                    it if it == self.component => "S",
                    it if it == self.subcomponent => "T",
                    it if it == self.repetition => "R",
                    it if it == self.truncation => "P",
                    _ => {
                        raw.push(c);
                        continue;
                    }
                };
                raw += &format!("{0}{code}{0}", self.escape?);
            }
            Some(raw)
        }
    }

    /// Goes down by splitting and comes up by joining.
    pub(super) struct Deep<'a> {
        pub(super) way: &'a [(Option<char>, usize)],
        pub(super) raw: &'a str,
    }

    impl Deep<'_> {
        pub(super) fn put(&self, text: &str) -> Option<String> {
            let Some(((separator, index), way)) = self.way.split_first() else {
                return Some(self.raw.to_string());
            };
            let deeper = Deep { way, raw: self.raw };
            let Some(separator) = separator else {
                return if *index == 0 { deeper.put(text) } else { None };
            };
            let mut pieces: Vec<String> = text.split(*separator).map(str::to_string).collect();
            if pieces.len() <= *index {
                // What has no separator is refused, even where there is nothing to clear.
                deeper.put("")?;
                if self.raw.is_empty() {
                    return Some(text.to_string());
                }
                pieces.resize(index + 1, String::new());
            }
            pieces[*index] = deeper.put(&pieces[*index])?;
            Some(pieces.join(&separator.to_string()))
        }
    }
}
