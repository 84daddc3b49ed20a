//! JSON as servers really write it, read leniently; and the small pieces every `write` needs.

use crate::window::CONTEXT_TOKENS_MIN;
use althing_chat::Message;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt;

/// A count: servers write whole numbers, floats, texts, -1 and null. What counts nothing is `None`.
pub(super) fn count<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u64>, D::Error> {
    let number = match Value::deserialize(json)? {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    Ok(number.filter(|number| *number >= 0.0).map(|number| number as u64))
}

/// The window of a model in a list; a size that no model has is not known.
pub(super) fn window<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u64>, D::Error> {
    Ok(count(json)?.filter(|tokens| *tokens >= CONTEXT_TOKENS_MIN))
}

/// Reads the window of a model where a server tells it in an answer of its own.
pub(crate) fn read_window(value: &Value) -> Option<u64> {
    // What is no number at all is read as none and never as an error.
    window(value).ok().flatten()
}

/// The function a model asks for, or a piece of it.
#[derive(serde::Deserialize)]
pub(super) struct Function<'a> {
    pub name: Option<String>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
}

/// Text of an answer: a string, or a list of typed parts in which thoughts stand apart (Mistral).
/// Anything else is no text.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub text: String,
    pub thought: String,
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Words, D::Error> {
        json.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Words, E> {
        Ok(Words { text: text.into(), thought: String::new() })
    }

    fn visit_string<E>(self, text: String) -> Result<Words, E> {
        Ok(Words { text, thought: String::new() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
        let mut words = Words::default();
        while let Some(part) = list.next_element::<Part>()? {
            words.text.push_str(&part.text.unwrap_or_default());
            words.thought.push_str(&part.thinking.unwrap_or_default().text);
        }
        Ok(words)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Words::default())
    }

    fn visit_unit<E>(self) -> Result<Words, E> {
        Ok(Words::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<Words, E> {
        Ok(Words::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<Words, E> {
        Ok(Words::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<Words, E> {
        Ok(Words::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<Words, E> {
        Ok(Words::default())
    }
}

#[derive(serde::Deserialize)]
struct Part {
    text: Option<String>,
    thinking: Option<Words>,
}

/// The arguments of a call, or a fragment of them: JSON inside a string, or JSON itself.
pub(super) fn arguments_text(raw: Option<&RawValue>) -> String {
    let raw = raw.map(RawValue::get).unwrap_or_default();
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).unwrap_or_default(),
        _ => raw.to_string(),
    }
}

/// The arguments of a call as an object, for wires that want one. What is no object goes in as
/// its one member, so that nothing is lost.
pub(super) fn arguments_object(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(object @ Value::Object(_)) => object,
        _ if text.trim().is_empty() => json!({}),
        _ => json!({ "arguments": text }),
    }
}

/// A temperature as the person wrote it: 0.7, not the 0.699999988079071 of the wider float.
pub(super) fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

/// The tool behind a call's id. Made-up ids repeat from turn to turn, so the nearest call counts.
pub(super) fn tool_name<'a>(before: &'a [Message], id: &str) -> Option<&'a str> {
    let mut calls = before.iter().rev().flat_map(|message| message.tool_calls.iter().rev());
    calls.find(|call| call.id == id).map(|call| call.name.as_str())
}
