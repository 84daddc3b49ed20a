//! The arguments of a call, by their places. Those that are left out at the end are none, where the
//! function takes that.

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{Unpacker, items};
use crate::msgpack::Reader;
use crate::pack::Flaw;

/// Reads a packed list of arguments as a tuple, a list, or nothing at all.
pub(crate) fn unpack_arguments<'de, T: de::Deserialize<'de>>(args: &'de [u8]) -> Result<T, Flaw> {
    let mut reader = Reader::new(args);
    let given = items(&mut reader)?;
    T::deserialize(Arguments { unpacker: Unpacker { reader }, given })
}

struct Arguments<'de> {
    unpacker: Unpacker<'de>,
    given: usize,
}

impl<'de> Arguments<'de> {
    /// As many as the function takes.
    fn tuple<V: Visitor<'de>>(self, taken: usize, to: V) -> Result<V::Value, Flaw> {
        if self.given > taken {
            return Err(Flaw(format!("{} arguments were given, {taken} are taken", self.given)));
        }
        to.visit_seq(Places { arguments: self, at: 0, taken })
    }
}

impl<'de> Deserializer<'de> for Arguments<'de> {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        let given = self.given;
        self.tuple(given, to)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        match self.given {
            0 => to.visit_unit(),
            given => Err(Flaw(format!("{given} arguments were given, none is taken"))),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        to: V,
    ) -> Result<V::Value, Flaw> {
        self.deserialize_unit(to)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        to: V,
    ) -> Result<V::Value, Flaw> {
        to.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, taken: usize, to: V) -> Result<V::Value, Flaw> {
        self.tuple(taken, to)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        taken: usize,
        to: V,
    ) -> Result<V::Value, Flaw> {
        self.tuple(taken, to)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        to: V,
    ) -> Result<V::Value, Flaw> {
        self.tuple(fields.len(), to)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        seq map enum identifier ignored_any
    }
}

/// What was given, and then what was left out.
struct Places<'de> {
    arguments: Arguments<'de>,
    at: usize,
    taken: usize,
}

impl<'de> de::SeqAccess<'de> for Places<'de> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Flaw> {
        if self.at == self.taken {
            return Ok(None);
        }
        self.at += 1;
        let read = match self.at <= self.arguments.given {
            true => seed.deserialize(&mut self.arguments.unpacker),
            false => seed.deserialize(Missing),
        };
        read.map(Some).map_err(|flaw| Flaw(format!("argument {}: {flaw}", self.at)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.taken - self.at)
    }
}

/// An argument that was left out.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Flaw> {
        Err(Flaw("it is missing".into()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, to: V) -> Result<V::Value, Flaw> {
        to.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        to: V,
    ) -> Result<V::Value, Flaw> {
        to.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
