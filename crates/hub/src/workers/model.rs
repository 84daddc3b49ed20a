//! A worker's `complete(messages)` as a model: `worker:<name>`.

use super::worker::Worker;
use althing_chat::{Ask, Delta, Message, Role, Speaking, Stop, Usage};
use althing_gateway::{Access, Endpoint, Grant, Listed, WORKER};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use std::sync::Arc;

/// The function that is asked.
const FUNCTION: &str = "complete";

/// Where all workers are asked.
pub(super) fn endpoint(all: Vec<Arc<Worker>>) -> Endpoint {
    Endpoint {
        id: WORKER.name.into(),
        provider: &WORKER,
        base_url: "multifrost".into(),
        key: None,
        parallel: WORKER.parallel,
        access: Some(Arc::new(Speakers { all })),
        headers: vec![],
    }
}

#[derive(Debug)]
struct Speakers {
    all: Vec<Arc<Worker>>,
}

impl Access for Speakers {
    fn grant<'a>(&'a self, _refused: Option<&'a Grant>) -> BoxFuture<'a, Result<Grant>> {
        let fault = Fault::invalid("model: a worker only completes conversations");
        Box::pin(ready(Err(fault)))
    }

    fn speak(&self, model: &str, ask: &Ask) -> Option<Speaking> {
        let messages: Value = ask.messages.iter().map(message).collect();
        let worker = self.all.iter().find(|worker| worker.name() == model).cloned();
        let no_worker = Fault::new(Kind::UnknownModel, format!("there is no worker '{model}'"));
        // A worker that streams would give its pieces here; today it gives one.
        let said = async move {
            let Some(worker) = worker else { return vec![Err(no_worker)] };
            match worker.call(FUNCTION, vec![messages], None).await.and_then(|it| read(&it)) {
                Ok(deltas) => deltas.into_iter().map(Ok).collect(),
                Err(fault) => vec![Err(fault)],
            }
        };
        Some(stream::once(said).flat_map(stream::iter).boxed())
    }

    fn listed(&self) -> BoxFuture<'_, Option<Result<Vec<Listed>>>> {
        let models = self.all.iter().filter(|worker| worker.is_model());
        let listed = models.map(|worker| Listed {
            id: worker.name().into(),
            display_name: None,
            owned_by: None,
            context_tokens: None,
        });
        Box::pin(ready(Some(Ok(listed.collect()))))
    }
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    json!({ "role": role, "content": message.text })
}

/// A text, or `{text, usage}` with the tokens `input` and `output`.
fn read(answer: &Value) -> Result<Vec<Delta>> {
    let text = answer.as_str().or_else(|| answer["text"].as_str());
    let Some(text) = text else {
        let text = "the worker's `complete` gave neither a text nor {text, usage}";
        return Err(Fault::new(Kind::Upstream, text));
    };
    let count = |name: &str| answer["usage"][name].as_u64();
    let usage = Usage { input: count("input"), output: count("output"), ..Usage::default() };
    let usage = (usage != Usage::default()).then_some(Delta::Usage(usage));
    let text = (!text.is_empty()).then(|| Delta::Text(text.into()));
    Ok(text.into_iter().chain(usage).chain([Delta::Stop(Stop::End)]).collect())
}

#[cfg(test)]
#[test]
fn what_a_worker_may_answer() {
    let stop = || Delta::Stop(Stop::End);
    assert_eq!(read(&json!("yes")).unwrap(), [Delta::Text("yes".into()), stop()]);
    let usage = Usage { input: Some(3), output: Some(1), ..Usage::default() };
    let answer = json!({ "text": "yes", "usage": { "input": 3, "output": 1 } });
    let want = [Delta::Text("yes".into()), Delta::Usage(usage), stop()];
    assert_eq!(read(&answer).unwrap(), want);
    assert_eq!(read(&json!("")).unwrap(), [stop()]);
    for wrong in [json!(null), json!(5), json!({ "content": "x" })] {
        assert_eq!(read(&wrong).unwrap_err().kind, Kind::Upstream);
    }
}
