//! What is answered in OpenAI's dialect.

use crate::embedder::Embedded;
use crate::logprobs::TokenLogprob;
use crate::tool_calls::ToolCall;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a completion cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub prompt: usize,
    /// Of the prompt, what was still known from requests before.
    pub cached: usize,
    pub completion: usize,
}

impl Usage {
    fn to_json(self) -> Value {
        let Usage { prompt, cached, completion } = self;
        json!({ "prompt_tokens": prompt, "completion_tokens": completion,
                "total_tokens": prompt + completion,
                "prompt_tokens_details": { "cached_tokens": cached } })
    }
}

/// An answer as it is gathered from its pieces.
#[derive(Debug, Default)]
pub struct GatheredAnswer {
    pub text: String,
    pub thoughts: String,
    pub logprobs: Vec<TokenLogprob>,
    pub calls: Vec<ToolCall>,
}

/// The head that every chunk and answer of one completion has.
#[derive(Debug, Clone)]
pub struct ReplyHead {
    id: String,
    created: u64,
    model: String,
    /// Whether log-probabilities were asked for.
    has_logprobs: bool,
}

impl ReplyHead {
    pub fn new(model: &str, has_logprobs: bool) -> ReplyHead {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("chatcmpl-{:016x}", fastrand::u64(..));
        ReplyHead { id, created: since.as_secs(), model: model.to_string(), has_logprobs }
    }

    fn with_choices(&self, object: &str, choices: Value) -> Value {
        let ReplyHead { id, created, model, .. } = self;
        json!({ "id": id, "object": object, "created": created, "model": model,
                "choices": choices })
    }

    /// A whole answer.
    pub fn answer(&self, said: &GatheredAnswer, finish: &str, usage: Usage) -> Value {
        let mut message = json!({ "role": "assistant", "content": said.text });
        if !said.thoughts.is_empty() {
            message["reasoning_content"] = said.thoughts.as_str().into();
        }
        if !said.calls.is_empty() {
            message["tool_calls"] = list_calls(&said.calls);
            if said.text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        let mut choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        if self.has_logprobs {
            choice["logprobs"] = list_logprobs(&said.logprobs);
        }
        let mut answer = self.with_choices("chat.completion", json!([choice]));
        answer["usage"] = usage.to_json();
        answer
    }

    /// A chunk with a piece of the message, or with its end.
    pub fn chunk(&self, delta: Value, finish: Option<&str>) -> Value {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        self.with_choices("chat.completion.chunk", choice)
    }

    /// A chunk with some text.
    pub fn text_chunk(&self, text: &str, logprobs: &[TokenLogprob]) -> Value {
        let mut chunk = self.chunk(json!({ "content": text }), None);
        if self.has_logprobs {
            chunk["choices"][0]["logprobs"] = list_logprobs(logprobs);
        }
        chunk
    }

    /// A chunk with some thought.
    pub fn thought_chunk(&self, thought: &str) -> Value {
        self.chunk(json!({ "reasoning_content": thought }), None)
    }

    /// A chunk with all calls.
    pub fn calls_chunk(&self, calls: &[ToolCall]) -> Value {
        self.chunk(json!({ "tool_calls": list_calls(calls) }), None)
    }

    pub fn usage_chunk(&self, usage: Usage) -> Value {
        let mut chunk = self.with_choices("chat.completion.chunk", json!([]));
        chunk["usage"] = usage.to_json();
        chunk
    }
}

fn list_logprobs(logprobs: &[TokenLogprob]) -> Value {
    let content: Vec<Value> = logprobs.iter().map(TokenLogprob::to_json).collect();
    json!({ "content": content, "refusal": null })
}

fn list_calls(calls: &[ToolCall]) -> Value {
    let calls = calls.iter().enumerate().map(|(index, ToolCall { name, arguments })| {
        let id = format!("call_{:016x}", fastrand::u64(..));
        json!({ "index": index, "id": id, "type": "function",
                "function": { "name": name, "arguments": arguments } })
    });
    calls.collect()
}

/// The answer to a request for embeddings.
pub fn list_embeddings(model: &str, embedded: &Embedded, base64: bool) -> Value {
    let data = embedded.vectors.iter().enumerate().map(|(index, vector)| {
        let vector = match base64 {
            true => encode(vector).into(),
            false => json!(vector),
        };
        json!({ "object": "embedding", "index": index, "embedding": vector })
    });
    let data: Vec<Value> = data.collect();
    let tokens = embedded.tokens;
    json!({ "object": "list", "model": model, "data": data,
            "usage": { "prompt_tokens": tokens, "total_tokens": tokens } })
}

fn encode(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|it| it.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_stand_beside_a_text_that_may_be_null() {
        let call = ToolCall { name: "add".into(), arguments: "{}".into() };
        let said = GatheredAnswer {
            calls: vec![call],
            thoughts: "hm".into(),
            ..GatheredAnswer::default()
        };
        let answer = ReplyHead::new("m", false).answer(&said, "tool_calls", Usage::default());
        let message = &answer["choices"][0]["message"];
        assert_eq!(message["content"], Value::Null);
        assert_eq!(message["reasoning_content"], "hm");
        assert_eq!(message["tool_calls"][0]["function"]["name"], "add");
        assert_eq!(answer["choices"][0].get("logprobs"), None);
    }

    #[test]
    fn vectors_are_lists_or_base64() {
        let embedded = Embedded { vectors: vec![vec![1.0, -0.5]], tokens: 3 };
        let list = list_embeddings("m", &embedded, false);
        assert_eq!(list["data"][0]["embedding"], json!([1.0, -0.5]));
        assert_eq!(list["usage"]["total_tokens"], 3);
        assert_eq!(list_embeddings("m", &embedded, true)["data"][0]["embedding"], "AACAPwAAAL8=");
    }
}
