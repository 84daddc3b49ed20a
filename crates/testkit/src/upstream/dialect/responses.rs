//! OpenAI's responses, as far as agents use them: streamed, with one message or one refusal.

use super::{CREATED, Stream, Wire, openai};
use crate::upstream::{
    reply::{Reply, Say, TEXT, Text, bytes},
    seen::Seen,
};
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire {
    stream,
    whole,
    event: |_, wrong, _| {
        let error = (openai::WIRE.error)(wrong).body["error"].take();
        let response = json!({"id": "resp_fake", "status": "failed", "error": error});
        bytes(frame(&json!({"type": "response.failed", "response": response})))
    },
    ..openai::WIRE
};

fn stream(_: &Seen, reply: Reply) -> Stream {
    let whole = whole_of(&reply);
    let begun = json!({"id": whole["id"], "object": "response", "status": "in_progress"});
    let mut open = frame(&json!({"type": "response.created", "response": begun}));
    let item = &whole["output"][0];
    let mut close = String::new();
    if item.is_object() {
        let empty = json!({"type": item["type"], "id": item["id"], "status": "in_progress",
            "role": item["role"], "content": []});
        open += &frame(
            &json!({"type": "response.output_item.added", "output_index": 0, "item": empty}),
        );
        close +=
            &frame(&json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    }
    close += &frame(&json!({"type": "response.completed", "response": whole}));
    let text = match reply.say {
        Say::Text(text) => text,
        Say::Refusal(_) | Say::Call { .. } | Say::Filtered => Text::new(String::new(), 0),
    };
    let count = text.chunks;
    let delta = json!({"type": "response.output_text.delta", "item_id": item["id"],
        "output_index": 0, "content_index": 0, "delta": TEXT});
    let deltas = Box::new(text.inside(&frame(&delta)).map(bytes));
    Stream { open: bytes(open), deltas, count, close: bytes(close) }
}

fn whole(reply: Reply) -> Value {
    whole_of(&reply)
}

fn whole_of(reply: &Reply) -> Value {
    let nth = reply.nth;
    let message = |part: Value| {
        json!([{"type": "message", "id": format!("msg_fake_{nth}"), "status": "completed",
            "role": "assistant", "content": [part]}])
    };
    let output = match &reply.say {
        Say::Text(it) => {
            message(json!({"type": "output_text", "text": it.text, "annotations": []}))
        }
        Say::Refusal(it) => message(json!({"type": "refusal", "refusal": it.text})),
        Say::Call { name, arguments } => json!([{"type": "function_call",
            "id": format!("fc_fake_{nth}"), "call_id": format!("call_fake_{nth}"),
            "name": name, "arguments": arguments.to_string(), "status": "completed"}]),
        Say::Filtered => json!([]),
    };
    json!({
        "id": format!("resp_fake_{nth}"),
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "model": reply.model,
        "output": output,
        "usage": {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": reply.cached_tokens},
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.input_tokens + reply.output_tokens,
        },
    })
}

/// One event, named as its data is.
fn frame(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}
