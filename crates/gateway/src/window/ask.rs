//! Asks servers how many tokens their models take. Nothing here fails: a server that does not answer
//! in time has said nothing.

use super::answers::{
    is_running, read_llama_props, read_lm_studio, read_ollama_loaded, read_ollama_show,
};
use super::{Inspect, ModelFacts};
use crate::access::{self, Wanted};
use crate::dialect::{Listed, gemini};
use crate::exchange::read;
use crate::http::Http;
use crate::{Endpoint, catalog, split_effort};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The longest answer about a model that is read; a longer one says nothing.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Questions to one server at once; the others wait for their turn.
const QUESTIONS_MAX: usize = 8;

/// What a server was asked about, and until when.
struct Inspection<'a> {
    http: &'a Http,
    /// The server itself, without the path of the dialect.
    origin: Endpoint,
    deadline: Instant,
}

/// What came of asking a server.
#[derive(Default)]
pub struct Inspected {
    /// In the order in which they were asked for.
    pub models: Vec<ModelFacts>,
    /// The whole list of models, where that had to be fetched.
    pub listed: Option<Vec<Listed>>,
}

/// Asks `endpoint` about these models, for at most `wait`.
pub(crate) async fn inspect(
    http: &Http,
    endpoint: &Endpoint,
    models: &[&str],
    wait: Duration,
) -> Inspected {
    let models: Vec<&str> = models.iter().map(|model| split_effort(model).0).collect();
    let origin = endpoint.base_url.trim_end_matches('/').trim_end_matches("/v1").to_string();
    let origin = Endpoint { base_url: origin, ..endpoint.clone() };
    let server = Inspection { http, origin, deadline: Instant::now() + wait };
    let facts = match endpoint.provider.inspect {
        Inspect::Nothing => vec![ModelFacts::default(); models.len()],
        Inspect::List | Inspect::File => {
            let listed = catalog::list(http, endpoint, wait).await.ok();
            let models = models.iter().map(|model| of_list(listed.as_deref(), model)).collect();
            return Inspected { models, listed };
        }
        Inspect::Ollama => server.ollama(&models).await,
        Inspect::LlamaServer => server.llama_server(&models).await,
        Inspect::LlamaSwap => server.llama_swap(&models).await,
        Inspect::LmStudio => server.lm_studio(&models).await,
    };
    Inspected { models: facts, listed: None }
}

fn of_list(listed: Option<&[Listed]>, model: &str) -> ModelFacts {
    let entry = listed.unwrap_or_default().iter().find(|entry| entry.id == model);
    ModelFacts { trained: entry.and_then(|entry| entry.context_tokens), ..ModelFacts::default() }
}

impl Inspection<'_> {
    async fn ollama(&self, models: &[&str]) -> Vec<ModelFacts> {
        let show = |model: &str| {
            let body = json!({ "model": model });
            async move { self.fetch("/api/show", Some(body)).await.unwrap_or_default() }
        };
        let (loaded, shown) =
            tokio::join!(self.fetch("/api/ps", None), answers(models.iter().map(|it| show(it))));
        let loaded = loaded.unwrap_or_default();
        let facts = |(model, show): (&&str, Value)| ModelFacts {
            loaded: read_ollama_loaded(&loaded, model),
            ..read_ollama_show(&show)
        };
        models.iter().zip(shown).map(facts).collect()
    }

    async fn llama_server(&self, models: &[&str]) -> Vec<ModelFacts> {
        let props = self.fetch("/props", None).await.unwrap_or_default();
        vec![read_llama_props(&props); models.len()]
    }

    /// Asks only servers that run: to ask another one would load its model.
    async fn llama_swap(&self, models: &[&str]) -> Vec<ModelFacts> {
        let Some(running) = self.fetch("/running", None).await else {
            // A llama-server at the usual place of llama-swap.
            return self.llama_server(models).await;
        };
        let props = |model: &str| {
            let path = format!("/upstream/{}/props", gemini::escape_path(model));
            let is_running = is_running(&running, model);
            async move {
                if is_running {
                    self.fetch(&path, None).await.unwrap_or_default()
                } else {
                    Value::Null
                }
            }
        };
        let props = answers(models.iter().map(|model| props(model))).await;
        props.iter().map(read_llama_props).collect()
    }

    async fn lm_studio(&self, models: &[&str]) -> Vec<ModelFacts> {
        let list = match self.fetch("/api/v0/models", None).await {
            Some(list) => list,
            None => self.fetch("/api/v1/models", None).await.unwrap_or_default(),
        };
        models.iter().map(|model| read_lm_studio(&list, model)).collect()
    }

    /// Fetches one answer as JSON; none where it does not come, in time or at all.
    async fn fetch(&self, path: &str, body: Option<Value>) -> Option<Value> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let wanted = Wanted { path: path.into(), body, ..Wanted::default() };
        let fetched = async {
            let incoming = access::open(self.http, &self.origin, &wanted).await.ok()?;
            let (bytes, is_whole) = read(incoming.body, ANSWER_BYTES_MAX).await;
            is_whole.ok().filter(|is_whole| *is_whole)?;
            serde_json::from_slice(&bytes).ok()
        };
        timeout_at(self.deadline, fetched).await.ok().flatten()
    }
}

/// Waits for all answers, a few at a time and in order.
async fn answers(questions: impl Iterator<Item = impl Future<Output = Value>>) -> Vec<Value> {
    let questions: Vec<_> = questions.collect();
    stream::iter(questions).buffered(QUESTIONS_MAX).collect().await
}
