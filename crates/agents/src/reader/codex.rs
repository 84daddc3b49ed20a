//! Codex: `exec --json`, one event a line. It does not stream; the last message is the answer.

use super::{Said, count};
use crate::failure;
use althing_chat::{Retry, Usage};
use serde_json::Value;

/// How an error begins that is none yet.
const RETRYING: &str = "Reconnecting...";

pub(super) fn read(said: &mut Said, event: &Value) {
    match event["type"].as_str().unwrap_or_default() {
        "item.completed" => item(said, &event["item"]),
        "turn.completed" => {
            said.usage(usage(&event["usage"]));
            said.done(None);
        }
        "turn.failed" => failed(said, &event["error"]["message"]),
        "error" => match event["message"].as_str() {
            Some(words) if words.starts_with(RETRYING) => said.retrying(retry(words)),
            // What ends a turn is said again by `turn.failed`.
            _ => failed(said, &event["message"]),
        },
        _ => {}
    }
}

/// An item of type `error` is a warning: only the turn's end decides.
fn item(said: &mut Said, item: &Value) {
    let text = item["text"].as_str().unwrap_or_default();
    match item["type"].as_str().unwrap_or_default() {
        "agent_message" | "assistant_message" => said.message(text),
        "reasoning" => said.reasoning(text),
        _ => {}
    }
}

/// `Reconnecting... 2/5 (why)`.
fn retry(words: &str) -> Retry {
    let rest = words.trim_start_matches(RETRYING).trim_start();
    let attempt = rest.split('/').next().and_then(|number| number.parse().ok());
    let why = rest.split_once('(').map_or(rest, |(_, why)| why.trim_end_matches(')'));
    Retry {
        attempt: attempt.unwrap_or(1),
        wait_ms: 0,
        kind: failure::kind(words, None),
        message: failure::shown(why),
    }
}

/// The message may be the provider's own JSON.
fn failed(said: &mut Said, message: &Value) {
    let words = message.as_str().unwrap_or_default();
    let inner = serde_json::from_str::<Value>(words).unwrap_or_default();
    let sentence = inner["error"]["message"].as_str().unwrap_or(words);
    let mut fault = failure::fault(sentence, None, "the turn failed");
    fault.kind = failure::kind(words, None);
    said.fail(fault);
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: count(&usage["input_tokens"]),
        output: count(&usage["output_tokens"]),
        cached: count(&usage["cached_input_tokens"]),
        reasoning: count(&usage["reasoning_output_tokens"]),
        ..Usage::default()
    }
}
