//! From Rust's types to msgpack that every library reads: shortest forms, whole numbers with a sign
//! where they fit one, texts as the keys of maps, and not too deep.

use std::fmt;

use serde::ser::{self, Serialize};

use crate::msgpack::{self, Reader, TOO_DEEP, Token};
use crate::value::EXT_STRUCT;

/// Why a value cannot be packed or unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw(pub String);

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Flaw {}

impl ser::Error for Flaw {
    fn custom<T: fmt::Display>(text: T) -> Flaw {
        Flaw(text.to_string())
    }
}

impl From<msgpack::Malformed> for Flaw {
    fn from(flaw: msgpack::Malformed) -> Flaw {
        Flaw(flaw.to_string())
    }
}

/// What most arguments and results have room in.
const PACKED_BYTES: usize = 128;

/// Packs a value with so many levels of lists and maps at most.
pub(crate) fn pack(value: &(impl Serialize + ?Sized), levels: usize) -> Result<Vec<u8>, Flaw> {
    let mut packer = Packer { out: Vec::with_capacity(PACKED_BYTES), levels };
    value.serialize(&mut packer)?;
    Ok(packer.out)
}

struct Packer {
    out: Vec<u8>,
    levels: usize,
}

impl Packer {
    fn deeper(&mut self) -> Result<(), Flaw> {
        self.levels = self.levels.checked_sub(1).ok_or(TOO_DEEP)?;
        Ok(())
    }

    fn begin(&mut self, is_map: bool, said: Option<usize>) -> Result<Items<'_>, Flaw> {
        self.deeper()?;
        let at = self.out.len();
        if let Some(count) = said {
            put_head(&mut self.out, is_map, count);
        }
        Ok(Items { packer: self, is_map, at, said, count: 0, levels: 1 })
    }

    /// A variant with something in it is a map of its name to that.
    fn begin_variant(
        &mut self,
        variant: &str,
        is_map: bool,
        count: usize,
    ) -> Result<Items<'_>, Flaw> {
        self.deeper()?;
        msgpack::put_map(&mut self.out, 1);
        msgpack::put_str(&mut self.out, variant);
        let items = self.begin(is_map, Some(count))?;
        Ok(Items { levels: 2, ..items })
    }

    fn key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), Flaw> {
        let at = self.out.len();
        key.serialize(&mut *self)?;
        match self.out.get(at) {
            Some(0xa0..=0xbf | 0xd9..=0xdb) => Ok(()),
            _ => Err(msgpack::NO_TEXT.into()),
        }
    }

    fn ext(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Flaw> {
        // The pair is no list where it is read.
        let pair = pack(value, self.levels + 1)?;
        let mut reader = Reader::new(&pair);
        match (reader.token()?, reader.token()?, reader.token()?) {
            (Token::Array(2), Token::Int(kind), Token::Bin(bytes)) => {
                let kind = i8::try_from(kind).map_err(<Flaw as ser::Error>::custom)?;
                msgpack::put_ext(&mut self.out, kind, bytes);
                Ok(())
            }
            _ => Err(Flaw("an extension is a kind and bytes".into())),
        }
    }
}

fn put_head(out: &mut Vec<u8>, is_map: bool, count: usize) {
    if is_map { msgpack::put_map(out, count) } else { msgpack::put_array(out, count) }
}

/// A list or a map that is being written.
struct Items<'a> {
    packer: &'a mut Packer,
    is_map: bool,
    /// Where it begins, how many items it is said to have, and how many it has so far.
    at: usize,
    said: Option<usize>,
    count: usize,
    /// Levels to leave at the end.
    levels: usize,
}

impl Items<'_> {
    fn add(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Flaw> {
        self.count += 1;
        value.serialize(&mut *self.packer)
    }

    fn add_field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Flaw> {
        msgpack::put_str(&mut self.packer.out, key);
        self.add(value)
    }

    fn close(self) -> Result<(), Flaw> {
        self.packer.levels += self.levels;
        match self.said {
            Some(said) if said == self.count => Ok(()),
            // What comes after the head is what says how many there are.
            Some(said) => Err(Flaw(format!("{} items where {said} were said", self.count))),
            None => {
                let mut head = Vec::with_capacity(5);
                put_head(&mut head, self.is_map, self.count);
                self.packer.out.splice(self.at..self.at, head);
                Ok(())
            }
        }
    }
}

/// Numbers, each by the function that writes it.
macro_rules! put {
    ($($name:ident: $type:ty => $put:ident as $as:ty,)*) => {
        $(fn $name(self, number: $type) -> Result<(), Flaw> {
            msgpack::$put(&mut self.out, number as $as);
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Packer {
    type Ok = ();
    type Error = Flaw;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    put! {
        serialize_bool: bool => put_bool as bool,
        serialize_i8: i8 => put_i64 as i64,
        serialize_i16: i16 => put_i64 as i64,
        serialize_i32: i32 => put_i64 as i64,
        serialize_i64: i64 => put_i64 as i64,
        serialize_u8: u8 => put_u64 as u64,
        serialize_u16: u16 => put_u64 as u64,
        serialize_u32: u32 => put_u64 as u64,
        serialize_u64: u64 => put_u64 as u64,
        serialize_f32: f32 => put_f32 as f32,
        serialize_f64: f64 => put_f64 as f64,
    }

    fn serialize_i128(self, number: i128) -> Result<(), Flaw> {
        match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => self.serialize_i64(number),
            (_, Ok(number)) => self.serialize_u64(number),
            _ => Err(Flaw(format!("{number} has more than 64 bits"))),
        }
    }

    fn serialize_u128(self, number: u128) -> Result<(), Flaw> {
        let wide = |_| Flaw(format!("{number} has more than 64 bits"));
        self.serialize_u64(u64::try_from(number).map_err(wide)?)
    }

    fn serialize_char(self, letter: char) -> Result<(), Flaw> {
        self.serialize_str(letter.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Flaw> {
        msgpack::put_str(&mut self.out, text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Flaw> {
        msgpack::put_bin(&mut self.out, bytes);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Flaw> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Flaw> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Flaw> {
        self.out.push(msgpack::NIL);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Flaw> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Flaw> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Flaw> {
        if name == EXT_STRUCT { self.ext(value) } else { value.serialize(self) }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Flaw> {
        let mut items = self.begin(true, Some(1))?;
        items.add_field(variant, value)?;
        items.close()
    }

    fn serialize_seq(self, count: Option<usize>) -> Result<Items<'a>, Flaw> {
        self.begin(false, count)
    }

    fn serialize_tuple(self, count: usize) -> Result<Items<'a>, Flaw> {
        self.begin(false, Some(count))
    }

    fn serialize_tuple_struct(self, _: &'static str, count: usize) -> Result<Items<'a>, Flaw> {
        self.begin(false, Some(count))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        count: usize,
    ) -> Result<Items<'a>, Flaw> {
        self.begin_variant(variant, false, count)
    }

    fn serialize_map(self, count: Option<usize>) -> Result<Items<'a>, Flaw> {
        self.begin(true, count)
    }

    fn serialize_struct(self, _: &'static str, count: usize) -> Result<Items<'a>, Flaw> {
        self.begin(true, Some(count))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        count: usize,
    ) -> Result<Items<'a>, Flaw> {
        self.begin_variant(variant, true, count)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Lists of all kinds, which differ in the name of the function that adds.
macro_rules! lists {
    ($($kind:ident: $add:ident,)*) => {
        $(impl ser::$kind for Items<'_> {
            type Ok = ();
            type Error = Flaw;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Flaw> {
                self.add(value)
            }

            fn end(self) -> Result<(), Flaw> {
                self.close()
            }
        })*
    };
}

lists! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Flaw;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Flaw> {
        self.packer.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Flaw> {
        self.add(value)
    }

    fn end(self) -> Result<(), Flaw> {
        self.close()
    }
}

/// Maps with names that are known.
macro_rules! structs {
    ($($kind:ident,)*) => {
        $(impl ser::$kind for Items<'_> {
            type Ok = ();
            type Error = Flaw;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Flaw> {
                self.add_field(key, value)
            }

            fn end(self) -> Result<(), Flaw> {
                self.close()
            }
        })*
    };
}

structs! { SerializeStruct, SerializeStructVariant, }

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use std::collections::BTreeMap;

    #[track_caller]
    fn check(value: impl Serialize, packed: &[u8]) {
        assert_eq!(pack(&value, 9).unwrap(), packed);
    }

    #[test]
    fn s4_1_whole_numbers_have_a_sign_as_long_as_they_fit_one() {
        check(127_u8, b"\x7f");
        check(128_u8, b"\xd1\x00\x80");
        check(0x7fff_u64, b"\xd1\x7f\xff");
        check(0x8000_u16, b"\xd2\x00\x00\x80\x00");
        check(u32::MAX, b"\xd3\x00\x00\x00\x00\xff\xff\xff\xff");
        check(i64::MAX as u64, b"\xd3\x7f\xff\xff\xff\xff\xff\xff\xff");
        check(u64::MAX, b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
        check(-33_i128, b"\xd0\xdf");
        assert_eq!(
            pack(&u128::MAX, 9).unwrap_err().0,
            format!("{} has more than 64 bits", u128::MAX)
        );
    }

    #[test]
    fn s4_1_types_have_the_forms_that_all_libraries_read() {
        #[derive(Serialize)]
        enum Kind {
            Unit,
            New(u8),
            Tuple(u8, u8),
            Struct { x: u8 },
        }
        check(Kind::Unit, b"\xa4Unit");
        check(Kind::New(1), b"\x81\xa3New\x01");
        check(Kind::Tuple(1, 2), b"\x81\xa5Tuple\x92\x01\x02");
        check(Kind::Struct { x: 1 }, b"\x81\xa6Struct\x81\xa1x\x01");
        check((Some('x'), None::<u8>, ()), b"\x93\xa1x\xc0\xc0");
        check(crate::Blob(vec![1, 2]), b"\xc4\x02\x01\x02");
        check(BTreeMap::from([("a", 1)]), b"\x81\xa1a\x01");
        // Their number is known at the end only.
        struct Even(u32);
        impl Serialize for Even {
            fn serialize<S: ser::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_seq((0..self.0).filter(|it| it % 2 == 0))
            }
        }
        check((Even(5), 7), b"\x92\x93\x00\x02\x04\x07");
    }
}
