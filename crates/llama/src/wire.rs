//! OpenAI's dialect: what is asked, what is answered, how it is refused.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Stop sequences of one request, as OpenAI has it.
const STOPS_MAX: usize = 4;
const STOP_BYTES_MAX: usize = 1_024;
const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool"];

/// A request for a completion. What is not named here changes no answer of a model in a file.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    pub messages: Vec<Said>,
    #[serde(default)]
    pub stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub seed: Option<u32>,
    stop: Option<Stop>,
    tools: Option<Vec<IgnoredAny>>,
    n: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Stop {
    One(String),
    Many(Vec<String>),
}

/// A message of the conversation.
#[derive(Debug, Deserialize)]
pub struct Said {
    pub role: String,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

/// A request that is not answered, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal { status: 400, code: "invalid_value", message: message.into() }
    }

    pub fn failed(message: impl Into<String>) -> Refusal {
        Refusal { status: 500, code: "internal_error", message: message.into() }
    }

    pub fn body(&self) -> Value {
        let kind = if self.status < 500 { "invalid_request_error" } else { "server_error" };
        let Refusal { code, message, .. } = self;
        json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
    }
}

impl Wanted {
    /// Reads a body and refuses what this runner cannot do.
    pub fn read(body: &[u8]) -> Result<Wanted, Refusal> {
        let wanted: Wanted =
            serde_json::from_slice(body).map_err(|error| Refusal::invalid(error.to_string()))?;
        wanted.check().map_err(Refusal::invalid)?;
        Ok(wanted)
    }

    fn check(&self) -> Result<(), String> {
        let tools = self.tools.as_ref().map_or(0, Vec::len);
        if tools > 0 {
            return Err(format!("tools: this runner has no tool calls, and {tools} are offered"));
        }
        if let Some(n) = self.n.filter(|n| *n != 1) {
            return Err(format!("n: one answer at a time, not {n}"));
        }
        if self.messages.is_empty() {
            return Err("messages: at least one is needed".into());
        }
        if let Some(said) = self.messages.iter().find(|it| !ROLES.contains(&it.role.as_str())) {
            return Err(format!("messages: role {:?} is none of {}", said.role, ROLES.join(", ")));
        }
        for (name, value, most) in
            [("temperature", self.temperature, 2.0), ("top_p", self.top_p, 1.0)]
        {
            if let Some(wrong) = value.filter(|value| !(0.0..=most).contains(value)) {
                return Err(format!("{name}: must be from 0 to {most}, not {wrong}"));
            }
        }
        let (stops, fits) = (self.stops(), 1..=STOP_BYTES_MAX);
        if stops.len() > STOPS_MAX || stops.iter().any(|stop| !fits.contains(&stop.len())) {
            return Err(format!("stop: at most {STOPS_MAX}, of 1 to {STOP_BYTES_MAX} bytes each"));
        }
        Ok(())
    }

    pub fn tokens_max(&self) -> Option<u32> {
        self.max_completion_tokens.or(self.max_tokens)
    }

    pub fn stops(&self) -> Vec<String> {
        match &self.stop {
            None => vec![],
            Some(Stop::One(stop)) => vec![stop.clone()],
            Some(Stop::Many(stops)) => stops.clone(),
        }
    }

    /// Whether a stream ends with the usage.
    pub fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|it| it.include_usage).unwrap_or(false)
    }
}

impl Said {
    pub fn text(&self) -> String {
        match &self.content {
            None => String::new(),
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => {
                parts.iter().filter_map(|part| part.text.as_deref()).collect()
            }
        }
    }
}

/// What a completion cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub prompt: usize,
    /// Of the prompt, what was still known from the request before.
    pub cached: usize,
    pub completion: usize,
}

impl Usage {
    fn json(self) -> Value {
        let Usage { prompt, cached, completion } = self;
        json!({ "prompt_tokens": prompt, "completion_tokens": completion,
                "total_tokens": prompt + completion,
                "prompt_tokens_details": { "cached_tokens": cached } })
    }
}

/// The head that every chunk and answer of one completion has.
#[derive(Debug, Clone)]
pub struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    pub fn new(model: &str) -> Head {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("chatcmpl-{:016x}", fastrand::u64(..));
        Head { id, created: since.as_secs(), model: model.to_string() }
    }

    fn with(&self, object: &str, choices: Value) -> Value {
        let Head { id, created, model } = self;
        json!({ "id": id, "object": object, "created": created, "model": model,
                "choices": choices })
    }

    pub fn answer(&self, text: &str, finish: &str, usage: Usage) -> Value {
        let message = json!({ "role": "assistant", "content": text });
        let choice = json!([{ "index": 0, "message": message, "finish_reason": finish }]);
        let mut answer = self.with("chat.completion", choice);
        answer["usage"] = usage.json();
        answer
    }

    /// A chunk with a piece of the message, or with its end.
    pub fn chunk(&self, delta: Value, finish: Option<&str>) -> Value {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        self.with("chat.completion.chunk", choice)
    }

    pub fn usage(&self, usage: Usage) -> Value {
        let mut chunk = self.with("chat.completion.chunk", json!([]));
        chunk["usage"] = usage.json();
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: Value) -> String {
        Wanted::read(body.to_string().as_bytes()).expect_err("it should be refused").message
    }

    #[test]
    fn what_the_runner_cannot_do_is_refused_by_name() {
        let messages = json!([{ "role": "user", "content": "hi" }]);
        for (field, value) in [
            ("tools", json!([{}])),
            ("n", json!(2)),
            ("temperature", json!(3)),
            ("top_p", json!(-1)),
            ("stop", json!(["a", "b", "c", "d", "e"])),
            ("stop", json!("")),
            ("messages", json!([])),
            ("messages", json!([{ "role": "bard", "content": "hi" }])),
        ] {
            let mut body = json!({ "messages": messages });
            body[field] = value;
            let why = refused(body);
            assert!(why.starts_with(&format!("{field}: ")), "{why}");
        }
        assert!(refused(json!({})).contains("messages"));
    }

    #[test]
    fn contents_may_be_text_or_parts_or_nothing() {
        let body = r#"{"messages":[{"role":"system","content":"a"},
            {"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},
            {"role":"assistant","content":null}],"stream_options":{"include_usage":true},
            "max_tokens":5,"stop":"x","tools":[],"model":"any","unknown":1}"#;
        let wanted = Wanted::read(body.as_bytes()).expect("it is right");
        let texts: Vec<String> = wanted.messages.iter().map(Said::text).collect();
        assert_eq!(texts, ["a", "bc", ""]);
        assert_eq!((wanted.tokens_max(), wanted.wants_usage()), (Some(5), true));
        assert_eq!(wanted.stops(), ["x"]);
    }
}
