//! Claude Code: `--output-format stream-json`, one event a line, or the array of `json --verbose`.

use super::{Said, count, nano_usd, status};
use crate::failure;
use althing_chat::{Retry, Usage};
use althing_stdx::{Fault, Kind};
use serde_json::Value;

/// The model of messages that Claude Code makes up itself, such as errors.
const MADE_UP: &str = "<synthetic>";

pub(super) fn read(said: &mut Said, event: &Value) {
    // What agents of the agent say is their own business.
    if event["parent_tool_use_id"].is_string() {
        return;
    }
    match event["type"].as_str().unwrap_or_default() {
        "stream_event" => delta(said, &event["event"]),
        "assistant" => message(said, &event["message"]),
        "system" if event["subtype"] == "api_retry" => said.retrying(retry(event)),
        "result" => result(said, event),
        _ => {}
    }
}

fn delta(said: &mut Said, event: &Value) {
    let delta = &event["delta"];
    match delta["type"].as_str().unwrap_or_default() {
        "text_delta" => said.text(delta["text"].as_str().unwrap_or_default()),
        "thinking_delta" => said.reasoning(delta["thinking"].as_str().unwrap_or_default()),
        _ => {}
    }
}

/// A whole message. Its text came as deltas; where it did not, it is kept for the case that the
/// result is empty.
fn message(said: &mut Said, message: &Value) {
    if message["model"] == MADE_UP {
        return;
    }
    let blocks = || message["content"].as_array().into_iter().flatten();
    if blocks().any(|block| block["type"] == "tool_use") {
        return said.between();
    }
    let text: String = blocks().filter_map(|block| block["text"].as_str()).collect();
    if said.shown.is_empty() && said.held.is_empty() {
        said.message(&text);
    }
}

fn retry(event: &Value) -> Retry {
    let name = event["error"].as_str().unwrap_or("an error");
    let status = status(&event["error_status"]);
    let shown = status.map_or(String::new(), |status| format!(" ({status})"));
    Retry {
        attempt: event["attempt"].as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or(1),
        wait_ms: event["retry_delay_ms"].as_f64().map_or(0, |it| it as u64),
        kind: failure::kind(name, status),
        message: failure::shown(&format!("the provider answered {name}{shown}")),
    }
}

/// The end. An error also has the subtype `success`; only `is_error` tells.
fn result(said: &mut Said, event: &Value) {
    let cost_nano_usd = nano_usd(&event["total_cost_usd"]);
    said.usage(Usage { cost_nano_usd, ..usage(&event["usage"]) });
    let text = event["result"].as_str();
    let subtype = event["subtype"].as_str().unwrap_or_default();
    if event["is_error"] != true && !subtype.starts_with("error") {
        return said.done(text);
    }
    if event["stop_reason"] == "refusal" {
        return said.fail(Fault::new(Kind::Refused, failure::shown(text.unwrap_or_default())));
    }
    let errors = event["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words = text.map(str::to_string).unwrap_or_else(|| errors.collect::<Vec<_>>().join("; "));
    let telling = format!("{words} {subtype} {}", event["terminal_reason"]);
    let status = status(&event["api_error_status"]);
    let mut fault = failure::fault(&words, status, subtype);
    fault.kind = failure::kind(&telling, status);
    said.fail(fault);
}

/// Anthropic counts what its cache gave and took beside the rest of the prompt.
fn usage(usage: &Value) -> Usage {
    let cached = count(&usage["cache_read_input_tokens"]);
    let written = count(&usage["cache_creation_input_tokens"]);
    let input = count(&usage["input_tokens"]);
    Usage {
        input: input.map(|input| input + cached.unwrap_or(0) + written.unwrap_or(0)),
        output: count(&usage["output_tokens"]),
        cached,
        cache_written: written,
        reasoning: count(&usage["output_tokens_details"]["thinking_tokens"]),
        ..Usage::default()
    }
}
