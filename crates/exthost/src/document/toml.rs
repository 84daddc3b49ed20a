//! TOML by the crate that keeps comments, blanks and the order of things.

use super::Patch;
use super::pointer::{self, Change};
use crate::code;
use althing_jsonrpc::Error;
use serde_json::{Map, Value};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

pub(super) fn read(text: &str) -> Result<Value, String> {
    let document = text.parse::<DocumentMut>();
    Ok(item(document.map_err(|error| error.to_string())?.as_item()))
}

fn item(from: &Item) -> Value {
    match from {
        Item::None => Value::Null,
        Item::Value(from) => value(from),
        Item::Table(from) => table(from),
        Item::ArrayOfTables(from) => from.iter().map(|from| table(from)).collect(),
    }
}

fn table(from: &dyn TableLike) -> Value {
    Value::Object(from.iter().map(|(key, from)| (key.to_string(), item(from))).collect())
}

/// What JSON does not have (dates) is text.
fn value(from: &toml_edit::Value) -> Value {
    match from {
        toml_edit::Value::String(from) => from.value().as_str().into(),
        toml_edit::Value::Integer(from) => (*from.value()).into(),
        toml_edit::Value::Float(from) => (*from.value()).into(),
        toml_edit::Value::Boolean(from) => (*from.value()).into(),
        toml_edit::Value::Datetime(from) => from.value().to_string().into(),
        toml_edit::Value::Array(from) => from.iter().map(value).collect(),
        toml_edit::Value::InlineTable(from) => table(from),
    }
}

/// A tree as TOML: tables in brackets, lists of tables in double ones. What is nothing is an empty
/// text in a list, where its place counts, and is left out elsewhere.
pub(super) fn write(tree: &Value) -> Result<String, String> {
    let Value::Object(members) = tree else { return Err("its root is no table".into()) };
    let mut document = DocumentMut::new();
    *document.as_table_mut() = table_of(members)?;
    Ok(document.to_string())
}

fn table_of(members: &Map<String, Value>) -> Result<Table, String> {
    let mut table = Table::new();
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        table.insert(key, item_of(value)?);
    }
    Ok(table)
}

fn item_of(value: &Value) -> Result<Item, String> {
    match value {
        Value::Object(members) => Ok(Item::Table(table_of(members)?)),
        Value::Array(elements) if !elements.is_empty() && elements.iter().all(Value::is_object) => {
            let tables = elements.iter().filter_map(Value::as_object).map(table_of);
            Ok(Item::ArrayOfTables(tables.collect::<Result<ArrayOfTables, _>>()?))
        }
        value => Ok(Item::Value(inline(value)?)),
    }
}

fn inline(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::Null => "".into(),
        Value::Bool(value) => (*value).into(),
        Value::String(value) => value.as_str().into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) if !number.is_nan() && !value.is_u64() => number.into(),
            _ => return Err(format!("{number} is no number of TOML")),
        },
        Value::Array(elements) => elements.iter().map(inline).collect::<Result<Array, _>>()?.into(),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(key, value)| Ok((key.as_str(), inline(value)?)));
            members.collect::<Result<InlineTable, String>>()?.into()
        }
    })
}

/// Applies one patch. There is no `null`: what is cleared becomes an empty text.
pub(super) fn patch(text: &mut String, patch: &Patch) -> Result<(), Error> {
    let (tokens, change) = pointer::read(patch)?;
    let change = match change {
        Change::Set(Value::Null) => Change::Set("".into()),
        change => change,
    };
    let before = read(text).map_err(code::invalid_message)?;
    let mut after = before.clone();
    pointer::apply(&mut after, &tokens, change.clone(), patch.create)?;
    if before == after {
        return Ok(());
    }
    let changed = match tokens.split_last() {
        None => write(&after).map_err(code::validation)?,
        Some((last, way)) => {
            let mut document: DocumentMut = text.parse().map_err(code::invalid_message)?;
            edit(document.as_item_mut(), way, last, change, &after).map_err(code::validation)?;
            document.to_string()
        }
    };
    if read(&changed).as_ref() != Ok(&after) {
        return Err(code::validation("TOML cannot be changed so: a null, or a list of both kinds"));
    }
    *text = changed;
    Ok(())
}

fn edit(
    root: &mut Item,
    way: &[String],
    last: &str,
    change: Change,
    after: &Value,
) -> Result<(), String> {
    let mut at = root;
    let mut wanted = after;
    for token in way {
        wanted = child(wanted, token).ok_or("a part of the path is not there")?;
        if step(at, token).is_none() {
            return put(at, token, wanted);
        }
        at = step(at, token).ok_or("a part of the path is not there")?;
    }
    match change {
        Change::Remove => remove(at, last),
        Change::Set(_) | Change::Ensure => {
            let index = wanted.as_array().map(|it| (it.len() - 1).to_string());
            let last = if last == "-" { index.as_deref().unwrap_or(last) } else { last };
            put(at, last, child(wanted, last).ok_or("it is not there")?)
        }
    }
}

fn child<'a>(at: &'a Value, token: &str) -> Option<&'a Value> {
    match at {
        Value::Object(members) => members.get(token),
        Value::Array(elements) => elements.get(token.parse::<usize>().ok()?),
        _ => None,
    }
}

fn step<'a>(at: &'a mut Item, token: &str) -> Option<&'a mut Item> {
    match at {
        Item::Table(table) => table.get_mut(token),
        Item::Value(toml_edit::Value::InlineTable(table)) => TableLike::get_mut(table, token),
        _ => None,
    }
}

/// Puts a value where `token` says, with the blanks and comments of the one before it.
fn put(at: &mut Item, token: &str, value: &Value) -> Result<(), String> {
    if let Some(elements) = at.as_array_mut() {
        let index: usize = token.parse().map_err(|_| "it is no element")?;
        while elements.len() < index {
            elements.push("");
        }
        let new = inline(value)?;
        match elements.get_mut(index) {
            Some(old) => {
                let decor = old.decor().clone();
                *old = new;
                *old.decor_mut() = decor;
            }
            None => elements.push(new),
        }
        return Ok(());
    }
    let table = at.as_table_like_mut().ok_or("it has no parts that can be named")?;
    match table.get_mut(token) {
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = inline(value)?;
            *old.decor_mut() = decor;
        }
        Some(old) => *old = item_of(value)?,
        None => drop(table.insert(token, Item::Value(inline(value)?))),
    }
    Ok(())
}

fn remove(at: &mut Item, token: &str) -> Result<(), String> {
    if let Some(elements) = at.as_array_mut() {
        let index: usize = token.parse().map_err(|_| "it is no element")?;
        drop(elements.remove(index));
    } else if let Some(tables) = at.as_array_of_tables_mut() {
        tables.remove(token.parse().map_err(|_| "it is no element")?);
    } else if let Some(table) = at.as_table_like_mut() {
        drop(table.remove(token));
    }
    Ok(())
}
