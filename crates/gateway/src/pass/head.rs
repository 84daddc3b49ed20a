//! The little of a request that is looked at, in one pass over its body, and the model's name put
//! in its place.

mod opening;

use althing_stdx::{Fault, Result};
use bytes::{BufMut, Bytes, BytesMut};
use opening::Signs;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::ops::Range;

/// What a request's body says, as far as it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The model as the client named it.
    pub model: String,
    /// Where the name stands in the body, with its quotes.
    pub span: Range<usize>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// A number that stays the same through a conversation, so that it can stay where its prompt is
    /// cached: by the name the client gives it, else by how it begins.
    pub conversation: Option<u64>,
    /// Where `stream_options` stands in the body.
    options: Option<Range<usize>>,
    /// Whether these ask for the count of a stream's tokens.
    is_counted: bool,
}

/// The field that asks a stream for its count, where the body has none.
const COUNT: &str = r#","stream_options":{"include_usage":true}"#;

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// Everything else is only known to be JSON. A field that comes twice is refused: it would mean one
/// thing here and another there.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    stream: Option<bool>,
    #[serde(borrow, default, deserialize_with = "present")]
    stream_options: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_cache_key: Option<&'a RawValue>,
    #[serde(borrow)]
    user: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// A value that is there, `null` too: it has a place in the body.
fn present<'de, D: Deserializer<'de>>(json: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(json).map(Some)
}

impl<'a> Fields<'a> {
    fn signs(&self) -> Signs<'a> {
        Signs {
            names: [self.prompt_cache_key, self.user],
            metadata: self.metadata,
            system: [self.system, self.instructions],
            messages: self.messages.or(self.input),
        }
    }
}

impl Head {
    /// Finds `model`, `stream` and the conversation.
    pub fn scan(body: &[u8]) -> Result<Head> {
        let fields: Fields<'_> = serde_json::from_slice(body)
            .map_err(|error| Fault::invalid(format!("the body is no JSON object: {error}")))?;
        let no_name = || Fault::invalid("model: the name of a model is missing");
        let conversation = fields.signs().conversation();
        let raw = fields.model.ok_or_else(no_name)?.get();
        let model: String = serde_json::from_str(raw)
            .map_err(|_| Fault::invalid("model: a name in quotes is wanted"))?;
        // A borrowed value lies inside what it was read from.
        let span_of = |raw: &str| {
            let start = raw.as_ptr() as usize - body.as_ptr() as usize;
            start..start + raw.len()
        };
        let options = fields.stream_options.map(RawValue::get);
        let read = options.and_then(|it| serde_json::from_str::<StreamOptions>(it).ok());
        Ok(Head {
            model,
            span: span_of(raw),
            stream: fields.stream.unwrap_or(false),
            conversation,
            options: options.map(span_of),
            is_counted: read.and_then(|it| it.include_usage).unwrap_or(false),
        })
    }

    /// Whether a stream is asked for, and not how many tokens it takes.
    pub(super) fn wants_no_count(&self) -> bool {
        self.stream && !self.is_counted
    }

    /// As `splice`, with the count of the stream's tokens asked for.
    pub(super) fn splice_counted(&self, body: &Bytes, name: &str) -> Result<Bytes> {
        let name = serde_json::to_string(name).map_err(Fault::internal)?;
        match &self.options {
            None => edit(body, [(self.span.clone(), name + COUNT)]),
            Some(options) => {
                let before = body.get(options.clone()).unwrap_or_default();
                let counted = counted(before)?;
                let mut edits = [(self.span.clone(), name), (options.clone(), counted)];
                edits.sort_by_key(|(span, _)| span.start);
                edit(body, edits)
            }
        }
    }

    /// The body with `name` where the client's name was, everything else as it is.
    pub(super) fn splice(&self, body: &Bytes, name: &str) -> Result<Bytes> {
        if self.model == name {
            return Ok(body.clone());
        }
        let name = serde_json::to_string(name).map_err(Fault::internal)?;
        edit(body, [(self.span.clone(), name)])
    }
}

/// The options of a stream with the count asked for, everything else in them as it is. What is no
/// object is left to the server to refuse.
fn counted(options: &[u8]) -> Result<String> {
    let text = String::from_utf8_lossy(options);
    let mut fields = match serde_json::from_slice::<Value>(options) {
        Ok(Value::Null) => Map::new(),
        Ok(Value::Object(fields)) => fields,
        _ => return Ok(text.into_owned()),
    };
    fields.insert("include_usage".into(), true.into());
    serde_json::to_string(&fields).map_err(Fault::internal)
}

/// The body with other words in these places, which are in order.
fn edit<const N: usize>(body: &Bytes, edits: [(Range<usize>, String); N]) -> Result<Bytes> {
    let more: usize = edits.iter().map(|(_, words)| words.len()).sum();
    let (mut edited, mut from) = (BytesMut::with_capacity(body.len() + more), 0);
    let foreign = || Fault::internal("the head is of another body");
    for (span, words) in edits {
        edited.put_slice(body.get(from..span.start).ok_or_else(foreign)?);
        edited.put_slice(words.as_bytes());
        from = span.end;
    }
    edited.put_slice(body.get(from..).ok_or_else(foreign)?);
    Ok(edited.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_put_in_its_place_and_nothing_else_moves() {
        for (body, model, stream, want) in [
            (r#"{"model":"a"}"#, "a", false, r#"{"model":"new \"one\""}"#),
            (
                " { \"x\" : [1.0, 1e400],\n\"model\" : \"\\u0061b\" , \"stream\":true } ",
                "ab",
                true,
                " { \"x\" : [1.0, 1e400],\n\"model\" : \"new \\\"one\\\"\" , \"stream\":true } ",
            ),
            (
                r#"{"x":[{"model":"no","stream":true}],"model":"m","stream":null}"#,
                "m",
                false,
                r#"{"x":[{"model":"no","stream":true}],"model":"new \"one\"","stream":null}"#,
            ),
        ] {
            let bytes = Bytes::copy_from_slice(body.as_bytes());
            let head = Head::scan(&bytes).unwrap();
            assert_eq!((head.model.as_str(), head.stream), (model, stream), "{body}");
            assert_eq!(head.splice(&bytes, "new \"one\"").unwrap(), want);
            let same = head.splice(&bytes, model).unwrap();
            assert_eq!((same.as_ptr(), same.len()), (bytes.as_ptr(), bytes.len()), "no copy");
        }
    }

    #[test]
    fn a_count_is_asked_for_where_it_is_not() {
        for (body, want) in [
            (
                r#"{"stream":true,"model":"a"}"#,
                r#"{"stream":true,"model":"b","stream_options":{"include_usage":true}}"#,
            ),
            (
                r#"{"stream_options":{"x":1,"include_usage":false},"model":"a","stream":true}"#,
                r#"{"stream_options":{"x":1,"include_usage":true},"model":"b","stream":true}"#,
            ),
            (
                r#"{"model":"a","stream":true,"stream_options":null}"#,
                r#"{"model":"b","stream":true,"stream_options":{"include_usage":true}}"#,
            ),
            (
                r#"{"model":"a","stream":true,"stream_options":7}"#,
                r#"{"model":"b","stream":true,"stream_options":7}"#,
            ),
        ] {
            let bytes = Bytes::copy_from_slice(body.as_bytes());
            let head = Head::scan(&bytes).unwrap();
            assert!(head.wants_no_count(), "{body}");
            assert_eq!(head.splice_counted(&bytes, "b").unwrap(), want);
        }
        for counted in [
            r#"{"model":"a","stream":true,"stream_options":{"include_usage":true}}"#,
            r#"{"model":"a"}"#,
        ] {
            assert!(!Head::scan(counted.as_bytes()).unwrap().wants_no_count(), "{counted}");
        }
    }

    #[test]
    fn what_has_no_name_is_refused() {
        for (body, want) in [
            ("", "the body is no JSON object: EOF"),
            ("[]", "the body is no JSON object: "),
            (r#"{"model":"a"} x"#, "the body is no JSON object: trailing"),
            (r#"{"model":"a","model":"b"}"#, "the body is no JSON object: duplicate field"),
            (r#"{"stream":1,"model":"a"}"#, "the body is no JSON object: invalid type"),
            ("{}", "model: the name of a model is missing"),
            (r#"{"model":null}"#, "model: the name of a model is missing"),
            (r#"{"model":7}"#, "model: a name in quotes is wanted"),
        ] {
            let fault = Head::scan(body.as_bytes()).unwrap_err();
            assert!(fault.message.starts_with(want), "{body}: {fault}");
        }
    }
}
