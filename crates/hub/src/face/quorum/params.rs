//! Parameters: what is missing or of the wrong kind is told by its name.

use althing_assembly::{ALL, Method, methods};
use althing_jsonrpc::RawValue;
use althing_stdx::text::clip;
use althing_stdx::{Fault, Result};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// Characters of a question; a longer one is refused.
pub(super) use crate::runs::QUESTION_CHARS_MAX;
/// Characters of a model's id; a longer one is refused.
const ID_CHARS_MAX: usize = 100;
/// Models of one discussion; more are refused.
pub(super) const MODELS_MAX: usize = 20;
/// Turns that may be asked for.
const TURNS: RangeInclusive<u64> = 1..=100;
/// Wrong characters that are shown.
const WRONG_CHARS_SHOWN: usize = 3;
/// Characters that are shown of a wrong value.
const WRONG_VALUE_CHARS: usize = 40;

/// An object of a request.
pub(super) struct Params {
    pub map: Map<String, Value>,
    /// What stands before its members' names where they are told: `options.`, or nothing.
    path: String,
}

impl Params {
    /// Reads the object a request came with.
    pub fn read(raw: &RawValue) -> Result<Params> {
        match lenient(raw.get()) {
            Ok(Value::Object(map)) => Ok(Params { map, path: String::new() }),
            Ok(other) => Err(wrong("params", &must_be("an object", &other))),
            Err(error) => Err(Fault::invalid(format!("Invalid parameter: params: {error}"))),
        }
    }

    /// A member that is there, and not null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// The whole name of a member.
    pub fn name(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    /// A text; none where it is missing or null.
    pub fn text_or_none(&self, name: &str) -> Result<Option<&str>> {
        self.get(name).map(|value| text(&self.name(name), value)).transpose()
    }

    /// A text that must be there.
    pub fn text(&self, name: &str) -> Result<&str> {
        text(&self.name(name), self.needed(name)?)
    }

    /// What a person asks: a text with something in it, and not without end.
    pub fn question(&self) -> Result<&str> {
        let (name, question) = (self.name("question"), self.text("question")?);
        if question.trim().is_empty() {
            return Err(wrong(&name, "cannot be empty"));
        }
        if question.chars().count() > QUESTION_CHARS_MAX {
            return Err(wrong(&name, &format!("exceeds maximum length of {QUESTION_CHARS_MAX}")));
        }
        Ok(question)
    }

    /// One of the methods; `standard` where none is named.
    pub fn method(&self) -> Result<&'static Method> {
        match self.get("method") {
            None => methods::method("standard"),
            Some(value) => methods::method(method_name(&self.name("method"), value)?),
        }
    }

    /// An object; an empty one where it is missing.
    pub fn object(&self, name: &str) -> Result<Params> {
        let map = match self.map.get(name) {
            None => Map::new(),
            Some(Value::Object(map)) => map.clone(),
            Some(other) => return Err(wrong(&self.name(name), &must_be("an object", other))),
        };
        Ok(Params { map, path: self.name(&format!("{name}.")) })
    }

    /// The id of a model.
    pub fn model_id(&self) -> Result<String> {
        model_id(&self.name("model_id"), self.needed("model_id")?)
    }

    /// Ids of models: at least `min` and at most [`MODELS_MAX`].
    pub fn model_ids(&self, min: usize) -> Result<Vec<String>> {
        let name = self.name("model_ids");
        let ids = self.needed("model_ids")?;
        match ids.as_array().map(Vec::len) {
            Some(count) if count < min => {
                Err(wrong(&name, &format!("must contain at least {min} models")))
            }
            _ => model_ids(&name, ids, MODELS_MAX),
        }
    }

    fn needed(&self, name: &str) -> Result<&Value> {
        let missing = || format!("Missing required parameter: {}", self.name(name));
        self.map.get(name).ok_or_else(|| Fault::invalid(missing()))
    }
}

/// A list of at most `max` ids of models.
pub(super) fn model_ids(name: &str, value: &Value, max: usize) -> Result<Vec<String>> {
    let list = value.as_array().ok_or_else(|| wrong(name, &must_be("a list", value)))?;
    if list.len() > max {
        return Err(wrong(name, &format!("cannot exceed {max} models")));
    }
    let ids = list.iter().enumerate().map(|(at, id)| model_id(&format!("{name}[{at}]"), id));
    ids.collect()
}

/// A model's id: its characters and its length.
pub(super) fn model_id(name: &str, value: &Value) -> Result<String> {
    let id = text(name, value)?;
    check_id(name, id).map(|()| id.to_string())
}

/// Whether a model can be asked for by this id.
pub(super) fn is_model_id(id: &str) -> bool {
    check_id("id", id).is_ok()
}

fn check_id(name: &str, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(wrong(name, "cannot be empty"));
    }
    if id.chars().count() > ID_CHARS_MAX {
        return Err(wrong(name, &format!("exceeds maximum length of {ID_CHARS_MAX}")));
    }
    let fits = |c: &char| c.is_ascii_alphanumeric() || "-./:_@".contains(*c);
    let bad: Vec<String> =
        id.chars().filter(|c| !fits(c)).take(WRONG_CHARS_SHOWN).map(|c| format!("{c:?}")).collect();
    if !bad.is_empty() {
        return Err(wrong(name, &format!("contains invalid characters: [{}]", bad.join(", "))));
    }
    if !id.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err(wrong(name, "must start with a letter or digit"));
    }
    Ok(())
}

/// The name of a method.
pub(super) fn method_name(name: &str, value: &Value) -> Result<&'static str> {
    one_of(name, value, ALL.iter().map(|method| (method.name, method.name)))
}

/// One of a few words, and what it stands for.
pub(super) fn one_of<T>(
    name: &str,
    value: &Value,
    words: impl IntoIterator<Item = (&'static str, T)>,
) -> Result<T> {
    let (said, mut known) = (text(name, value)?, Vec::new());
    for (word, meaning) in words {
        if word == said {
            return Ok(meaning);
        }
        known.push(word);
    }
    let shown = clip(&value.to_string(), WRONG_VALUE_CHARS);
    Err(wrong(name, &format!("must be one of [{}], not {shown}", known.join(", "))))
}

/// A number of turns.
pub(super) fn turns(name: &str, value: &Value) -> Result<u32> {
    let (least, most) = (TURNS.start(), TURNS.end());
    let turns = value.as_u64().filter(|turns| TURNS.contains(turns));
    let shown = clip(&value.to_string(), WRONG_VALUE_CHARS);
    let problem = || format!("must be an integer between {least} and {most}, not {shown}");
    turns.map(|turns| turns as u32).ok_or_else(|| wrong(name, &problem()))
}

fn text<'a>(name: &str, value: &'a Value) -> Result<&'a str> {
    value.as_str().ok_or_else(|| wrong(name, &must_be("a string", value)))
}

pub(super) fn wrong(name: &str, problem: &str) -> Fault {
    Fault::invalid(format!("Invalid parameter: {name} {problem}"))
}

/// What a value should be, and is not.
pub(super) fn must_be(what: &str, value: &Value) -> String {
    let got = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("must be {what}, got {got}")
}

/// Reads JSON. Half of a surrogate pair, which is JSON but no text, becomes U+FFFD.
pub(super) fn lenient(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(json).or_else(|_| serde_json::from_str(&whole_surrogates(json)))
}

/// JSON text in which every `\uD8xx` without its other half is `\uFFFD`.
fn whole_surrogates(json: &str) -> String {
    let escape = |at: usize| -> Option<u32> {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(c) = json[at..].chars().next() {
        let unit = if c == '\\' { escape(at) } else { None };
        let (piece, length) = match unit {
            Some(0xD800..=0xDBFF) if matches!(escape(at + 6), Some(0xDC00..=0xDFFF)) => {
                (&json[at..at + 12], 12)
            }
            Some(0xD800..=0xDFFF) => ("\\uFFFD", 6),
            // An escape of two characters stays together: the second may be a backslash.
            None if c == '\\' && at + 1 < json.len() => {
                let length = 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8);
                (&json[at..at + length], length)
            }
            _ => (&json[at..at + c.len_utf8()], c.len_utf8()),
        };
        out.push_str(piece);
        at += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_shape() {
        #[track_caller]
        fn check(id: Value, want: &str) {
            let got = model_id("model_id", &id).unwrap_or_else(|fault| fault.message);
            assert_eq!(got, want);
        }
        check("gpt-5.1".into(), "gpt-5.1");
        check("ollama:llama3.2@high".into(), "ollama:llama3.2@high");
        check("a/b_c.d".into(), "a/b_c.d");
        check("".into(), "Invalid parameter: model_id cannot be empty");
        check("-x".into(), "Invalid parameter: model_id must start with a letter or digit");
        check("@x".into(), "Invalid parameter: model_id must start with a letter or digit");
        check(
            "a b;c".into(),
            "Invalid parameter: model_id contains invalid characters: [' ', ';']",
        );
        check("x".repeat(101).into(), "Invalid parameter: model_id exceeds maximum length of 100");
        check(5.into(), "Invalid parameter: model_id must be a string, got number");
    }

    #[test]
    fn half_a_pair_is_no_text_but_no_reason_to_fail() {
        let check = |json: &str, want: &str| {
            let raw = RawValue::from_string(json.to_string()).unwrap();
            assert_eq!(Params::read(&raw).unwrap().text("input").unwrap(), want);
        };
        check(r#"{"input":"a\ud800b"}"#, "a\u{fffd}b");
        check(r#"{"input":"\udc00\ud83d\ude00"}"#, "\u{fffd}😀");
        check(r#"{"input":"\\ud800"}"#, "\\ud800");
        check(r#"{"input":"é\ud800"}"#, "é\u{fffd}");
        assert!(Params::read(&RawValue::from_string("[1]".into()).unwrap()).is_err());
    }
}
