//! Messages of ours, as compact JSON.

use crate::error::Error;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

const VERSION: &str = "2.0";

#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Refusal<'a>>,
}

#[derive(Serialize)]
struct Refusal<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

/// A request, or without an id a notification. Parameters that are `null` are left out: they would
/// not be JSON-RPC.
pub(crate) fn call(
    id: Option<u64>,
    method: &str,
    params: impl Serialize,
) -> serde_json::Result<String> {
    let params = serde_json::value::to_raw_value(&params)?;
    let params = Some(&*params).filter(|params| params.get() != "null");
    serde_json::to_string(&Call { jsonrpc: VERSION, id, method, params })
}

/// The answer to `id`.
pub(crate) fn answer(
    id: Option<&RawValue>,
    outcome: &Result<Value, Error>,
    omit_empty_data: bool,
) -> String {
    let error = outcome.as_ref().err().map(|error| Refusal {
        code: error.code,
        message: &error.message,
        data: error.data.as_ref().or((!omit_empty_data).then_some(&Value::Null)),
    });
    let answer = Answer { jsonrpc: VERSION, id, result: outcome.as_ref().ok(), error };
    serde_json::to_string(&answer).expect("JSON values can always be written")
}
