//! How many tokens the fake models take, as Ollama, llama-server, llama-swap and LM Studio tell it.

use super::{options::Options, seen::Seen};
use serde_json::{Value, json};

/// What the upstream says about each of its models.
#[derive(Debug, Clone, Copy)]
pub struct Windows {
    /// What the model was trained on.
    pub trained: u64,
    /// What it is loaded with; none: it is not loaded.
    pub loaded: Option<u64>,
    /// `num_ctx` of its settings.
    pub preset: Option<u64>,
    /// Slots of llama-server.
    pub slots: u32,
}

/// A question about windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Ollama's `/api/show`.
    Show,
    /// Ollama's `/api/ps`.
    Loaded,
    /// llama-server's `/props`, also behind llama-swap.
    Props,
    /// llama-swap's `/running`.
    Running,
    /// LM Studio's `/api/v0/models`.
    LmStudio,
}

impl Question {
    pub(super) fn of(is_post: bool, path: &str) -> Option<Question> {
        match path {
            "/api/show" if is_post => Some(Question::Show),
            "/api/ps" if !is_post => Some(Question::Loaded),
            "/running" if !is_post => Some(Question::Running),
            "/api/v0/models" if !is_post => Some(Question::LmStudio),
            _ if !is_post && path.ends_with("/props") => Some(Question::Props),
            _ => None,
        }
    }
}

/// Answers a question; none where the upstream has been told of no windows, or not of this server.
pub(super) fn answer(options: &Options, question: Question, seen: &Seen) -> Option<Value> {
    let windows = options.windows?;
    let models = || options.models.iter();
    let is_swap = options.owned_by == "llama-swap";
    Some(match question {
        Question::Show => {
            let name = seen.body["model"].as_str().unwrap_or_default();
            models().find(|model| *model == name)?;
            let parameters =
                windows.preset.map(|tokens| format!("num_ctx    {tokens}\nstop \"</s>\""));
            json!({
                "parameters": parameters.unwrap_or_default(),
                "details": {"format": "gguf", "family": "fake"},
                "model_info": {"general.architecture": "fake", "fake.context_length": windows.trained},
                "capabilities": ["completion"],
            })
        }
        Question::Loaded => {
            let loaded = models().filter_map(|model| {
                let tokens = windows.loaded?;
                Some(json!({"name": model, "model": model, "context_length": tokens}))
            });
            json!({"models": loaded.collect::<Vec<_>>()})
        }
        Question::Props => json!({
            "default_generation_settings": {"id": 0, "n_ctx": windows.loaded.unwrap_or(windows.trained)},
            "total_slots": windows.slots,
        }),
        Question::Running if is_swap => {
            let running = models().map(|model| json!({"model": model, "state": "ready"}));
            json!({"running": running.collect::<Vec<_>>()})
        }
        Question::Running => return None,
        Question::LmStudio => {
            let listed = models().map(|model| {
                let mut entry = json!({"id": model, "object": "model", "type": "llm"});
                entry["state"] = windows.loaded.map_or("not-loaded", |_| "loaded").into();
                entry["max_context_length"] = windows.trained.into();
                if let Some(tokens) = windows.loaded {
                    entry["loaded_context_length"] = tokens.into();
                }
                entry
            });
            json!({"object": "list", "data": listed.collect::<Vec<_>>()})
        }
    })
}
