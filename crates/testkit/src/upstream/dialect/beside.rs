//! What clients ask for besides chats: vectors, as OpenAI and Ollama give them, and Anthropic's
//! counts.

use super::{Dialect, ollama};
use crate::upstream::seen::Seen;
use serde_json::{Value, json};

/// One vector for each text.
pub(in crate::upstream) fn embedded(dialect: Dialect, seen: &Seen) -> Value {
    let texts = match &seen.body["input"] {
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        text => Vec::from_iter(text.as_str()),
    };
    let vectors = texts.iter().map(|text| json!([text.len(), 0.5, -0.25]));
    let tokens: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    if dialect == Dialect::Ollama {
        return ollama::embedded(&seen.model, vectors.collect(), tokens);
    }
    let row = |(at, vector)| json!({"object": "embedding", "index": at, "embedding": vector});
    let data: Vec<Value> = vectors.enumerate().map(row).collect();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    json!({"object": "list", "data": data, "model": seen.model, "usage": usage})
}

/// How long a prompt is.
pub(in crate::upstream) fn counted(seen: &Seen) -> Value {
    json!({"input_tokens": seen.prompt().split_whitespace().count()})
}
