//! OpenAI's responses, and what else its and Anthropic's clients ask for: vectors and counts.

use super::{CREATED, Stream};
use crate::upstream::{
    reply::{Reply, Say, TEXT, Text, bytes},
    seen::Seen,
};
use serde_json::{Value, json};

/// A response in events.
pub(in crate::upstream) fn stream(reply: Reply) -> Stream {
    let mut started = response(&reply);
    started["status"] = "in_progress".into();
    let (added, done) = items(&reply);
    let mut open = event("response.created", json!({"response": started}));
    open += &event("response.output_item.added", json!({"output_index": 0, "item": added}));
    let mut close =
        event("response.output_item.done", json!({"output_index": 0, "item": done.clone()}));
    let mut completed = response(&reply);
    (completed["output"], completed["usage"]) = (json!([done]), usage(&reply));
    close += &event("response.completed", json!({"response": completed}));
    let (text, name) = match reply.say {
        Say::Text(text) | Say::Refusal(text) => (text, "response.output_text.delta"),
        Say::Call { arguments, .. } => {
            (Text::arguments(&arguments), "response.function_call_arguments.delta")
        }
        Say::Filtered => (Text::new(String::new(), 0), "response.output_text.delta"),
    };
    let count = text.chunks;
    let delta = event(name, json!({"output_index": 0, "content_index": 0, "delta": TEXT}));
    let deltas = Box::new(text.inside(&delta).map(bytes));
    Stream { open: bytes(open), deltas, count, close: bytes(close) }
}

/// A response in one piece.
pub(in crate::upstream) fn whole(reply: &Reply) -> Value {
    let mut whole = response(reply);
    (whole["output"], whole["usage"]) = (json!([items(reply).1]), usage(reply));
    whole
}

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

/// The one item of the output, as it begins and as it is in the end.
fn items(reply: &Reply) -> (Value, Value) {
    let id = format!("item_fake_{}", reply.nth);
    match &reply.say {
        Say::Text(it) | Say::Refusal(it) => {
            let part = json!({"type": "output_text", "text": it.text, "annotations": []});
            (said(&id, "in_progress", json!([])), said(&id, "completed", json!([part])))
        }
        Say::Filtered => (said(&id, "in_progress", json!([])), said(&id, "incomplete", json!([]))),
        Say::Call { name, arguments } => {
            let call = |status: &str, arguments: String| {
                json!({
                    "type": "function_call",
                    "id": id,
                    "status": status,
                    "call_id": format!("call_fake_{}", reply.nth),
                    "name": name,
                    "arguments": arguments,
                })
            };
            (call("in_progress", String::new()), call("completed", arguments.to_string()))
        }
    }
}

fn said(id: &str, status: &str, content: Value) -> Value {
    json!({
        "type": "message",
        "id": id,
        "status": status,
        "role": "assistant",
        "content": content,
    })
}

fn response(reply: &Reply) -> Value {
    json!({
        "id": format!("resp_fake_{}", reply.nth),
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "error": null,
        "model": reply.model,
        "output": [],
        "usage": null,
    })
}

fn usage(reply: &Reply) -> Value {
    json!({
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.input_tokens + reply.output_tokens,
    })
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}
