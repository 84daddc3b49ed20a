//! OpenAI's chat completions.

use super::{CREATED, Refusal, Stream, Wire, Wrong, seconds};
use crate::upstream::{
    mishap::Trouble,
    options::Options,
    reply::{Reply, Say, TEXT, Text, bytes},
    seen::Seen,
};
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire {
    headers: &[
        ("x-request-id", "req_fake"),
        ("openai-processing-ms", "1"),
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-remaining-requests", "9999"),
        ("x-ratelimit-reset-requests", "6ms"),
    ],
    stream_type: |_| "text/event-stream; charset=utf-8",
    stream,
    whole,
    error,
    event: |_, wrong, _| bytes(format!("data: {}\n\n", error(wrong).body)),
    event_status: 500,
    list,
};

fn stream(seen: &Seen, reply: Reply) -> Stream {
    // With `include_usage` every chunk has a `usage`, and only the last one's is not null.
    let counted = seen.body["stream_options"]["include_usage"] == true;
    let base = base(&reply, "chat.completion.chunk");
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = base.clone();
        chunk["choices"] = choices;
        if counted {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Option<&str>| {
        let choice =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        chunk(choice, Value::Null)
    };
    let mut close = delta(json!({}), Some(finish(&reply)));
    if counted {
        close += &chunk(json!([]), usage(&reply));
    }
    close += "data: [DONE]\n\n";
    let open = delta(opening(&reply), None);
    let (text, place) = match reply.say {
        Say::Text(text) => (text, json!({"content": TEXT})),
        Say::Refusal(text) => (text, json!({"refusal": TEXT})),
        Say::Call { arguments, .. } => (
            Text::arguments(&arguments),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": TEXT}}]}),
        ),
        Say::Filtered => (Text::new(String::new(), 0), json!({"content": TEXT})),
    };
    let count = text.chunks;
    let deltas = Box::new(text.inside(&delta(place, None)).map(bytes));
    Stream { open: bytes(open), deltas, count, close: bytes(close) }
}

fn opening(reply: &Reply) -> Value {
    match &reply.say {
        Say::Call { name, .. } => json!({
            "role": "assistant",
            "content": null,
            "tool_calls": [{
                "index": 0,
                "id": call_id(reply),
                "type": "function",
                "function": {"name": name, "arguments": ""},
            }],
        }),
        _ => json!({"role": "assistant", "content": "", "refusal": null}),
    }
}

fn whole(reply: Reply) -> Value {
    let message = match &reply.say {
        Say::Text(it) => json!({"role": "assistant", "content": it.text, "refusal": null}),
        Say::Refusal(it) => json!({"role": "assistant", "content": null, "refusal": it.text}),
        Say::Filtered => json!({"role": "assistant", "content": null, "refusal": null}),
        Say::Call { name, arguments } => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"id": call_id(&reply), "type": "function", "function": function});
            json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [call]})
        }
    };
    let finish = finish(&reply);
    let mut whole = base(&reply, "chat.completion");
    whole["choices"] =
        json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}]);
    whole["usage"] = usage(&reply);
    whole
}

fn base(reply: &Reply, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-fake-{}", reply.nth),
        "object": object,
        "created": CREATED,
        "model": reply.model,
        "system_fingerprint": "fp_fake",
    })
}

fn call_id(reply: &Reply) -> String {
    format!("call_fake_{}", reply.nth)
}

fn finish(reply: &Reply) -> &'static str {
    match reply.say {
        Say::Text(_) | Say::Refusal(_) => "stop",
        Say::Call { .. } => "tool_calls",
        Say::Filtered => "content_filter",
    }
}

fn usage(reply: &Reply) -> Value {
    json!({
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

fn error(wrong: &Wrong<'_>) -> Refusal {
    let invalid = "invalid_request_error";
    let model = wrong.model;
    let (status, kind, code, message) = match wrong.trouble {
        Trouble::Key | Trouble::Status(401) => (
            401,
            invalid,
            Some("invalid_api_key"),
            "Incorrect API key provided: sk-fake***. You can find your API key at \
             https://platform.openai.com/account/api-keys."
                .into(),
        ),
        Trouble::Quota => (
            429,
            "insufficient_quota",
            Some("insufficient_quota"),
            "You exceeded your current quota, please check your plan and billing details.".into(),
        ),
        Trouble::Context => (
            400,
            invalid,
            Some("context_length_exceeded"),
            "This model's maximum context length is 8192 tokens. However, your messages resulted \
             in 9000 tokens. Please reduce the length of the messages."
                .into(),
        ),
        Trouble::Status(402) => {
            (402, "unknown_error", Some("invalid_request_error"), "Insufficient Balance".into())
        }
        Trouble::Status(404) => (
            404,
            invalid,
            Some("model_not_found"),
            format!("The model `{model}` does not exist or you do not have access to it."),
        ),
        Trouble::Status(413) => (
            413,
            "tokens",
            Some("rate_limit_exceeded"),
            format!("Request too large for {model}: Limit 6000, Requested 9000."),
        ),
        Trouble::Status(429) => (
            429,
            "requests",
            Some("rate_limit_exceeded"),
            format!(
                "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3, \
                 Requested 1. Please try again in {}ms.",
                wrong.retry_after.as_millis()
            ),
        ),
        Trouble::Status(status @ (503 | 529)) => (
            status,
            "server_error",
            None,
            "The engine is currently overloaded, please try again later".into(),
        ),
        Trouble::Status(status) if status >= 500 => (
            status,
            "server_error",
            None,
            "The server had an error while processing your request. Sorry about that!".into(),
        ),
        Trouble::Status(status) => {
            (status, invalid, None, "Invalid value for 'messages': expected an array.".into())
        }
    };
    let error = json!({"message": message, "type": kind, "param": null, "code": code});
    Refusal { status, headers: waits(wrong), body: json!({"error": error}) }
}

fn waits(wrong: &Wrong<'_>) -> Vec<(&'static str, String)> {
    let mut headers = vec![("x-request-id", "req_fake".to_owned())];
    if wrong.trouble == Trouble::Status(429) {
        headers.extend([
            ("retry-after", seconds(wrong.retry_after)),
            ("retry-after-ms", wrong.retry_after.as_millis().to_string()),
            ("x-ratelimit-limit-requests", "3".to_owned()),
            ("x-ratelimit-remaining-requests", "0".to_owned()),
            ("x-ratelimit-reset-requests", format!("{}ms", wrong.retry_after.as_millis())),
        ]);
    }
    headers
}

fn list(options: &Options) -> Value {
    let owner = &options.owned_by;
    let model =
        |id: &String| json!({"id": id, "object": "model", "created": CREATED, "owned_by": owner});
    json!({"object": "list", "data": options.models.iter().map(model).collect::<Vec<_>>()})
}

/// What OpenAI says to a path it does not know.
pub(in crate::upstream) fn no_such_path(method: &str, path: &str) -> Bytes {
    let message = format!("Invalid URL ({method} {path})");
    let error =
        json!({"message": message, "type": "invalid_request_error", "param": null, "code": null});
    bytes(json!({"error": error}).to_string())
}
