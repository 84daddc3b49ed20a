//! What OpenAI's and Anthropic's clients ask for besides chats: vectors and counts.

use crate::upstream::seen::Seen;
use serde_json::{Value, json};

/// One vector for each text.
pub(in crate::upstream) fn embedded(seen: &Seen) -> Value {
    let texts = match &seen.body["input"] {
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        text => Vec::from_iter(text.as_str()),
    };
    let vector = |(at, text): (usize, &&str)| {
        let numbers = json!([text.len(), 0.5, -0.25]);
        json!({"object": "embedding", "index": at, "embedding": numbers})
    };
    let data: Vec<Value> = texts.iter().enumerate().map(vector).collect();
    let tokens: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    json!({"object": "list", "data": data, "model": seen.model, "usage": usage})
}

/// How long a prompt is.
pub(in crate::upstream) fn counted(seen: &Seen) -> Value {
    json!({"input_tokens": seen.prompt().split_whitespace().count()})
}
