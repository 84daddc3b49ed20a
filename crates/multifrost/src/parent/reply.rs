//! An answer.

use std::ops::Range;

use serde::de::DeserializeOwned;

use crate::envelope::{Envelope, Kind, range};
use crate::error::Error;
use crate::msgpack::{self, Malformed, NIL, Reader, Token};
use crate::unpack::unpack;
use crate::value::Value;

/// What a function gave, still packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    message: Vec<u8>,
    result: Option<Range<usize>>,
}

impl Reply {
    /// What stands at a place of a message; nothing means nil.
    pub(super) fn new(message: Vec<u8>, result: Option<Range<usize>>) -> Reply {
        Reply { message, result }
    }

    /// As it came.
    pub fn packed(&self) -> &[u8] {
        self.result.clone().map_or(&[NIL], |range| &self.message[range])
    }

    /// As a value that borrows from it.
    pub fn value(&self) -> Result<Value<'_>, Error> {
        Value::read(self.packed()).map_err(|error| Error::Answer(error.to_string()))
    }

    /// The items of a list, packed; anything else is one item.
    pub(super) fn items(&self) -> Vec<Vec<u8>> {
        let mut reader = Reader::new(self.packed());
        match reader.token() {
            Ok(Token::Array(items)) => {
                (0..items).map_while(|_| reader.skip().ok()).map(<[u8]>::to_vec).collect()
            }
            _ => vec![self.packed().to_vec()],
        }
    }

    /// As a type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        unpack(self.packed()).map_err(|error| Error::Answer(error.to_string()))
    }
}

/// What a message answers: where its result stands, the words of an ERROR, or that it cannot be
/// read.
pub(super) fn answer(
    envelope: &Envelope<'_>,
    flaw: Option<Malformed>,
    message: &[u8],
) -> Result<Option<Range<usize>>, Error> {
    match (envelope.kind, flaw) {
        (Some(Kind::Error), _) => Err(Error::Remote(error_text(envelope).into())),
        (_, Some(flaw)) => Err(Error::Answer(flaw.to_string())),
        _ => Ok(envelope.result.map(|result| range(result, message))),
    }
}

/// The words of an ERROR.
fn error_text(envelope: &Envelope<'_>) -> String {
    let Some(packed) = envelope.error else { return "Unknown error".into() };
    match msgpack::text(packed) {
        Some(text) => text.into(),
        None => Value::read(packed).map_or("Unknown error".into(), |value| value.to_string()),
    }
}
