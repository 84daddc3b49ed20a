//! opencode: `run --format json`, one event a line, in whole parts.

use super::{Said, count, nano_usd, status};
use crate::failure;
use althing_chat::Usage;
use serde_json::Value;

pub(super) fn read(said: &mut Said, event: &Value) {
    let part = &event["part"];
    match event["type"].as_str().unwrap_or_default() {
        "text" => said.text(part["text"].as_str().unwrap_or_default()),
        "reasoning" => said.reasoning(part["text"].as_str().unwrap_or_default()),
        "tool_use" => said.between(),
        "step_finish" => {
            said.step_usage(Usage {
                cost_nano_usd: nano_usd(&part["cost"]),
                ..usage(&part["tokens"])
            });
            // Another step follows where it waits for a tool.
            if part["reason"] != "tool-calls" {
                said.done(None);
            }
        }
        "error" => failed(said, &event["error"]),
        _ => {}
    }
}

fn failed(said: &mut Said, error: &Value) {
    let data = &error["data"];
    let words = data["message"].as_str().or(error["message"].as_str()).unwrap_or_default();
    let name = error["name"].as_str().unwrap_or("an error");
    let status = status(&data["statusCode"]);
    let mut fault = failure::fault(words, status, name);
    let body = data["responseBody"].as_str().unwrap_or_default();
    fault.kind = failure::kind(&format!("{name} {words} {body}"), status);
    said.fail(fault);
}

/// What the cache gave and took is counted beside the rest of the prompt.
fn usage(tokens: &Value) -> Usage {
    let cached = count(&tokens["cache"]["read"]);
    let written = count(&tokens["cache"]["write"]);
    let reasoning = count(&tokens["reasoning"]);
    Usage {
        input: count(&tokens["input"]).map(|it| it + cached.unwrap_or(0) + written.unwrap_or(0)),
        output: count(&tokens["output"]).map(|it| it + reasoning.unwrap_or(0)),
        cached,
        cache_written: written,
        reasoning,
        ..Usage::default()
    }
}
