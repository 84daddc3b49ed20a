//! Gemini CLI: `-o stream-json`, one event a line, or the one object of `-o json`. Attempts that
//! failed are told on standard error only.

use super::{Said, count, status};
use crate::failure;
use althing_chat::{Retry, Usage};
use althing_stdx::Fault;
use serde_json::Value;

pub(super) fn read(said: &mut Said, event: &Value) {
    match event["type"].as_str().unwrap_or_default() {
        "message" if event["role"] == "assistant" => {
            said.text(event["content"].as_str().unwrap_or_default());
        }
        "tool_use" => said.between(),
        // It may still go on; `result` decides.
        "error" => said.problem(fault(event)),
        "result" => {
            said.usage(usage(&event["stats"]));
            match event["status"] == "error" && event["error"].is_object() {
                true => said.fail(fault(&event["error"])),
                false => said.done(None),
            }
        }
        "" if event["error"].is_object() => said.fail(fault(&event["error"])),
        "" if event["response"].is_string() => {
            said.usage(whole_usage(&event["stats"]["models"]));
            said.done(event["response"].as_str());
        }
        _ => {}
    }
}

/// `Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {…}`.
pub(super) fn read_error(said: &mut Said, line: &str) {
    let Some(rest) = line.strip_prefix("Attempt ") else { return };
    let Some((attempt, rest)) = rest.split_once(" failed") else { return };
    let status = rest.split_once("status ").map_or(rest, |(_, rest)| rest);
    let status = status.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    said.retrying(Retry {
        attempt: attempt.parse().unwrap_or(1),
        wait_ms: 0,
        kind: failure::kind(rest, status.parse().ok()),
        message: failure::shown(&sentence(rest.trim_start_matches(':'))),
    });
}

/// Google's own words, where they are inside.
fn sentence(words: &str) -> String {
    let json = words.find('{').and_then(|at| {
        let mut values = serde_json::Deserializer::from_str(&words[at..]).into_iter::<Value>();
        values.next()?.ok()
    });
    let inner = json.as_ref().and_then(|json| json["error"]["message"].as_str());
    inner.unwrap_or(words).to_string()
}

/// `[API Error: …]`, with the provider's JSON or its sentence inside.
fn fault(error: &Value) -> Fault {
    let words = error["message"].as_str().unwrap_or_default();
    let shown = words.trim_start_matches("[API Error: ").trim_end_matches(']');
    let status = status(&error["code"]);
    let mut fault = failure::fault(&sentence(shown), status, "the turn failed");
    fault.kind = failure::kind(words, status);
    fault
}

fn usage(stats: &Value) -> Usage {
    Usage {
        input: count(&stats["input_tokens"]),
        output: count(&stats["output_tokens"]),
        cached: count(&stats["cached"]),
        ..Usage::default()
    }
}

/// The sums over all models that took part.
fn whole_usage(models: &Value) -> Usage {
    let sum = |name: &str| {
        let models = models.as_object().into_iter().flatten();
        models.filter_map(|(_, model)| count(&model["tokens"][name])).reduce(|a, b| a + b)
    };
    let thoughts = sum("thoughts");
    let output = sum("candidates").map(|output| output + thoughts.unwrap_or(0));
    Usage {
        input: sum("prompt"),
        output,
        cached: sum("cached"),
        reasoning: thoughts,
        ..Usage::default()
    }
}
