//! Any value there is on the wire, exactly: nothing is rounded, clamped or made a string.

mod read;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::limits::DEPTH_MAX;
use crate::msgpack::{self, Malformed, Reader, Token};
pub use read::Blob;

/// What marks a value of an application's own kind among serde's types.
pub(crate) const EXT_STRUCT: &str = "_ExtStruct";

/// A msgpack value, whose texts and bytes are its own or those of the message. It is one of serde's
/// types too, so it can stand among arguments and be asked for as an answer: a `Value<'static>` has all
/// that it holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Nil,
    /// Yes or no.
    Bool(bool),
    /// A whole number up to the greatest `i64`.
    Int(i64),
    /// A whole number beyond the greatest `i64`.
    UInt(u64),
    /// A number of single precision.
    F32(f32),
    /// A number of double precision.
    F64(f64),
    /// Text.
    Str(Cow<'a, str>),
    /// Bytes.
    Bin(Cow<'a, [u8]>),
    /// A list.
    Array(Vec<Value<'a>>),
    /// Pairs, in the order they were written in; keys may be anything.
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// A value of an application's own kind; -1 is a time.
    Ext(i8, Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    /// Reads one value that is all of `packed`.
    pub fn read(packed: &'a [u8]) -> Result<Value<'a>, Malformed> {
        let mut reader = Reader::new(packed);
        let value = read(&mut reader, DEPTH_MAX)?;
        if reader.is_empty() { Ok(value) } else { Err(Malformed("bytes after the value")) }
    }

    /// Writes it, in the shortest form of each value.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Nil => out.push(msgpack::NIL),
            Value::Bool(yes) => msgpack::put_bool(out, *yes),
            Value::Int(number) => msgpack::put_i64(out, *number),
            Value::UInt(number) => msgpack::put_u64(out, *number),
            Value::F32(number) => msgpack::put_f32(out, *number),
            Value::F64(number) => msgpack::put_f64(out, *number),
            Value::Str(text) => msgpack::put_str(out, text),
            Value::Bin(bytes) => msgpack::put_bin(out, bytes),
            Value::Ext(kind, bytes) => msgpack::put_ext(out, *kind, bytes),
            Value::Array(items) => {
                msgpack::put_array(out, items.len());
                items.iter().for_each(|item| item.write(out));
            }
            Value::Map(pairs) => {
                msgpack::put_map(out, pairs.len());
                for (key, value) in pairs {
                    key.write(out);
                    value.write(out);
                }
            }
        }
    }

    /// The same with all that it holds.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Nil => Value::Nil,
            Value::Bool(yes) => Value::Bool(yes),
            Value::Int(number) => Value::Int(number),
            Value::UInt(number) => Value::UInt(number),
            Value::F32(number) => Value::F32(number),
            Value::F64(number) => Value::F64(number),
            Value::Str(text) => Value::Str(text.into_owned().into()),
            Value::Bin(bytes) => Value::Bin(bytes.into_owned().into()),
            Value::Ext(kind, bytes) => Value::Ext(kind, bytes.into_owned().into()),
            Value::Array(items) => Value::Array(items.into_iter().map(Value::into_owned).collect()),
            Value::Map(pairs) => {
                let owned =
                    |(key, value): (Value<'_>, Value<'_>)| (key.into_owned(), value.into_owned());
                Value::Map(pairs.into_iter().map(owned).collect())
            }
        }
    }

    /// Its text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(text) = self { Some(text) } else { None }
    }

    /// The value of a map's first such key.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        let Value::Map(pairs) = self else { return None };
        pairs.iter().find(|(it, _)| it.as_str() == Some(key)).map(|(_, value)| value)
    }
}

fn read<'a>(reader: &mut Reader<'a>, depth: usize) -> Result<Value<'a>, Malformed> {
    Ok(match reader.token()? {
        Token::Nil => Value::Nil,
        Token::Bool(yes) => Value::Bool(yes),
        Token::Int(number) => int(number),
        Token::F32(number) => Value::F32(number),
        Token::F64(number) => Value::F64(number),
        Token::Str(bytes) => {
            let text = simdutf8::basic::from_utf8(bytes);
            Value::Str(text.map_err(|_| Malformed("text that is no UTF-8"))?.into())
        }
        Token::Bin(bytes) => Value::Bin(bytes.into()),
        Token::Ext(kind, bytes) => Value::Ext(kind, bytes.into()),
        Token::Array(items) => {
            let depth = deeper(depth)?;
            Value::Array((0..items).map(|_| read(reader, depth)).collect::<Result<_, _>>()?)
        }
        Token::Map(pairs) => {
            let depth = deeper(depth)?;
            let pair = |_| Ok((read(reader, depth)?, read(reader, depth)?));
            Value::Map((0..pairs).map(pair).collect::<Result<_, _>>()?)
        }
    })
}

fn int<'a>(number: i128) -> Value<'a> {
    match i64::try_from(number) {
        Ok(number) => Value::Int(number),
        Err(_) => Value::UInt(number as u64),
    }
}

fn deeper(depth: usize) -> Result<usize, Malformed> {
    depth.checked_sub(1).ok_or(msgpack::TOO_DEEP)
}

/// So that a value can stand among typed arguments.
impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Nil => serializer.serialize_unit(),
            Value::Bool(yes) => serializer.serialize_bool(*yes),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::UInt(number) => serializer.serialize_u64(*number),
            Value::F32(number) => serializer.serialize_f32(*number),
            Value::F64(number) => serializer.serialize_f64(*number),
            Value::Str(text) => serializer.serialize_str(text),
            Value::Bin(bytes) => serializer.serialize_bytes(bytes),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Map(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            Value::Ext(kind, bytes) => {
                serializer.serialize_newtype_struct(EXT_STRUCT, &(kind, Bytes(bytes)))
            }
        }
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// For people: as JSON where that has a form, bytes as their number.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("null"),
            Value::Bool(yes) => write!(f, "{yes}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::UInt(number) => write!(f, "{number}"),
            Value::F32(number) => write!(f, "{number}"),
            Value::F64(number) => write!(f, "{number}"),
            Value::Str(text) => write!(f, "{}", serde_json::Value::from(&**text)),
            Value::Bin(bytes) => write!(f, "<{} bytes>", bytes.len()),
            Value::Ext(kind, bytes) => write!(f, "<kind {kind}, {} bytes>", bytes.len()),
            Value::Array(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Value::Map(pairs) => {
                f.write_str("{")?;
                for (at, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key}:{value}", if at > 0 { "," } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Value<'a> {
        Value::Str(text.into())
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Str(text.into())
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Value<'a> {
        Value::Bin(bytes.into())
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        int(number.into())
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Value::F64(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(yes: bool) -> Self {
        Value::Bool(yes)
    }
}
