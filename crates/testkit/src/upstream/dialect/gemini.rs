//! Gemini's generateContent: SSE with CRLF when `alt=sse` is asked for, else one JSON array.

use super::{Refusal, Stream, Wire, Wrong};
use crate::upstream::{
    mishap::Trouble,
    options::Options,
    reply::{Reply, Say, TEXT, Text, bytes},
    seen::Seen,
};
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire {
    headers: &[("server-timing", "gfet4t7; dur=1"), ("x-frame-options", "SAMEORIGIN")],
    stream_type: |seen| match Framing::of(seen) {
        Framing::Sse => "text/event-stream",
        Framing::Array => "application/json; charset=UTF-8",
    },
    stream,
    whole,
    error,
    event: |seen, wrong, begun| Framing::of(seen).last(&error(wrong).body.to_string(), begun),
    event_status: 503,
    list,
};

#[derive(Clone, Copy)]
enum Framing {
    Sse,
    Array,
}

impl Framing {
    fn of(seen: &Seen) -> Framing {
        if seen.path.contains("alt=sse") { Framing::Sse } else { Framing::Array }
    }

    fn item(self, json: &str, begun: bool) -> String {
        match (self, begun) {
            (Framing::Sse, _) => format!("data: {json}\r\n\r\n"),
            (Framing::Array, false) => format!("[{json}\n"),
            (Framing::Array, true) => format!(",\r\n{json}\n"),
        }
    }

    fn last(self, json: &str, begun: bool) -> Bytes {
        let end = match self {
            Framing::Sse => "",
            Framing::Array => "]",
        };
        bytes(self.item(json, begun) + end)
    }
}

fn stream(seen: &Seen, reply: Reply) -> Stream {
    let framing = Framing::of(seen);
    let delta = chunk(&reply, json!({"parts": [{"text": TEXT}], "role": "model"}), None);
    let close = last(&reply, "").to_string();
    let text = match reply.say {
        Say::Text(text) => text,
        _ => Text::new(String::new(), 0),
    };
    let count = text.chunks;
    let pieces = text.inside(&delta.to_string()).enumerate();
    let deltas = Box::new(pieces.map(move |(at, json)| bytes(framing.item(&json, at > 0))));
    Stream { open: Bytes::new(), deltas, count, close: framing.last(&close, count > 0) }
}

fn whole(reply: Reply) -> Value {
    let text = match &reply.say {
        Say::Text(it) => it.text.clone(),
        _ => String::new(),
    };
    last(&reply, &text)
}

/// The chunk that ends an answer, with what is left of its text.
fn last(reply: &Reply, text: &str) -> Value {
    let ratings = json!([{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH"}]);
    let mut last = match &reply.say {
        Say::Text(it) if it.chunks == 0 => chunk(reply, json!({"role": "model"}), Some("STOP")),
        Say::Text(_) => {
            chunk(reply, json!({"parts": [{"text": text}], "role": "model"}), Some("STOP"))
        }
        Say::Call { name, arguments } => {
            let mut call = json!({"functionCall": {"name": name, "args": arguments}});
            // Only those that want it back sign their calls.
            if reply.model.contains("gemini-3") {
                call["thoughtSignature"] = format!("signature-{}", reply.nth).into();
            }
            chunk(reply, json!({"parts": [call], "role": "model"}), Some("STOP"))
        }
        Say::Refusal(_) => {
            let mut chunk = chunk(reply, Value::Null, None);
            chunk["candidates"] =
                json!([{"finishReason": "SAFETY", "index": 0, "safetyRatings": ratings}]);
            chunk
        }
        Say::Filtered => json!({
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "modelVersion": reply.model,
        }),
    };
    last["usageMetadata"] = json!({
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": reply.output_tokens,
        "totalTokenCount": reply.input_tokens + reply.output_tokens,
    });
    last
}

fn chunk(reply: &Reply, content: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": content, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    let tokens = reply.input_tokens;
    json!({
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": tokens, "totalTokenCount": tokens},
        "modelVersion": reply.model,
        "responseId": format!("fake-{}", reply.nth),
    })
}

fn error(wrong: &Wrong<'_>) -> Refusal {
    let model = wrong.model;
    let (status, name, message) = match wrong.trouble {
        Trouble::Key => {
            (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.".into())
        }
        Trouble::Quota => (
            429,
            "RESOURCE_EXHAUSTED",
            "Your prepayment credits are depleted. Please go to AI Studio to manage your billing."
                .into(),
        ),
        Trouble::Context => (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1048600) exceeds the maximum number of tokens allowed \
             (1048576)."
                .into(),
        ),
        Trouble::Status(401) => (
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login \
             cookie or other valid authentication credential."
                .into(),
        ),
        Trouble::Status(402) => {
            (402, "FAILED_PRECONDITION", "Please enable billing on your project.".into())
        }
        Trouble::Status(404) => (
            404,
            "NOT_FOUND",
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for \
                 generateContent. Call ListModels to see the list of available models."
            ),
        ),
        Trouble::Status(413) => (
            413,
            "INVALID_ARGUMENT",
            "Request payload size exceeds the limit: 20971520 bytes.".into(),
        ),
        Trouble::Status(429) => (
            429,
            "RESOURCE_EXHAUSTED",
            format!(
                "You exceeded your current quota, please check your plan and billing details.\n\
                 Please retry in {}s.",
                wrong.retry_after.as_secs_f64()
            ),
        ),
        Trouble::Status(status @ (503 | 529)) => {
            (status, "UNAVAILABLE", "The model is overloaded. Please try again later.".into())
        }
        Trouble::Status(status) if status >= 500 => (
            status,
            "INTERNAL",
            "An internal error has occurred. Please retry or report in \
             https://developers.generativeai.google/guide/troubleshooting"
                .into(),
        ),
        Trouble::Status(status) => {
            (status, "INVALID_ARGUMENT", "* GenerateContentRequest.contents: is empty".into())
        }
    };
    let mut error = json!({"code": status, "message": message, "status": name});
    if let Some(details) = details(wrong) {
        error["details"] = details;
    }
    Refusal { status, headers: vec![], body: json!({"error": error}) }
}

fn details(wrong: &Wrong<'_>) -> Option<Value> {
    match wrong.trouble {
        Trouble::Key => Some(json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
        }])),
        Trouble::Status(429) => Some(json!([
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}],
            },
            {
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{}s", wrong.retry_after.as_secs_f64()),
            },
        ])),
        _ => None,
    }
}

fn list(options: &Options) -> Value {
    let model = |id: &String| {
        json!({
            "name": format!("models/{id}"),
            "version": "001",
            "displayName": format!("Fake {id}"),
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        })
    };
    json!({"models": options.models.iter().map(model).collect::<Vec<_>>()})
}
