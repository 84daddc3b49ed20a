//! From msgpack to Rust's types. A whole number may come as a float, as JavaScript sends those beyond
//! 32 bits; bytes may be wanted as a list; and of a call's arguments the last ones may be left out.

mod arguments;
#[cfg(test)]
mod tests;

use serde::de::value::{SeqDeserializer, U32Deserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::msgpack::{self, Malformed, Reader, Token};
use crate::pack::Flaw;
use crate::value::EXT_STRUCT;
pub(crate) use arguments::unpack_arguments;

impl de::Error for Flaw {
    fn custom<T: std::fmt::Display>(text: T) -> Flaw {
        Flaw(text.to_string())
    }
}

/// Reads a value that is all of `packed`.
pub(crate) fn unpack<'de, T: de::Deserialize<'de>>(packed: &'de [u8]) -> Result<T, Flaw> {
    let mut unpacker = Unpacker { reader: Reader::new(packed) };
    let value = T::deserialize(&mut unpacker)?;
    match unpacker.reader.is_empty() {
        true => Ok(value),
        false => Err(Malformed("bytes after the value").into()),
    }
}

/// A float that is a whole number of at most 64 bits.
pub(crate) fn whole(number: f64) -> Option<i128> {
    let fits = (-(2_f64.powi(63))..2_f64.powi(64)).contains(&number);
    (fits && number.fract() == 0.0).then_some(number as i128)
}

struct Unpacker<'de> {
    reader: Reader<'de>,
}

impl<'de> Unpacker<'de> {
    fn peek(&self) -> Result<Token<'de>, Flaw> {
        Ok(self.reader.clone().token()?)
    }

    fn visit<V: Visitor<'de>>(&mut self, token: Token<'de>, to: V) -> Result<V::Value, Flaw> {
        match token {
            Token::Nil => to.visit_unit(),
            Token::Bool(yes) => to.visit_bool(yes),
            Token::Int(number) => visit_int(number, to),
            Token::F32(number) => to.visit_f32(number),
            Token::F64(number) => to.visit_f64(number),
            Token::Str(bytes) => {
                let text = simdutf8::basic::from_utf8(bytes);
                to.visit_borrowed_str(text.map_err(|_| Malformed("text that is no UTF-8"))?)
            }
            Token::Bin(bytes) => to.visit_borrowed_bytes(bytes),
            Token::Array(items) => self.visit_items(items, to),
            Token::Map(pairs) => {
                let mut left = Items { unpacker: self, left: pairs };
                let value = to.visit_map(&mut left)?;
                left.end().map(|()| value)
            }
            Token::Ext(kind, bytes) => to.visit_newtype_struct(Ext(kind, bytes)),
        }
    }

    fn visit_items<V: Visitor<'de>>(&mut self, items: usize, to: V) -> Result<V::Value, Flaw> {
        let mut left = Items { unpacker: self, left: items };
        let value = to.visit_seq(&mut left)?;
        left.end().map(|()| value)
    }

    fn list<V: Visitor<'de>>(&mut self, to: V) -> Result<V::Value, Flaw> {
        match self.reader.token()? {
            // A list of numbers from 0 to 255.
            Token::Bin(bytes) => to.visit_seq(SeqDeserializer::new(bytes.iter().copied())),
            token => self.visit(token, to),
        }
    }

    fn int<V: Visitor<'de>>(&mut self, to: V) -> Result<V::Value, Flaw> {
        let token = self.reader.token()?;
        let number = match token {
            Token::F64(number) => whole(number),
            Token::F32(number) => whole(number.into()),
            _ => None,
        };
        match number {
            Some(number) => visit_int(number, to),
            None => self.visit(token, to),
        }
    }
}

fn visit_int<'de, V: Visitor<'de>>(number: i128, to: V) -> Result<V::Value, Flaw> {
    match i64::try_from(number) {
        Ok(number) => to.visit_i64(number),
        Err(_) => to.visit_u64(number as u64),
    }
}

/// Kinds that are read as a whole number.
macro_rules! ints {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
            self.int(to)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Unpacker<'de> {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        let token = self.reader.token()?;
        self.visit(token, to)
    }

    ints! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_option<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        match self.peek()? {
            Token::Nil => {
                self.reader.token()?;
                to.visit_none()
            }
            _ => to.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        to: V,
    ) -> Result<V::Value, Flaw> {
        match self.peek()? {
            Token::Ext(..) if name == EXT_STRUCT => self.deserialize_any(to),
            _ => to.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        self.list(to)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, to: V) -> Result<V::Value, Flaw> {
        self.list(to)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        to: V,
    ) -> Result<V::Value, Flaw> {
        self.list(to)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        to: V,
    ) -> Result<V::Value, Flaw> {
        match self.peek()? {
            Token::Map(1) => {
                self.reader.token()?;
                to.visit_enum(Variant(self))
            }
            Token::Int(number) => {
                self.reader.token()?;
                let number = u32::try_from(number).map_err(<Flaw as de::Error>::custom)?;
                to.visit_enum(U32Deserializer::new(number))
            }
            Token::Str(name) => {
                self.reader.token()?;
                let name = std::str::from_utf8(name).map_err(<Flaw as de::Error>::custom)?;
                to.visit_enum(name.into_deserializer())
            }
            _ => self.deserialize_any(to),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        self.reader.skip()?;
        to.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct map struct identifier
    }
}

/// The items of a list or the pairs of a map that are still to be read.
struct Items<'a, 'de> {
    unpacker: &'a mut Unpacker<'de>,
    left: usize,
}

impl Items<'_, '_> {
    /// What was not wanted is too much.
    fn end(&self) -> Result<(), Flaw> {
        if self.left == 0 { Ok(()) } else { Err(Flaw(format!("{} items too many", self.left))) }
    }
}

impl<'de> de::SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Flaw> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.unpacker).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> de::MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = Flaw;

    fn next_key_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Flaw> {
        de::SeqAccess::next_element_seed(self, seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Flaw> {
        seed.deserialize(&mut *self.unpacker)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// A variant with something in it: a map of its name to that.
struct Variant<'a, 'de>(&'a mut Unpacker<'de>);

impl<'de> de::EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Flaw;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Flaw> {
        Ok((seed.deserialize(&mut *self.0)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Flaw;

    fn unit_variant(self) -> Result<(), Flaw> {
        de::Deserialize::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Flaw> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, to: V) -> Result<V::Value, Flaw> {
        self.0.list(to)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        to: V,
    ) -> Result<V::Value, Flaw> {
        self.0.deserialize_any(to)
    }
}

/// A value of an application's own kind, as a pair of its number and its bytes.
struct Ext<'de>(i8, &'de [u8]);

impl<'de> Deserializer<'de> for Ext<'de> {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        to.visit_seq(ExtItems { kind: Some(self.0), bytes: Some(self.1) })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct ExtItems<'de> {
    kind: Option<i8>,
    bytes: Option<&'de [u8]>,
}

impl<'de> de::SeqAccess<'de> for ExtItems<'de> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Flaw> {
        if let Some(kind) = self.kind.take() {
            return seed.deserialize(kind.into_deserializer()).map(Some);
        }
        let bytes = self.bytes.take().map(de::value::BorrowedBytesDeserializer::new);
        bytes.map(|bytes| seed.deserialize(bytes)).transpose()
    }
}

/// How many items a packed list has.
fn items(reader: &mut Reader<'_>) -> Result<usize, Flaw> {
    match reader.token()? {
        Token::Array(items) => Ok(items),
        Token::Nil => Ok(0),
        _ => Err(msgpack::Malformed("no list").into()),
    }
}
