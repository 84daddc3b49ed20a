//! Models as frontends know them: ids, lists, and whether one answers.

use super::Backend;
use super::params::{Params, model_id};
use crate::discover::{FoundProvider, display_of};
use crate::lineup::{self, Sitting};
use althing_assembly::demo;
use althing_chat::{Answer, Ask, Model};
use althing_gateway::PROVIDERS;
use althing_jsonrpc::{Cx, Value};
use althing_stdx::{Fault, Kind, Result, text::clip};
use serde_json::{Map, json};
use std::sync::Arc;
use std::time::Duration;

/// Providers that frontends expect in every list, and first.
const ALWAYS: [&str; 4] = ["openai", "anthropic", "google", "xai"];
/// Models of one provider in the list.
const LISTED_MAX: usize = 100;
/// How long a model may take to answer a greeting; a local one may have to be loaded first.
const VALIDATE_MAX: Duration = Duration::from_secs(30);
const VALIDATE_LOCAL_MAX: Duration = Duration::from_secs(60);
/// Characters of an error that has no name of its own.
const ERROR_CHARS_MAX: usize = 60;

/// The providers that can be asked, in the order of the list.
pub(super) fn providers(backend: &Backend) -> Vec<String> {
    let groups = groups(backend).into_iter().filter(|(_, models)| !models.is_empty());
    groups.map(|(provider, _)| provider).collect()
}

/// All models by provider. Waits for nobody: what is still being looked for comes with a later call.
pub(super) async fn list(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    let mut models = Map::new();
    for (provider, entries) in groups(backend) {
        if !entries.is_empty() || ALWAYS.contains(&provider.as_str()) {
            models.insert(provider, Value::Array(entries));
        }
    }
    Ok(json!({"models": models, "validated": backend.memory.validated()}))
}

/// Provider and its models: the four well-known ones first, Ollama last.
fn groups(backend: &Backend) -> Vec<(String, Vec<Value>)> {
    let found = backend.found();
    let mut taken: Vec<String> = Vec::new();
    let mut groups = Vec::new();
    let rank = |provider: &FoundProvider| match provider.configured.endpoint.provider.name {
        name if ALWAYS.contains(&name) => {
            ALWAYS.iter().position(|known| *known == name).unwrap_or(0)
        }
        "ollama" => usize::MAX,
        name => ALWAYS.len() + PROVIDERS.iter().position(|row| row.name == name).unwrap_or(0),
    };
    let mut providers: Vec<&FoundProvider> = found.providers.iter().collect();
    providers.sort_by_key(|provider| rank(provider));
    for name in ALWAYS
        .into_iter()
        .filter(|name| !providers.iter().any(|p| p.configured.endpoint.id == *name))
    {
        groups.push((name.to_string(), vec![]));
    }
    for provider in providers {
        groups.push((provider.configured.endpoint.id.clone(), entries(provider, &mut taken)));
    }
    groups.sort_by_key(|(id, _)| ALWAYS.iter().position(|name| name == id).unwrap_or(ALWAYS.len()));
    if groups.iter().all(|(_, models)| models.is_empty()) {
        groups.push(("demo".into(), demo_entries()));
    }
    groups
}

fn entries(provider: &FoundProvider, taken: &mut Vec<String>) -> Vec<Value> {
    let endpoint = &provider.configured.endpoint;
    let own: Vec<(String, Option<String>)> = provider
        .configured
        .models
        .iter()
        .map(|model| (model.id.clone(), model.display.clone()))
        .collect();
    let listed = provider
        .models
        .iter()
        .map(|model| (model.model.clone(), Some(model.display.clone())))
        .collect();
    // Before anybody answered, a provider with a key is taken to have its usual models.
    let usual = || {
        let preferred = endpoint.provider.preferred.iter().filter(|_| endpoint.key.is_some());
        preferred.map(|model| (model.to_string(), None)).collect()
    };
    let models: Vec<(String, Option<String>)> = match (own.is_empty(), provider.models.is_empty()) {
        (false, _) => own,
        (true, false) => listed,
        (true, true) => usual(),
    };
    let entry = |(model, display): (String, Option<String>)| {
        // The first provider that has an id keeps it; elsewhere, and at Ollama, it is written in full.
        let is_plain = endpoint.provider.name != "ollama" && !taken.contains(&model);
        taken.extend(is_plain.then(|| model.clone()));
        let id = if is_plain { model.clone() } else { format!("{}:{model}", endpoint.id) };
        let display_name = display_of(&model, display.as_deref());
        json!({"id": id, "provider": endpoint.id, "display_name": display_name})
    };
    models.into_iter().take(LISTED_MAX).map(entry).collect()
}

fn demo_entries() -> Vec<Value> {
    let entry = |voice: &demo::Voice| json!({"id": format!("{}{}", demo::PREFIX, voice.name), "provider": "demo", "display_name": voice.display});
    demo::VOICES.iter().map(entry).collect()
}

/// The model behind an id.
pub(super) fn seat(backend: &Backend, id: &str) -> Result<Sitting> {
    let lineup = lineup::resolve(&[id.to_string()], backend.config(), Some(&backend.found()))?;
    lineup.seats.into_iter().next().ok_or_else(|| Fault::new(Kind::UnknownModel, "Model not found"))
}

/// A voice for an id.
pub(super) fn voice(backend: &Backend, id: &str) -> Result<(Arc<dyn Model>, bool)> {
    let sitting = seat(backend, id)?;
    let is_local = sitting.endpoint.as_ref().is_some_and(|endpoint| endpoint.provider.local);
    Ok((backend.runs.voice(&sitting)?, is_local))
}

/// Greets a model. Whatever is wrong with it is an answer, not an error.
pub(super) async fn validate(backend: &Backend, _: Cx, params: Params) -> Result<Value> {
    let id = model_id("model_id", &Value::String(params.text("model_id")?))?;
    let error = match voice(backend, &id) {
        Ok((model, is_local)) => {
            greet(&*model, if is_local { VALIDATE_LOCAL_MAX } else { VALIDATE_MAX }).await.err()
        }
        Err(fault) => Some(name_of(&fault, VALIDATE_MAX)),
    };
    // What cannot be remembered is tried again next time.
    let _ = backend.memory.set_validated(&id, error.is_none()).await;
    Ok(json!({"valid": error.is_none(), "error": error}))
}

async fn greet(model: &dyn Model, max: Duration) -> Result<(), String> {
    let ask = Ask { max_tokens: None, stream: false, ..Ask::new("", "Hi") };
    match tokio::time::timeout(max, Answer::collect(model.speak(ask))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(fault)) => Err(name_of(&fault, max)),
        Err(_) => Err(timed_out(max)),
    }
}

fn timed_out(max: Duration) -> String {
    format!("Timeout ({:.1}s)", max.as_secs_f32())
}

/// The short names that frontends show.
fn name_of(fault: &Fault, max: Duration) -> String {
    match fault.kind {
        Kind::NoCredit => "Insufficient credits".into(),
        Kind::UnknownModel | Kind::NotFound => "Model not found".into(),
        Kind::BadKey if fault.status.is_none() => clip(&fault.message, ERROR_CHARS_MAX * 2),
        Kind::BadKey => "Invalid API key".into(),
        Kind::RateLimited => "Rate limited".into(),
        Kind::TimedOut => timed_out(max),
        _ if fault.message.chars().count() > ERROR_CHARS_MAX => {
            format!("{}...", fault.message.chars().take(ERROR_CHARS_MAX).collect::<String>())
        }
        _ => fault.message.clone(),
    }
}
