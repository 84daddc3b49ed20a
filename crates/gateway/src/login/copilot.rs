//! What GitHub Copilot does its own way: the headers of an editor, and a list of models in which
//! only some are for talking.

use crate::dialect::openai::OPENAI;
use crate::dialect::{Dialect, Listed, read_window};
use althing_stdx::{Fault, Kind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Copilot serves editors, and wants to know which.
pub(super) fn editor() -> Vec<(&'static str, String)> {
    let version = env!("CARGO_PKG_VERSION");
    vec![
        ("editor-version", format!("Althing/{version}")),
        ("editor-plugin-version", format!("althing/{version}")),
    ]
}

/// As much of a request as its headers depend on.
#[derive(Deserialize, Default)]
struct Talk<'a> {
    #[serde(borrow, default, alias = "input")]
    messages: Vec<Turn<'a>>,
}

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
}

impl Turn<'_> {
    /// What a model or a tool said; calls and their results may have no role at all.
    fn is_agents(&self) -> bool {
        !matches!(&*self.role, "user" | "system" | "developer")
    }

    fn has_image(&self) -> bool {
        let content = self.content.map(RawValue::get).unwrap_or_default();
        // A content that is a text has no parts.
        let parts: Vec<Part<'_>> = serde_json::from_str(content).unwrap_or_default();
        parts.iter().any(|part| matches!(&*part.kind, "image_url" | "input_image"))
    }
}

/// The headers of a call. Who began it decides what it costs: a person's first words do, and what
/// follows on them is the agent's.
pub(super) fn headers(body: &[u8]) -> Vec<(&'static str, String)> {
    // A body that is no list of turns, texts to embed say, has neither history nor images.
    let turns = serde_json::from_slice::<Talk<'_>>(body).unwrap_or_default().messages;
    let initiator = if turns.iter().any(Turn::is_agents) { "agent" } else { "user" };
    let mut all = editor();
    all.extend([
        ("copilot-integration-id", "vscode-chat".into()),
        ("x-github-api-version", "2025-04-01".into()),
        ("openai-intent", "conversation-panel".into()),
        ("x-initiator", initiator.into()),
        ("x-request-id", format!("{:032x}", fastrand::u128(..))),
    ]);
    if turns.iter().any(Turn::has_image) {
        all.push(("copilot-vision-request", "true".into()));
    }
    all
}

/// OpenAI's dialect with a list of its own.
pub(crate) static COPILOT: Dialect = Dialect { read_list, ..OPENAI };

/// The models that the person's account offers for chat.
fn read_list(body: &[u8]) -> Result<Vec<Listed>> {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let Some(Value::Array(models)) = parsed.map(|mut list| list["data"].take()) else {
        return Err(Fault::new(Kind::Upstream, "the list of models cannot be understood"));
    };
    let offered: Vec<Value> = models.into_iter().filter(is_offered).collect();
    let mut listed = (OPENAI.read_list)(json!({ "data": offered }).to_string().as_bytes())?;
    for (model, entry) in listed.iter_mut().zip(&offered) {
        model.owned_by = entry["vendor"].as_str().map(str::to_string).or(model.owned_by.take());
        let limits = &entry["capabilities"]["limits"];
        // Some take a shorter prompt than their window would hold.
        let sizes = ["max_context_window_tokens", "max_prompt_tokens"];
        let sizes = sizes.iter().filter_map(|size| read_window(&limits[size]));
        model.context_tokens = sizes.min().or(model.context_tokens);
    }
    Ok(listed)
}

/// Offered in the picker, for chat, and not switched off by the account's policy.
fn is_offered(model: &Value) -> bool {
    let policy = &model["policy"]["state"];
    model["model_picker_enabled"] == true
        && model["capabilities"]["type"] == "chat"
        && (policy.is_null() || policy == "enabled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_two_windows_counts_unless_no_model_has_it() {
        #[track_caller]
        fn check(window: Value, prompt: Value, want: Option<u64>) {
            let limits =
                json!({ "max_context_window_tokens": window, "max_prompt_tokens": prompt });
            let capabilities = json!({ "type": "chat", "limits": limits });
            let model =
                json!({ "id": "m", "model_picker_enabled": true, "capabilities": capabilities });
            let listed = read_list(json!({ "data": [model] }).to_string().as_bytes()).unwrap();
            assert_eq!(listed[0].context_tokens, want);
        }
        check(128_000.into(), 64_000.into(), Some(64_000));
        check(128_000.into(), 0.into(), Some(128_000));
        check("128000".into(), Value::Null, Some(128_000));
        check(0.into(), Value::Null, None);
    }
}
