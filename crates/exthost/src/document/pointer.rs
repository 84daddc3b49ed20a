//! Paths into JSON, YAML and TOML: JSON pointers (RFC 6901), where elements count from 0, `-` is
//! the place after the last, and the empty path is the whole document.

use super::{INDEX_MAX, Patch};
use crate::code;
use althing_jsonrpc::Error;
use serde_json::{Map, Value};

/// What a patch does to the place its path names.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Set(Value),
    /// Makes it `null`, unless there is something already.
    Ensure,
    Remove,
}

/// The way that a patch names, and what it does there.
pub(super) fn read(patch: &Patch) -> Result<(Vec<String>, Change), Error> {
    let path = patch.path.as_str();
    let tokens = match path.strip_prefix('/') {
        None if path.is_empty() => vec![],
        None => return Err(code::invalid_path(format!("Invalid path {path:?}: begin it with /"))),
        Some(rest) => rest.split('/').map(token).collect::<Result<_, _>>()?,
    };
    let change = match (&patch.value, patch.create, patch.remove) {
        (None, true, _) => Change::Ensure,
        (_, false, true) => Change::Remove,
        (value, ..) => Change::Set(value.clone().unwrap_or(Value::Null)),
    };
    Ok((tokens, change))
}

fn token(text: &str) -> Result<String, Error> {
    let plain = text.replace("~1", "").replace("~0", "");
    if plain.contains('~') {
        return Err(code::invalid_path(format!("{text:?}: ~ is written ~0, / is written ~1")));
    }
    Ok(text.replace("~1", "/").replace("~0", "~"))
}

/// Where an element of a list of `length` is; past the end means that nulls come before it.
pub(super) fn index(token: &str, length: usize) -> Result<usize, Error> {
    if token == "-" {
        return Ok(length);
    }
    let is_number = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    let index = token.parse().ok().filter(|index| is_number && *index <= INDEX_MAX);
    index.ok_or_else(|| {
        code::invalid_path(format!("{token:?} is no element: expected 0 to {INDEX_MAX} or -"))
    })
}

/// Changes a tree. What is removed may be missing; what lies on the way may not, unless `create`.
pub(super) fn apply(
    tree: &mut Value,
    tokens: &[String],
    change: Change,
    create: bool,
) -> Result<(), Error> {
    let Some((last, way)) = tokens.split_last() else {
        match change {
            Change::Set(value) => *tree = value,
            Change::Ensure => {}
            Change::Remove => {
                return Err(code::invalid_path("the whole document cannot be removed"));
            }
        }
        return Ok(());
    };
    let mut at = tree;
    for token in way {
        at = match step(at, token, create)? {
            Some(next) => next,
            None if matches!(change, Change::Remove) => return Ok(()),
            None => return Err(code::path_not_found(format!("{token:?} is not there"))),
        };
    }
    match change {
        Change::Set(value) => set(at, last, value),
        Change::Ensure if matches!(step(at, last, false), Ok(Some(_))) => Ok(()),
        Change::Ensure => set(at, last, Value::Null),
        Change::Remove => remove(at, last),
    }
}

fn step<'a>(at: &'a mut Value, token: &str, create: bool) -> Result<Option<&'a mut Value>, Error> {
    match at {
        Value::Object(members) => {
            if create {
                members.entry(token).or_insert_with(|| Map::new().into());
            }
            Ok(members.get_mut(token))
        }
        Value::Array(elements) => {
            let index = index(token, elements.len())?;
            Ok(elements.get_mut(index))
        }
        _ => Err(code::path_not_found(format!("{token:?} is below what has no parts"))),
    }
}

fn set(at: &mut Value, token: &str, value: Value) -> Result<(), Error> {
    match at {
        Value::Object(members) => drop(members.insert(token.to_string(), value)),
        Value::Array(elements) => {
            let index = index(token, elements.len())?;
            if elements.len() <= index {
                elements.resize(index + 1, Value::Null);
            }
            elements[index] = value;
        }
        _ => return Err(code::path_not_found(format!("{token:?} is below what has no parts"))),
    }
    Ok(())
}

fn remove(at: &mut Value, token: &str) -> Result<(), Error> {
    match at {
        Value::Object(members) => drop(members.shift_remove(token)),
        Value::Array(elements) => {
            let index = index(token, elements.len())?;
            if index < elements.len() {
                elements.remove(index);
            }
        }
        _ => {}
    }
    Ok(())
}
