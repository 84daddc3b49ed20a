//! Reading `a{sv}`: a field that is missing or of a wrong type is told by its name and by what it
//! wants; fields nobody asks for are passed over.

use std::collections::{BTreeMap, HashMap};
use zbus::{OwnedVariant, Variant};

/// A received `a{sv}`.
pub(super) type Dict = HashMap<String, OwnedVariant>;

/// An `a{sv}` to send, in the order of its names.
pub(super) type Sent = BTreeMap<&'static str, Variant<'static>>;

/// Variants within variants that are looked through; deeper ones are of no type we want.
const WRAPS_MAX: usize = 4;

/// What is wrong with a call; begins with the name of the field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub String);

/// The fields of one message, and where it stands in the request.
pub(super) struct Fields<'a> {
    at: String,
    dict: Source<'a>,
}

enum Source<'a> {
    Request(&'a Dict),
    Nested(&'a zbus::Dict<'static, 'static>),
}

/// A value that can be a field.
pub(super) trait Field: Sized {
    /// `at` is the field's name, for the error.
    fn read(at: &str, value: &Variant<'static>) -> Result<Self, Malformed>;
}

/// A message of the protocol: both directions of a nested `a{sv}`.
pub(super) trait Word: Sized {
    fn read(fields: &Fields<'_>) -> Result<Self, Malformed>;
    fn write(self) -> Sent;
}

impl<'a> Fields<'a> {
    pub(super) fn of(dict: &'a Dict) -> Fields<'a> {
        Fields { at: String::new(), dict: Source::Request(dict) }
    }

    pub(super) fn required<T: Field>(&self, name: &str) -> Result<T, Malformed> {
        match self.optional(name)? {
            Some(value) => Ok(value),
            None => Err(self.wrong(name, "missing")),
        }
    }

    pub(super) fn optional<T: Field>(&self, name: &str) -> Result<Option<T>, Malformed> {
        self.get(name).map(|value| T::read(&self.name(name), value)).transpose()
    }

    /// An optional text; an empty one counts as absent.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Malformed> {
        Ok(self.optional(name)?.filter(|text: &String| !text.is_empty()))
    }

    /// A repeated field; absent is empty.
    pub(super) fn repeated<T: Field>(&self, name: &str) -> Result<Vec<T>, Malformed> {
        let Some(value) = self.get(name) else { return Ok(vec![]) };
        let Variant::Array(array) = value else {
            return Err(self.wrong(name, &wants("an array (aa{sv})", value)));
        };
        let read = |(at, value)| T::read(&format!("{}[{at}]", self.name(name)), unwrapped(value));
        array.iter().enumerate().map(read).collect()
    }

    /// A complaint about one of these fields.
    pub(super) fn wrong(&self, name: &str, what: &str) -> Malformed {
        Malformed(format!("{}: {what}", self.name(name)))
    }

    fn get(&self, name: &str) -> Option<&'a Variant<'static>> {
        let is_it = |key: &Variant<'_>| matches!(key, Variant::Str(key) if key.as_str() == name);
        let value = match self.dict {
            Source::Request(dict) => dict.get(name).map(|value| &**value),
            Source::Nested(dict) => dict.iter().find(|(key, _)| is_it(key)).map(|(_, it)| it),
        };
        value.map(unwrapped)
    }

    fn name(&self, name: &str) -> String {
        if self.at.is_empty() { name.into() } else { format!("{}.{name}", self.at) }
    }
}

impl<T: Word> Field for T {
    fn read(at: &str, value: &Variant<'static>) -> Result<T, Malformed> {
        match value {
            Variant::Dict(dict) => T::read(&Fields { at: at.into(), dict: Source::Nested(dict) }),
            other => Err(Malformed(format!("{at}: {}", wants("a dictionary (a{sv})", other)))),
        }
    }
}

impl Field for String {
    fn read(at: &str, value: &Variant<'static>) -> Result<String, Malformed> {
        match value {
            Variant::Str(text) => Ok(text.as_str().into()),
            other => Err(Malformed(format!("{at}: {}", wants("a text (s)", other)))),
        }
    }
}

impl Field for bool {
    fn read(at: &str, value: &Variant<'static>) -> Result<bool, Malformed> {
        match value {
            Variant::Bool(yes) => Ok(*yes),
            other => Err(Malformed(format!("{at}: {}", wants("true or false (b)", other)))),
        }
    }
}

impl Field for f64 {
    fn read(at: &str, value: &Variant<'static>) -> Result<f64, Malformed> {
        match (value, whole(value)) {
            (Variant::F64(number), _) => Ok(*number),
            (_, Some(number)) => Ok(number as f64),
            _ => Err(Malformed(format!("{at}: {}", wants("a number (d)", value)))),
        }
    }
}

impl Field for i64 {
    fn read(at: &str, value: &Variant<'static>) -> Result<i64, Malformed> {
        let wrong = || Malformed(format!("{at}: {}", wants("a whole number (x)", value)));
        whole(value).ok_or_else(wrong)
    }
}

impl Field for i32 {
    fn read(at: &str, value: &Variant<'static>) -> Result<i32, Malformed> {
        let number = whole(value)
            .ok_or_else(|| Malformed(format!("{at}: {}", wants("a whole number (i)", value))))?;
        let wrong = |_| Malformed(format!("{at}: {} to {}, not {number}", i32::MIN, i32::MAX));
        i32::try_from(number).map_err(wrong)
    }
}

/// A whole number of any of the bus's types.
pub(super) fn whole(value: &Variant<'_>) -> Option<i64> {
    Some(match value {
        Variant::U8(number) => (*number).into(),
        Variant::I16(number) => (*number).into(),
        Variant::U16(number) => (*number).into(),
        Variant::I32(number) => (*number).into(),
        Variant::U32(number) => (*number).into(),
        Variant::I64(number) => *number,
        Variant::U64(number) => i64::try_from(*number).ok()?,
        _ => return None,
    })
}

pub(super) fn wants(what: &str, value: &Variant<'_>) -> String {
    format!("{what}, not {}", value.value_signature())
}

/// Dynamic languages wrap once too often.
fn unwrapped<'a>(value: &'a Variant<'static>) -> &'a Variant<'static> {
    let mut value = value;
    for _ in 0..WRAPS_MAX {
        match value {
            Variant::Variant(inner) => value = inner,
            _ => break,
        }
    }
    value
}
