//! `ai/models` and `ai/complete`: the voices of this machine for extensions that may ask them.

use crate::service::Service;
use crate::service::words::{Caller, CompleteRequest};
use althing_chat::Message;
use althing_exthost::{Error, Models};
use althing_stdx::{Fault, Kind};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, Weak};

/// The models of a service, which may have extensions of its own and outlives none of them.
pub struct Voices(pub Weak<Service>);

impl Voices {
    fn service(&self) -> Result<Arc<Service>, Error> {
        let over = || failed(Fault::new(Kind::Cancelled, "the service is over"));
        self.0.upgrade().ok_or_else(over)
    }
}

/// What `ai/complete` takes: a name, and a prompt or messages.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Params {
    model: String,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    messages: Vec<Said>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    temperature: Option<f32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", tag = "role", content = "content")]
enum Said {
    System(String),
    User(String),
    Assistant(String),
}

impl From<Said> for Message {
    fn from(said: Said) -> Message {
        match said {
            Said::System(text) => Message::system(text),
            Said::User(text) => Message::user(text),
            Said::Assistant(text) => Message::assistant(text),
        }
    }
}

fn failed(fault: Fault) -> Error {
    Error::new(fault.kind.codes().jsonrpc, fault.message)
}

fn request(params: Value) -> Result<CompleteRequest, Error> {
    let wrong = |what: String| failed(Fault::invalid(what));
    let params: Params =
        serde_json::from_value(params).map_err(|error| wrong(error.to_string()))?;
    if params.prompt.is_some() != params.messages.is_empty() {
        return Err(wrong("prompt: it is a prompt or messages, one of them".into()));
    }
    let said = params.messages.into_iter().map(Message::from);
    Ok(CompleteRequest {
        model_id: params.model,
        messages: said.chain(params.prompt.map(Message::user)).collect(),
        tools: vec![],
        max_tokens: params.max_tokens,
        temperature: params.temperature,
    })
}

impl Models for Voices {
    fn models(&self) -> BoxFuture<'_, Result<Value, Error>> {
        async {
            let all = self.service()?.models(None).await.map_err(failed)?;
            let models = all.iter().filter(|model| model.enabled).map(|model| {
                let id = format!("{}:{}", model.provider_id, model.model_id);
                json!({ "id": id, "name": model.display })
            });
            Ok(json!({ "models": models.collect::<Vec<_>>() }))
        }
        .boxed()
    }

    fn complete<'a>(
        &'a self,
        extension: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        async move {
            let request = request(params)?;
            let caller = Caller { connection: extension.into(), name: "extension".into() };
            let done = self.service()?.complete(&caller, request).await.map_err(failed)?;
            let usage = done.usage.map(|it| json!({ "input": it.input, "output": it.output }));
            Ok(json!({ "text": done.message.text, "model": done.answered_by, "usage": usage }))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_or_messages() {
        let asked = request(json!({ "model": "fast", "prompt": "Hi", "maxTokens": 5 })).unwrap();
        assert_eq!((asked.messages, asked.max_tokens), (vec![Message::user("Hi")], Some(5)));
        let messages =
            json!([{ "role": "system", "content": "s" }, { "role": "user", "content": "u" }]);
        let asked = request(json!({ "model": "fast", "messages": messages })).unwrap();
        assert_eq!(asked.messages, [Message::system("s"), Message::user("u")]);
        for wrong in [
            json!({ "prompt": "Hi" }),
            json!({ "model": "fast" }),
            json!({ "model": "fast", "prompt": "Hi", "messages": messages }),
            json!({ "model": "fast", "prompt": "Hi", "tools": [] }),
            json!({ "model": "fast", "messages": [{ "role": "tool", "content": "" }] }),
        ] {
            assert_eq!(request(wrong.clone()).unwrap_err().code, -32602, "{wrong}");
        }
    }
}
