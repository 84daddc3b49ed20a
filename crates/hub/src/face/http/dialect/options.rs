//! Settings of a request that all of OpenAI's paths have, and what nobody here reads.

use super::field::Field;
use althing_chat::Sampling;
use althing_stdx::Result;
use serde_json::Value;

/// Reads what tunes an answer besides its temperature; the names are the same everywhere.
pub(super) fn read_sampling(body: &Field) -> Result<Sampling> {
    Ok(Sampling {
        top_p: body.get("top_p").decimal()?,
        top_k: body.get("top_k").count()?,
        seed: body.get("seed").whole()?,
        frequency_penalty: body.get("frequency_penalty").decimal()?,
        presence_penalty: body.get("presence_penalty").decimal()?,
    })
}

/// Names of fields that are set and not `known`. Those with a value that says nothing are left out.
pub(super) fn unread(body: &Field, known: &[&str]) -> Vec<String> {
    let fields = body.value.as_object().into_iter().flatten();
    let unread = fields.filter(|(name, value)| !known.contains(&name.as_str()) && says(value));
    unread.map(|(name, _)| name.clone()).collect()
}

fn says(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}
