//! Anthropic's messages.

use super::{CREATED_AT, Refusal, Stream, Wire, Wrong, seconds};
use crate::upstream::{
    mishap::Trouble,
    options::Options,
    reply::{Reply, Say, TEXT, Text, bytes},
    seen::Seen,
};
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire {
    headers: &[
        ("request-id", "req_fake"),
        ("anthropic-ratelimit-requests-limit", "50"),
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", CREATED_AT),
    ],
    stream_type: |_| "text/event-stream; charset=utf-8",
    stream,
    whole,
    error,
    event: |_, wrong, _| bytes(sse(error(wrong).body)),
    event_status: 529,
    list,
};

fn stream(_: &Seen, reply: Reply) -> Stream {
    let mut message = message(&reply);
    message["usage"] = usage(&reply, 1);
    let mut open = sse(json!({"type": "message_start", "message": message}));
    let mut close = String::new();
    if let Some(block) = opening(&reply) {
        let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
        open += &sse(start);
        close += &sse(json!({"type": "content_block_stop", "index": 0}));
    }
    open += &sse(json!({"type": "ping"}));
    close += &sse(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(&reply), "stop_sequence": null},
        "usage": {"output_tokens": reply.output_tokens},
    }));
    close += &sse(json!({"type": "message_stop"}));
    let (text, place) = match reply.say {
        Say::Text(text) => (text, json!({"type": "text_delta", "text": TEXT})),
        Say::Call { arguments, .. } => {
            (Text::arguments(&arguments), json!({"type": "input_json_delta", "partial_json": TEXT}))
        }
        Say::Refusal(_) | Say::Filtered => {
            (Text::new(String::new(), 0), json!({"type": "text_delta", "text": TEXT}))
        }
    };
    let count = text.chunks;
    let delta = sse(json!({"type": "content_block_delta", "index": 0, "delta": place}));
    let deltas = Box::new(text.inside(&delta).map(bytes));
    Stream { open: bytes(open), deltas, count, close: bytes(close) }
}

/// The block that is about to be filled; an answer without content has none.
fn opening(reply: &Reply) -> Option<Value> {
    match &reply.say {
        Say::Text(it) if it.chunks > 0 => Some(json!({"type": "text", "text": ""})),
        Say::Call { name, .. } => {
            Some(json!({"type": "tool_use", "id": call_id(reply), "name": name, "input": {}}))
        }
        _ => None,
    }
}

fn whole(reply: Reply) -> Value {
    let mut whole = message(&reply);
    whole["stop_reason"] = stop_reason(&reply).into();
    whole["usage"] = usage(&reply, reply.output_tokens);
    whole["content"] = match &reply.say {
        Say::Text(it) if it.chunks > 0 => json!([{"type": "text", "text": it.text}]),
        Say::Call { name, arguments } => {
            json!([{"type": "tool_use", "id": call_id(&reply), "name": name, "input": arguments}])
        }
        _ => json!([]),
    };
    whole
}

fn message(reply: &Reply) -> Value {
    json!({
        "id": format!("msg_fake_{}", reply.nth),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    })
}

fn call_id(reply: &Reply) -> String {
    format!("toolu_fake_{}", reply.nth)
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.say {
        Say::Text(_) => "end_turn",
        Say::Call { .. } => "tool_use",
        Say::Refusal(_) | Say::Filtered => "refusal",
    }
}

fn usage(reply: &Reply, output: usize) -> Value {
    json!({
        "input_tokens": reply.input_tokens - reply.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": reply.cached_tokens,
        "output_tokens": output,
    })
}

/// An event is named after its own type.
fn sse(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn error(wrong: &Wrong<'_>) -> Refusal {
    let model = wrong.model;
    let (status, kind, message) = match wrong.trouble {
        Trouble::Key | Trouble::Status(401) => {
            (401, "authentication_error", "invalid x-api-key".into())
        }
        Trouble::Quota => (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & \
             Billing to upgrade or purchase credits."
                .into(),
        ),
        Trouble::Context => (
            400,
            "invalid_request_error",
            "prompt is too long: 208310 tokens > 200000 maximum".into(),
        ),
        Trouble::Status(402) => {
            (402, "billing_error", "There is an issue with your billing information.".into())
        }
        Trouble::Status(404) => (404, "not_found_error", format!("model: {model}")),
        Trouble::Status(413) => {
            (413, "request_too_large", "Request exceeds the maximum size".into())
        }
        Trouble::Status(429) => (
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 50 requests per minute."
                .into(),
        ),
        Trouble::Status(529) => (529, "overloaded_error", "Overloaded".into()),
        Trouble::Status(status) if status >= 500 => {
            (status, "api_error", "Internal server error".into())
        }
        Trouble::Status(status) => {
            (status, "invalid_request_error", "messages: Field required".into())
        }
    };
    let error = json!({"type": kind, "message": message});
    let body = json!({"type": "error", "error": error, "request_id": "req_fake"});
    Refusal { status, headers: waits(wrong), body }
}

fn waits(wrong: &Wrong<'_>) -> Vec<(&'static str, String)> {
    let mut headers = vec![("request-id", "req_fake".to_owned())];
    if wrong.trouble == Trouble::Status(429) {
        headers.extend([
            ("retry-after", seconds(wrong.retry_after)),
            ("anthropic-ratelimit-requests-limit", "50".to_owned()),
            ("anthropic-ratelimit-requests-remaining", "0".to_owned()),
            ("anthropic-ratelimit-requests-reset", CREATED_AT.to_owned()),
        ]);
    }
    headers
}

fn list(options: &Options) -> Value {
    let model = |id: &String| {
        let name = format!("Fake {id}");
        json!({"type": "model", "id": id, "display_name": name, "created_at": CREATED_AT})
    };
    json!({
        "data": options.models.iter().map(model).collect::<Vec<_>>(),
        "has_more": false,
        "first_id": options.models.first(),
        "last_id": options.models.last(),
    })
}
