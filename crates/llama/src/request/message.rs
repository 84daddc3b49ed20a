//! The messages of a conversation, as templates read them.

use serde_json::{Map, Value};

const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool"];
/// What templates know of a message besides its role and text.
const KEPT: &[&str] = &["name", "tool_call_id", "reasoning_content"];

/// Checks the messages and makes texts of their contents.
pub fn normalise(messages: Vec<Value>) -> Result<Vec<Value>, String> {
    if messages.is_empty() {
        return Err("messages: at least one is needed".into());
    }
    messages.iter().map(normalise_one).collect()
}

fn normalise_one(message: &Value) -> Result<Value, String> {
    let role = message["role"].as_str().ok_or("messages: role is missing")?;
    if !ROLES.contains(&role) {
        return Err(format!("messages: role {role:?} is none of {}", ROLES.join(", ")));
    }
    let mut normal = Map::new();
    let role = if role == "developer" { "system" } else { role };
    normal.insert("role".into(), role.into());
    normal.insert("content".into(), read_content(&message["content"])?.into());
    for name in KEPT {
        if let Some(value) = message.get(*name).filter(|value| !value.is_null()) {
            normal.insert((*name).into(), value.clone());
        }
    }
    if let Some(calls) = message.get("tool_calls").and_then(Value::as_array) {
        let calls = calls.iter().map(parse_arguments).collect();
        normal.insert("tool_calls".into(), Value::Array(calls));
    }
    Ok(Value::Object(normal))
}

fn read_content(content: &Value) -> Result<String, String> {
    let text = match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(read_part).collect::<Result<_, _>>()?,
        _ => return Err("messages: content must be a text, a list of parts or null".into()),
    };
    match text.contains('\0') {
        true => Err("messages: a zero byte is not text".into()),
        false => Ok(text),
    }
}

fn read_part(part: &Value) -> Result<String, String> {
    let kind = part["type"].as_str().unwrap_or("text");
    let text = part["text"].as_str().filter(|_| kind == "text");
    let refused = || format!("messages: a part of type {kind:?}: this runner reads text only");
    text.map(str::to_string).ok_or_else(refused)
}

/// Templates expect the arguments of a call as an object, OpenAI sends them as text.
fn parse_arguments(call: &Value) -> Value {
    let mut call = call.clone();
    let arguments = call["function"]["arguments"].as_str();
    if let Some(Ok(parsed)) = arguments.map(serde_json::from_str::<Value>) {
        call["function"]["arguments"] = parsed;
    }
    call
}
