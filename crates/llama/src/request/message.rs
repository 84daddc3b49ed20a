//! The messages of a conversation, as templates read them. What they cannot carry is refused.

use serde_json::{Map, Value};

const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool"];
/// What templates know of a message besides its role, its text and its calls.
const TEXTS: &[&str] = &["name", "tool_call_id", "reasoning_content"];
/// Bookkeeping of answers that a client sends back.
const HARMLESS: &[&str] = &["id", "annotations", "timestamp"];

/// Checks the messages and makes texts of their contents.
pub fn normalise(messages: Vec<Value>) -> Result<Vec<Value>, String> {
    if messages.is_empty() {
        return Err("messages: at least one is needed".into());
    }
    let all = messages.iter().enumerate();
    all.map(|(at, message)| normalise_one(message, &format!("messages[{at}]"))).collect()
}

fn normalise_one(message: &Value, place: &str) -> Result<Value, String> {
    let message = message.as_object().ok_or(format!("{place}: must be an object"))?;
    let role = message.get("role").and_then(Value::as_str);
    let role = role.ok_or(format!("{place}.role: is missing"))?;
    if !ROLES.contains(&role) {
        return Err(format!("{place}.role: {role:?} is none of {}", ROLES.join(", ")));
    }
    let mut normal = Map::new();
    let as_role = if role == "developer" { "system" } else { role };
    normal.insert("role".into(), as_role.into());
    normal.insert("content".into(), "".into());
    for (name, value) in message.iter().filter(|(_, value)| asks_something(value)) {
        let place = format!("{place}.{name}");
        match name.as_str() {
            "role" => {}
            "content" => _ = normal.insert(name.clone(), read_content(value, &place)?.into()),
            "tool_calls" if role == "assistant" => {
                normal.insert(name.clone(), read_calls(value, &place)?);
            }
            name if TEXTS.contains(&name) => {
                let text = value.as_str().ok_or(format!("{place}: must be a text"))?;
                normal.insert(name.into(), refuse_zero(text, &place)?.into());
            }
            name if HARMLESS.contains(&name) => {}
            _ => return Err(format!("{place}: this runner cannot do that; leave it out")),
        }
    }
    Ok(Value::Object(normal))
}

/// Null, false and empty lists ask for nothing.
fn asks_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value.as_array() != Some(&vec![])
}

fn read_content(content: &Value, place: &str) -> Result<String, String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts
                .map(|(at, part)| read_part(part, &format!("{place}[{at}]")))
                .collect::<Result<_, _>>()?
        }
        _ => return Err(format!("{place}: must be a text, a list of parts or null")),
    };
    refuse_zero(&text, place).map(str::to_string)
}

fn refuse_zero<'t>(text: &'t str, place: &str) -> Result<&'t str, String> {
    match text.contains('\0') {
        true => Err(format!("{place}: a zero byte is not text")),
        false => Ok(text),
    }
}

fn read_part(part: &Value, place: &str) -> Result<String, String> {
    let kind = part["type"].as_str().unwrap_or("text");
    let text = part["text"].as_str().filter(|_| kind == "text");
    let refused = || format!("{place}: a part of type {kind:?}: this runner reads text only");
    text.map(str::to_string).ok_or_else(refused)
}

fn read_calls(calls: &Value, place: &str) -> Result<Value, String> {
    let calls = calls.as_array().ok_or(format!("{place}: must be a list"))?;
    let calls = calls.iter().enumerate();
    calls.map(|(at, call)| read_call(call, &format!("{place}[{at}]"))).collect()
}

/// Templates expect the arguments of a call as an object, OpenAI sends them as text.
fn read_call(call: &Value, place: &str) -> Result<Value, String> {
    let kind = call.get("type").unwrap_or(&Value::Null);
    if !kind.is_null() && kind != "function" {
        return Err(format!("{place}.type: must be \"function\", not {kind}"));
    }
    let place = format!("{place}.function");
    if !call["function"]["name"].is_string() {
        return Err(format!("{place}.name: is missing"));
    }
    let mut call = call.clone();
    let arguments = &mut call["function"]["arguments"];
    let parsed = match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        _ => Value::Null,
    };
    if !parsed.is_object() {
        return Err(format!("{place}.arguments: must be a JSON object, as text"));
    }
    *arguments = parsed;
    Ok(call)
}
