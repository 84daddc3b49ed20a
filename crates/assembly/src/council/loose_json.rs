//! JSON as models really write it: what can only mean one thing is mended and told, and where nothing
//! can be read the place is named.

use serde_json::{Map, Value};

/// Deeper values are none that anybody asked for.
const DEPTH_MAX: usize = 100;
/// Repairs that are told; the others are made too.
const REPAIRS_TOLD_MAX: usize = 20;

/// A value that was read.
#[derive(Debug)]
pub struct LooseValue {
    pub value: Value,
    /// Where the text goes on behind it.
    pub end: usize,
    /// What was mended, in order.
    pub repairs: Vec<Flaw>,
    /// Names that an object has twice; the last one counts.
    pub repeated_names: Vec<Flaw>,
}

/// Something wrong at a place of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    pub at: usize,
    pub what: String,
}

/// Why and where reading stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub flaw: Flaw,
    /// The text ended before the value did.
    pub is_end: bool,
}

/// Reads the value that begins at byte `at` of `text`.
pub fn read_value(text: &str, at: usize) -> Result<LooseValue, Stop> {
    let mut reader = Reader { text, at, depth: 0, repairs: Vec::new(), repeated_names: Vec::new() };
    let value = reader.value()?;
    let Reader { at: end, repairs, repeated_names, .. } = reader;
    Ok(LooseValue { value, end, repairs, repeated_names })
}

/// Line and column of a byte, both from 1; columns count characters.
pub fn find_place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    repairs: Vec<Flaw>,
    repeated_names: Vec<Flaw>,
}

type Read<T> = Result<T, Stop>;

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes `c` where it is next.
    fn take(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        self.at += if is_next { c.len_utf8() } else { 0 };
        is_next
    }

    fn stop<T>(&self, what: impl Into<String>) -> Read<T> {
        let is_end = self.rest().is_empty();
        Err(Stop { flaw: Flaw { at: self.at, what: what.into() }, is_end })
    }

    /// Stops where `wanted` should be.
    fn miss<T>(&self, wanted: &str) -> Read<T> {
        match self.peek() {
            Some('"') => self.stop(format!("there must be {wanted}, not a quote")),
            Some(c) => self.stop(format!("there must be {wanted}, not '{}'", c.escape_debug())),
            None => self.stop(format!("there must be {wanted}, and the text ends")),
        }
    }

    fn mend(&mut self, at: usize, what: &str) {
        if self.repairs.len() < REPAIRS_TOLD_MAX {
            self.repairs.push(Flaw { at, what: what.to_string() });
        }
    }

    /// Goes on behind blanks and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            let rest = self.rest();
            let length = match () {
                () if rest.starts_with("//") => rest.find('\n'),
                () if rest.starts_with("/*") => rest.find("*/").map(|end| end + 2),
                () => return,
            };
            let began = self.at;
            self.at += length.unwrap_or(rest.len());
            self.mend(began, "a comment is left out");
        }
    }

    fn value(&mut self) -> Read<Value> {
        self.skip();
        if self.depth == DEPTH_MAX {
            return self.stop("it is nested too deeply");
        }
        self.depth += 1;
        let value = match self.peek() {
            Some('{') => self.object(),
            Some('[') => self.list(),
            Some('"') => self.string().map(Value::String),
            Some('-' | '0'..='9') => self.number(),
            Some('a'..='z' | 'A'..='Z') => self.word(),
            _ => self.miss("a value"),
        }?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Read<Value> {
        self.take('{');
        let mut fields = Map::new();
        self.skip();
        while !self.take('}') {
            let at = self.at;
            if self.peek() != Some('"') {
                return self.miss("a name in double quotes");
            }
            let name = self.string()?;
            self.skip();
            if !self.take(':') {
                return self.miss("':'");
            }
            let value = self.value()?;
            if fields.contains_key(&name) {
                let what = format!("'{name}' is there twice");
                self.repeated_names.push(Flaw { at, what });
            }
            fields.insert(name, value);
            self.go_on('}')?;
        }
        Ok(Value::Object(fields))
    }

    fn list(&mut self) -> Read<Value> {
        self.take('[');
        let mut items = Vec::new();
        self.skip();
        while !self.take(']') {
            items.push(self.value()?);
            self.go_on(']')?;
        }
        Ok(Value::Array(items))
    }

    /// Goes on to the next item, or stands before the `end`.
    fn go_on(&mut self, end: char) -> Read<()> {
        self.skip();
        let comma = self.at;
        if self.take(',') {
            self.skip();
            if self.peek() == Some(end) {
                self.mend(comma, &format!("the comma before '{end}' is left out"));
            }
            return Ok(());
        }
        if self.peek() == Some(end) {
            return Ok(());
        }
        let hint = match self.text[..self.at].trim_end().ends_with('"') {
            true => " (a quote inside a text is written \\\")",
            false => "",
        };
        self.miss(&format!("',' or '{end}'{hint}"))
    }

    fn string(&mut self) -> Read<String> {
        self.take('"');
        let (mut text, mut has_raw) = (String::new(), false);
        loop {
            // In pieces: most of a text is nothing special.
            let rest = self.rest();
            let special = |c: char| matches!(c, '"' | '\\') || c < ' ';
            let plain = rest.find(special).unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                None => return self.stop("a text has no closing quote"),
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some('\\') => self.escape(&mut text)?,
                Some(raw) => {
                    if !has_raw {
                        let name = if raw == '\n' { "line break" } else { "control character" };
                        self.mend(self.at, &format!("a {name} inside a text is escaped"));
                    }
                    has_raw = true;
                    text.push(raw);
                    self.at += raw.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Read<()> {
        let began = self.at;
        self.take('\\');
        let plain = match self.peek() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.code(began, text),
            Some(c) => {
                self.at = began;
                return self.stop(format!("'\\{}' is no escape", c.escape_debug()));
            }
            None => return self.stop("a text has no closing quote"),
        };
        // Whatever it stands for, it is one letter.
        self.at += 1;
        text.push(plain);
        Ok(())
    }

    /// `\u0041`, or two of them that are one character.
    fn code(&mut self, began: usize, text: &mut String) -> Read<()> {
        let Some(first) = self.hex() else {
            let is_cut = self.rest().len() < HEX_BYTES;
            self.at = if is_cut { self.text.len() } else { began };
            return self.stop("'\\u' wants four hexadecimal digits");
        };
        let mut units = vec![first];
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            let behind = self.at;
            self.at += 1;
            match self.hex().filter(|second| (0xdc00..0xe000).contains(second)) {
                Some(second) => units.push(second),
                None => self.at = behind,
            }
        }
        for unit in char::decode_utf16(units) {
            if unit.is_err() {
                self.mend(began, "half of a surrogate pair is replaced by U+FFFD");
            }
            text.push(unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(())
    }

    /// The four digits behind the `u` that is next.
    fn hex(&mut self) -> Option<u16> {
        let digits = self.rest().get(1..HEX_BYTES)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()?;
        self.at += HEX_BYTES;
        Some(code)
    }

    fn number(&mut self) -> Read<Value> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        match serde_json::from_str(&rest[..length]) {
            Ok(number) => {
                self.at += length;
                Ok(number)
            }
            Err(_) => self.stop(format!("'{}' is no number", &rest[..length])),
        }
    }

    fn word(&mut self) -> Read<Value> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let value = match &rest[..length] {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return self.miss("a value"),
        };
        self.at += length;
        Ok(value)
    }
}

/// A `u` and its digits.
const HEX_BYTES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn mends(text: &str, want: Value, repairs: &[(usize, usize, &str)]) {
        let read = read_value(text, 0).unwrap();
        assert_eq!(read.value, want, "{text}");
        assert_eq!(read.end, text.trim_end().len(), "{text}");
        let told: Vec<(usize, usize, &str)> = read
            .repairs
            .iter()
            .map(|it| {
                let (line, column) = find_place(text, it.at);
                (line, column, it.what.as_str())
            })
            .collect();
        assert_eq!(told, repairs, "{text}");
    }

    #[track_caller]
    fn stops(text: &str, place: (usize, usize), what: &str) {
        let stop = read_value(text, 0).unwrap_err();
        assert_eq!((find_place(text, stop.flaw.at), stop.flaw.what.as_str()), (place, what));
        assert_eq!(stop.is_end, what.contains("ends") || what.contains("closing"), "{text}");
    }

    #[test]
    fn what_is_json_is_read_as_it_is() {
        for text in [
            r#"{"a": [1, -2.5e3, true, false, null, "é\n\"\\\/ \ud83d\ude00"], "b": {}}"#,
            "[]",
            "{ }",
            "\"x\"",
            "12345678901234567890",
        ] {
            mends(text, serde_json::from_str(text).unwrap(), &[]);
        }
    }

    #[test]
    fn what_can_only_mean_one_thing_is_mended() {
        let comma = "the comma before '}' is left out";
        mends("{\"a\": 1,\n}", json!({ "a": 1 }), &[(1, 8, comma)]);
        mends("[1, 2 ,]", json!([1, 2]), &[(1, 7, "the comma before ']' is left out")]);
        let comment = "a comment is left out";
        let text = "{ // first\n \"a\": /* one */ 1 }";
        mends(text, json!({ "a": 1 }), &[(1, 3, comment), (2, 7, comment)]);
        let line = "a line break inside a text is escaped";
        mends("[\"é\n\nx\"]", json!(["é\n\nx"]), &[(1, 4, line)]);
        let half = "half of a surrogate pair is replaced by U+FFFD";
        mends(r#"["\ud83d x"]"#, json!(["\u{fffd} x"]), &[(1, 3, half)]);
        mends(r#"["\ud83d\u0041"]"#, json!(["\u{fffd}A"]), &[(1, 3, half)]);
    }

    #[test]
    fn what_can_mean_more_is_named_with_its_place() {
        stops("{\"a\": 1 \"b\": 2}", (1, 9), "there must be ',' or '}', not a quote");
        stops(
            "{\"a\": \"say \"hi\" now\"}",
            (1, 13),
            "there must be ',' or '}' (a quote inside a text is written \\\"), not 'h'",
        );
        stops("{\n a: 1}", (2, 2), "there must be a name in double quotes, not 'a'");
        stops("{\"a\" 1}", (1, 6), "there must be ':', not '1'");
        stops("[True]", (1, 2), "there must be a value, not 'T'");
        stops("[,]", (1, 2), "there must be a value, not ','");
        stops("[01]", (1, 2), "'01' is no number");
        stops(r#"["\d"]"#, (1, 3), "'\\d' is no escape");
        stops("{\"a\": [1", (1, 9), "there must be ',' or ']', and the text ends");
        stops("[\"abc", (1, 6), "a text has no closing quote");
        stops(&"[".repeat(DEPTH_MAX + 1), (1, DEPTH_MAX + 1), "it is nested too deeply");
    }

    #[test]
    fn a_name_that_is_there_twice_is_told() {
        let read = read_value(r#"{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}"#, 0).unwrap();
        let told: Vec<&str> = read.repeated_names.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(told, ["'c' is there twice", "'a' is there twice"]);
        assert_eq!(read.value, json!({ "a": 3, "b": { "c": 2 } }));
    }
}
