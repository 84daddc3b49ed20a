//! What GitHub Copilot does its own way: the headers of an editor, and a list of models in which
//! only some are for talking.

use crate::dialect::openai::OPENAI;
use crate::dialect::{Dialect, Listed};
use althing_stdx::{Fault, Kind, Result};
use serde_json::{Value, json};

/// Copilot serves editors, and wants to know which.
pub(super) fn editor() -> Vec<(&'static str, String)> {
    let version = env!("CARGO_PKG_VERSION");
    vec![
        ("editor-version", format!("Althing/{version}")),
        ("editor-plugin-version", format!("althing/{version}")),
    ]
}

pub(super) fn headers() -> Vec<(&'static str, String)> {
    let mut all = editor();
    all.extend([
        ("copilot-integration-id", "vscode-chat".into()),
        ("x-github-api-version", "2025-04-01".into()),
        ("openai-intent", "conversation-panel".into()),
        ("x-initiator", "user".into()),
    ]);
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
        model.context_tokens =
            limits["max_context_window_tokens"].as_u64().or(model.context_tokens);
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
