//! `busctl` and `gdbus`: values as each of them wants them typed.

use super::bus::Bus;
use super::python::Reply;
use super::types::untyped;
use crate::harness::Done;
use althing_hub::face::dbus::{BUS_NAME, OBJECT_PATH};
use serde_json::Value;

/// A call by `busctl`; its signature is needed.
pub fn busctl(bus: &Bus, interface: &str, method: &str, signature: &str, body: &Value) -> Reply {
    let mut command = bus.command("busctl");
    command.args(["--user", "--json=short", "--timeout=60", "call", "--"]);
    command.args([BUS_NAME, OBJECT_PATH, &format!("{BUS_NAME}.{interface}"), method]);
    if !signature.is_empty() {
        command.arg(signature);
    }
    for (kind, value) in kinds(signature).iter().zip(body.as_array().unwrap()) {
        command.args(words(kind, value));
    }
    let done = Done::of(command.output().unwrap());
    match done.code {
        Some(0) => {
            let mut reply: Value = serde_json::from_str(&done.out).unwrap();
            Ok(untyped(reply["data"][0].take()))
        }
        // It shows the text and keeps the name to itself.
        _ => Err((String::new(), done.err)),
    }
}

/// A call by `gdbus`; its answer is text.
pub fn gdbus(bus: &Bus, interface: &str, method: &str, signature: &str, body: &Value) -> Done {
    let mut command = bus.command("gdbus");
    command.args(["call", "--session", "--dest", BUS_NAME, "--object-path", OBJECT_PATH]);
    command.args(["--method", &format!("{BUS_NAME}.{interface}.{method}")]);
    for (kind, value) in kinds(signature).iter().zip(body.as_array().unwrap()) {
        command.arg(text(kind, value));
    }
    Done::of(command.output().unwrap())
}

/// The single types of a signature; of containers only those that the protocol has.
fn kinds(signature: &str) -> Vec<&str> {
    let (mut kinds, mut rest) = (vec![], signature);
    while !rest.is_empty() {
        let dict = ["aa{sv}", "a{sv}"].into_iter().find(|it| rest.starts_with(it));
        let (kind, after) = rest.split_at(dict.map_or(1, str::len));
        kinds.push(kind);
        rest = after;
    }
    kinds
}

/// The type of a value inside a variant.
fn kind(value: &Value) -> String {
    match value {
        Value::Bool(_) => "b".into(),
        Value::Number(number) if number.is_f64() => "d".into(),
        Value::Number(number) if i32::try_from(number.as_i64().unwrap()).is_ok() => "i".into(),
        Value::Number(_) => "x".into(),
        Value::String(_) => "s".into(),
        Value::Object(given) if given.contains_key("$") => given["$"][0].as_str().unwrap().into(),
        Value::Object(_) => "a{sv}".into(),
        _ => "aa{sv}".into(),
    }
}

fn inner(value: &Value) -> &Value {
    value.get("$").map_or(value, |given| &given[1])
}

/// As `busctl` has it: counts before containers, types before variants.
fn words(kind_of: &str, value: &Value) -> Vec<String> {
    match (kind_of, inner(value)) {
        ("a{sv}", Value::Object(map)) => {
            let entry = |(key, value): (&String, &Value)| {
                let kind = kind(value);
                let mut words_of = vec![key.clone(), kind.clone()];
                words_of.extend(words(&kind, value));
                words_of
            };
            let entries = map.iter().flat_map(entry);
            std::iter::once(map.len().to_string()).chain(entries).collect()
        }
        ("aa{sv}", Value::Array(all)) => {
            let each = all.iter().flat_map(|it| words("a{sv}", it));
            std::iter::once(all.len().to_string()).chain(each).collect()
        }
        (_, Value::String(text)) => vec![text.clone()],
        (_, other) => vec![other.to_string()],
    }
}

/// As `gdbus` has it: the text of GVariant.
fn text(kind_of: &str, value: &Value) -> String {
    match (kind_of, inner(value)) {
        ("a{sv}", Value::Object(map)) if map.is_empty() => "@a{sv} {}".into(),
        ("a{sv}", Value::Object(map)) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("'{key}': <{}>", text(&kind(value), value))
            };
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        ("aa{sv}", Value::Array(all)) if all.is_empty() => "@aa{sv} []".into(),
        ("aa{sv}", Value::Array(all)) => {
            let each: Vec<_> = all.iter().map(|it| text("a{sv}", it)).collect();
            format!("[{}]", each.join(", "))
        }
        // JSON's escapes are GVariant's too.
        ("u", other) => format!("uint32 {other}"),
        ("x", other) => format!("int64 {other}"),
        (_, other) => other.to_string(),
    }
}
