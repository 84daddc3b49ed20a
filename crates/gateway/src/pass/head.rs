//! The little of a request that is looked at, in one pass over its body, and the model's name put
//! in its place.

mod opening;

use althing_stdx::{Fault, Result};
use bytes::{BufMut, Bytes, BytesMut};
use opening::Signs;
use serde::Deserialize;
use serde_json::value::RawValue;
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
}

/// Everything else is only known to be JSON. A field that comes twice is refused: it would mean one
/// thing here and another there.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    stream: Option<bool>,
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
        let start = raw.as_ptr() as usize - body.as_ptr() as usize;
        let span = start..start + raw.len();
        Ok(Head { model, span, stream: fields.stream.unwrap_or(false), conversation })
    }

    /// The body with `name` where the client's name was, everything else as it is.
    pub(super) fn splice(&self, body: &Bytes, name: &str) -> Result<Bytes> {
        if self.model == name {
            return Ok(body.clone());
        }
        let name = serde_json::to_string(name).map_err(Fault::internal)?;
        let (Some(before), Some(after)) = (body.get(..self.span.start), body.get(self.span.end..))
        else {
            return Err(Fault::internal("the head is of another body"));
        };
        let mut spliced = BytesMut::with_capacity(before.len() + name.len() + after.len());
        for part in [before, name.as_bytes(), after] {
            spliced.put_slice(part);
        }
        Ok(spliced.freeze())
    }
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
