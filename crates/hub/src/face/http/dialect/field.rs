//! Reading JSON with errors that name the field. Absent and `null` are the same.

use althing_stdx::{Fault, Result};
use serde_json::{Map, Value};

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Field<'a> {
    path: String,
    pub value: &'a Value,
}

const NULL: &Value = &Value::Null;

impl<'a> Field<'a> {
    /// The whole body.
    pub(super) fn body(value: &'a Value) -> Result<Field<'a>> {
        match value {
            Value::Object(_) => Ok(Field { path: String::new(), value }),
            _ => Err(Fault::invalid("the body must be a JSON object")),
        }
    }

    /// Where it stands; empty for the body itself.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn get(&self, key: &str) -> Field<'a> {
        let path = match self.path.as_str() {
            "" => key.to_string(),
            path => format!("{path}.{key}"),
        };
        Field { path, value: self.value.get(key).unwrap_or(NULL) }
    }

    pub(super) fn bad(&self, why: impl std::fmt::Display) -> Fault {
        Fault::invalid(format!("{}: {why}", self.path))
    }

    /// An error where anything is set: it would mean something that is lost on the way.
    pub(super) fn refuse_if(&self, is_set: bool, why: &str) -> Result<()> {
        if is_set { Err(self.bad(why)) } else { Ok(()) }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn text(&self) -> Result<Option<&'a str>> {
        self.read(Value::as_str, "must be a text")
    }

    pub(super) fn wanted_text(&self) -> Result<&'a str> {
        self.text()?.ok_or_else(|| self.bad("is missing"))
    }

    pub(super) fn flag(&self) -> Result<bool> {
        Ok(self.read(Value::as_bool, "must be true or false")?.unwrap_or(false))
    }

    /// As `flag`; none where it is not set.
    pub(super) fn choice(&self) -> Result<Option<bool>> {
        self.read(Value::as_bool, "must be true or false")
    }

    pub(super) fn count(&self) -> Result<Option<u32>> {
        let read = |value: &Value| value.as_u64().and_then(|it| u32::try_from(it).ok());
        self.read(read, "must be a whole number, 0 to 4294967295")
    }

    pub(super) fn whole(&self) -> Result<Option<i64>> {
        self.read(Value::as_i64, "must be a whole number")
    }

    pub(super) fn decimal(&self) -> Result<Option<f32>> {
        self.read(|value| value.as_f64().map(|it| it as f32), "must be a number")
    }

    pub(super) fn object(&self) -> Result<Option<&'a Map<String, Value>>> {
        self.read(Value::as_object, "must be an object")
    }

    pub(super) fn list(&self) -> Result<Vec<Field<'a>>> {
        let items = self.read(Value::as_array, "must be a list")?.into_iter().flatten();
        let item = |(at, value)| Field { path: format!("{}[{at}]", self.path), value };
        Ok(items.enumerate().map(item).collect())
    }

    /// `type`, which every part, tool and item has.
    pub(super) fn kind(&self) -> Result<&'a str> {
        self.get("type").wanted_text()
    }

    fn read<T>(&self, read: impl Fn(&'a Value) -> Option<T>, must: &str) -> Result<Option<T>> {
        match self.value {
            Value::Null => Ok(None),
            value => read(value).map(Some).ok_or_else(|| self.bad(must)),
        }
    }
}
