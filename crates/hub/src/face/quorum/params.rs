//! Parameters: what is missing or of the wrong kind is told by its name.

use althing_jsonrpc::{Error, RawValue};
use althing_stdx::{Fault, Kind, Result};
use serde_json::{Map, Value};

/// Characters of a model's id.
const ID_CHARS_MAX: usize = 100;
/// Models of one discussion.
pub(super) const MODELS_MAX: usize = 20;
/// Wrong characters that are shown.
const WRONG_CHARS_SHOWN: usize = 3;

/// The object a request came with.
pub(super) struct Params(pub Map<String, Value>);

impl Params {
    /// Reads the object. Half of a surrogate pair, which is JSON but no text, becomes U+FFFD.
    pub fn read(raw: &RawValue) -> Result<Params, Error> {
        let value = serde_json::from_str(raw.get())
            .or_else(|_| serde_json::from_str(&whole_surrogates(raw.get())));
        match value {
            Ok(Value::Object(map)) => Ok(Params(map)),
            Ok(_) => {
                Err(Error::of(Kind::InvalidParams, "Invalid parameter: params must be an object"))
            }
            Err(e) => {
                Err(Error::of(Kind::InvalidParams, format!("Invalid parameter: params: {e}")))
            }
        }
    }

    /// A text; `otherwise` where it is missing or null.
    pub fn text_or(&self, name: &str, otherwise: &str) -> Result<String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(otherwise.to_string()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(wrong(name, &format!("must be a string, got {}", kind_of(other)))),
        }
    }

    /// A text that must be there.
    pub fn text(&self, name: &str) -> Result<String> {
        match self.0.get(name) {
            None => Err(missing(name)),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(wrong(name, &format!("must be a string, got {}", kind_of(other)))),
        }
    }

    /// An object; empty where it is missing.
    pub fn object(&self, name: &str) -> Result<Params> {
        match self.0.get(name) {
            None => Ok(Params(Map::new())),
            Some(Value::Object(map)) => Ok(Params(map.clone())),
            Some(other) => Err(wrong(name, &format!("must be an object, got {}", kind_of(other)))),
        }
    }

    /// Ids of models: at least `min` and at most [`MODELS_MAX`].
    pub fn model_ids(&self, min: usize) -> Result<Vec<String>> {
        let name = "model_ids";
        let list = match self.0.get(name) {
            None => return Err(missing(name)),
            Some(Value::Array(list)) => list,
            Some(other) => {
                return Err(wrong(name, &format!("must be a list, got {}", kind_of(other))));
            }
        };
        if list.len() < min {
            return Err(wrong(name, &format!("must contain at least {min} models")));
        }
        if list.len() > MODELS_MAX {
            return Err(wrong(name, &format!("cannot exceed {MODELS_MAX} models")));
        }
        let ids = list.iter().enumerate().map(|(at, id)| model_id(&format!("{name}[{at}]"), id));
        ids.collect()
    }
}

/// A model's id: its characters and its length.
pub(super) fn model_id(name: &str, value: &Value) -> Result<String> {
    let Value::String(id) = value else {
        return Err(wrong(name, &format!("must be a string, got {}", kind_of(value))));
    };
    if id.is_empty() {
        return Err(wrong(name, "cannot be empty"));
    }
    if id.chars().count() > ID_CHARS_MAX {
        return Err(wrong(name, &format!("exceeds maximum length of {ID_CHARS_MAX}")));
    }
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '/' | ':' | '_' | '@');
    let bad: Vec<String> = id
        .chars()
        .filter(|c| !fits(*c))
        .take(WRONG_CHARS_SHOWN)
        .map(|c| format!("{c:?}"))
        .collect();
    if !bad.is_empty() {
        return Err(wrong(name, &format!("contains invalid characters: [{}]", bad.join(", "))));
    }
    if !id.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err(wrong(name, "must start with a letter or digit"));
    }
    Ok(id.clone())
}

/// One of a few words.
pub(super) fn one_of<'a>(name: &str, value: &str, words: &[&'a str]) -> Result<&'a str> {
    let found = words.iter().find(|word| **word == value);
    found.copied().ok_or_else(|| wrong(name, &format!("must be one of [{}]", words.join(", "))))
}

pub(super) fn wrong(name: &str, problem: &str) -> Fault {
    Fault::invalid(format!("Invalid parameter: {name} {problem}"))
}

fn missing(name: &str) -> Fault {
    Fault::invalid(format!("Missing required parameter: {name}"))
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
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
            let got = model_id("model_id", &id).map_or_else(|fault| fault.message, |id| id);
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
