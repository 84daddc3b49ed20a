//! Ollama's chat, one JSON object per line, and its vectors.

use super::{CREATED_AT, Refusal, Stream, Wire, Wrong};
use crate::upstream::{
    mishap::Trouble,
    options::Options,
    reply::{Reply, Say, TEXT, Text, bytes},
    seen::Seen,
};
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire {
    headers: &[],
    stream_type: |_| "application/x-ndjson",
    stream,
    whole,
    error,
    event: |_, wrong, _| bytes(format!("{}\n", error(wrong).body)),
    event_status: 500,
    list,
};

fn stream(_: &Seen, reply: Reply) -> Stream {
    let line = |message: Value| {
        let mut line = base(&reply, message);
        line["done"] = false.into();
        format!("{line}\n")
    };
    let delta = line(json!({"role": "assistant", "content": TEXT}));
    let call = matches!(reply.say, Say::Call { .. }).then(|| line(message(&reply)));
    let close = format!("{}\n", last(&reply, json!({"role": "assistant", "content": ""})));
    let text = match reply.say {
        // A local model has no refusal but words.
        Say::Text(text) | Say::Refusal(text) => text,
        _ => Text::new(String::new(), 0),
    };
    let count = text.chunks;
    let open = call.map_or(Bytes::new(), bytes);
    Stream { open, deltas: Box::new(text.inside(&delta).map(bytes)), count, close: bytes(close) }
}

fn whole(reply: Reply) -> Value {
    last(&reply, message(&reply))
}

fn message(reply: &Reply) -> Value {
    match &reply.say {
        Say::Text(it) | Say::Refusal(it) => json!({"role": "assistant", "content": it.text}),
        Say::Filtered => json!({"role": "assistant", "content": ""}),
        Say::Call { name, arguments } => {
            let call = json!({"function": {"name": name, "arguments": arguments}});
            json!({"role": "assistant", "content": "", "tool_calls": [call]})
        }
    }
}

fn base(reply: &Reply, message: Value) -> Value {
    json!({"model": reply.model, "created_at": CREATED_AT, "message": message})
}

fn last(reply: &Reply, message: Value) -> Value {
    let mut last = base(reply, message);
    last["done"] = true.into();
    last["done_reason"] = "stop".into();
    let nanoseconds = ["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"];
    for name in nanoseconds {
        last[name] = 1_000_000.into();
    }
    last["prompt_eval_count"] = reply.input_tokens.into();
    last["eval_count"] = reply.output_tokens.into();
    last
}

/// The answer of `/api/embed`.
pub(super) fn embedded(model: &str, vectors: Vec<Value>, tokens: usize) -> Value {
    json!({
        "model": model,
        "embeddings": vectors,
        "total_duration": 1_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": tokens,
    })
}

fn error(wrong: &Wrong<'_>) -> Refusal {
    let (status, message) = match wrong.trouble {
        Trouble::Key | Trouble::Status(401) => (401, "unauthorized".to_owned()),
        Trouble::Quota | Trouble::Status(402) => {
            (402, "this model requires a subscription, upgrade for access".into())
        }
        Trouble::Context => {
            (400, "the input length exceeds the context length, reduce the input".into())
        }
        Trouble::Status(404) => (404, format!("model '{}' not found", wrong.model)),
        Trouble::Status(413) => (413, "request body too large".into()),
        Trouble::Status(429) => {
            (429, "you've reached your hourly usage limit, please upgrade to continue".into())
        }
        Trouble::Status(503) => {
            (503, "server busy, please try again.  maximum pending requests exceeded".into())
        }
        Trouble::Status(status) if status >= 500 => {
            (status, "llama runner process has terminated: exit status 2".into())
        }
        Trouble::Status(status) => (status, "invalid request: missing messages".into()),
    };
    Refusal { status, headers: vec![], body: json!({"error": message}) }
}

fn list(options: &Options) -> Value {
    let model = |name: &String| {
        json!({
            "name": name,
            "model": name,
            "modified_at": CREATED_AT,
            "size": 815_319_791,
            "digest": "8648f39daa8fbf5b18c7b4e6a8fb4990c692751d49917417b8842ca5758e7ffc",
            "details": {
                "format": "gguf",
                "family": "fake",
                "families": ["fake"],
                "parameter_size": "999.89M",
                "quantization_level": "Q4_K_M",
            },
        })
    };
    json!({"models": options.models.iter().map(model).collect::<Vec<_>>()})
}
