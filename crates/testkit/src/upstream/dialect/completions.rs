//! OpenAI's oldest path: text that follows a prompt.

use super::{CREATED, Stream, Wire, openai};
use crate::upstream::{
    reply::{Reply, Say, TEXT, Text, bytes},
    seen::Seen,
};
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire { stream, whole, ..openai::WIRE };

fn stream(seen: &Seen, reply: Reply) -> Stream {
    let counted = seen.body["stream_options"]["include_usage"] == true;
    let base = base(&reply);
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = base.clone();
        chunk["choices"] = choices;
        if counted {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let piece = chunk(json!([choice(TEXT, None)]), Value::Null);
    let mut close = chunk(json!([choice("", Some("stop"))]), Value::Null);
    if counted {
        close += &chunk(json!([]), usage(&reply));
    }
    close += "data: [DONE]\n\n";
    let text = match reply.say {
        Say::Text(text) | Say::Refusal(text) => text,
        Say::Call { .. } | Say::Filtered => Text::new(String::new(), 0),
    };
    let count = text.chunks;
    let deltas = Box::new(text.inside(&piece).map(bytes));
    Stream { open: bytes(""), deltas, count, close: bytes(close) }
}

fn whole(reply: Reply) -> Value {
    let text = match &reply.say {
        Say::Text(it) | Say::Refusal(it) => it.text.as_str(),
        Say::Call { .. } | Say::Filtered => "",
    };
    let mut whole = base(&reply);
    whole["choices"] = json!([choice(text, Some("stop"))]);
    whole["usage"] = usage(&reply);
    whole
}

fn base(reply: &Reply) -> Value {
    json!({
        "id": format!("cmpl-fake-{}", reply.nth),
        "object": "text_completion",
        "created": CREATED,
        "model": reply.model,
    })
}

fn choice(text: &str, finish: Option<&str>) -> Value {
    json!({"text": text, "index": 0, "logprobs": null, "finish_reason": finish})
}

fn usage(reply: &Reply) -> Value {
    json!({
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    })
}
