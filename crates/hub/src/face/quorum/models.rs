//! Models as frontends know them: their ids, and lists by provider.

use super::Backend;
use super::params::{Params, is_model_id};
use crate::book::Book;
use crate::config::{Keyless, ModelEntry};
use crate::discover::{FoundProvider, display_of};
use crate::lineup::{self, Sitting};
use crate::service::words::ALIAS;
use althing_assembly::demo;
use althing_chat::Model;
use althing_gateway::{PROVIDERS, split_effort};
use althing_jsonrpc::{Cx, Value};
use althing_stdx::{Fault, Kind, Result};
use serde_json::{Map, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Providers that frontends expect in every list, and first.
const ALWAYS: [&str; 4] = ["openai", "anthropic", "google", "xai"];
/// Agents that Quorum knows too, and its word for whatever model they have.
const AGENTS: [&str; 2] = ["claude", "codex"];
const DEFAULT_MODEL: &str = "default";
/// Models of one provider in the list; more are left out.
const LISTED_MAX: usize = 100;

/// A provider and what is listed of it.
struct Group {
    provider: String,
    entries: Vec<Entry>,
}

/// A model in the list.
struct Entry {
    /// What a frontend calls it.
    id: String,
    /// `provider:model`.
    whole_id: String,
    display: String,
}

/// The providers that can be asked, in the order of the list.
pub(super) fn providers(backend: &Backend) -> Vec<String> {
    let groups = groups(backend).into_iter().filter(|group| !group.entries.is_empty());
    groups.map(|group| group.provider).collect()
}

/// All models by provider. Waits a moment for what this machine has; what is still looked for then
/// comes with a later call.
pub(super) async fn list(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    backend.refresh().await;
    backend.look.wait_for_home().await;
    let is_empty = |groups: &[Group]| groups.iter().all(|group| group.entries.is_empty());
    let mut groups = groups(backend);
    if is_empty(&groups) {
        backend.look.wait_for_end().await;
        groups = self::groups(backend);
    }
    let is_shown = |it: &Group| !it.entries.is_empty() || ALWAYS.contains(&&*it.provider);
    let shown = groups.into_iter().filter(is_shown);
    let models: Map<String, Value> = shown.map(Group::shown).collect();
    Ok(json!({"models": models, "validated": validated(backend)}))
}

/// Models that answered when tried, without those whose key is gone or refused by now: frontends try
/// them again and show why.
fn validated(backend: &Backend) -> Vec<String> {
    let is_refused = |id: &str| match seat(backend, id) {
        Err(fault) => fault.kind == Kind::BadKey,
        Ok(sitting) => {
            sitting.targets.first().is_some_and(|it| backend.is_key_refused(&it.endpoint.id))
        }
    };
    let tried = backend.memory.validated().into_iter();
    tried.filter(|id| !is_refused(id)).collect()
}

impl Group {
    fn shown(self) -> (String, Value) {
        let provider = self.provider;
        let entry =
            |it: Entry| json!({"id": it.id, "provider": &provider, "display_name": it.display});
        let entries = self.entries.into_iter().map(entry).collect();
        (provider, Value::Array(entries))
    }
}

/// Every provider and its models: the four well-known ones first, Ollama last. Where there is not
/// one model, the demo voices.
fn groups(backend: &Backend) -> Vec<Group> {
    let (book, found) = (backend.book(), backend.found());
    let mut providers: Vec<&FoundProvider> = found.providers.iter().collect();
    providers.sort_by_key(|provider| rank(provider));
    let mut taken = HashSet::new();
    let mut groups: Vec<Group> =
        providers.into_iter().map(|it| group(it, &book, &mut taken)).collect();
    let keyless = &book.config.keyless;
    let is_always = |it: &&Keyless| ALWAYS.contains(&it.provider);
    let of = |name: &str| keyless.iter().find(|it| it.provider == name);
    for (at, name) in ALWAYS.into_iter().enumerate() {
        if groups.get(at).is_none_or(|group| group.provider != name) {
            groups.insert(at, keyless_group(name, of(name), &mut taken));
        }
    }
    for other in keyless.iter().filter(|it| !is_always(it)) {
        let is_ollama = |group: &Group| group.provider == "ollama";
        let at = groups.iter().position(is_ollama).unwrap_or(groups.len());
        groups.insert(at, keyless_group(other.provider, Some(other), &mut taken));
    }
    if backend.look.is_over() && groups.iter().all(|group| group.entries.is_empty()) {
        groups.push(demo_group());
    }
    groups.extend(alias_group(&book));
    groups
}

/// Where a provider stands in the list. A section of the person's own comes behind the rows.
fn rank(provider: &FoundProvider) -> (usize, usize) {
    let endpoint = &provider.configured.endpoint;
    let always = ALWAYS.iter().position(|name| *name == endpoint.id);
    let row = PROVIDERS.iter().position(|row| row.name == endpoint.id).unwrap_or(PROVIDERS.len());
    match always {
        Some(at) => (0, at),
        None if endpoint.id == "ollama" => (2, 0),
        None => (1, row),
    }
}

/// A provider's models. The first provider that has an id keeps it; elsewhere, at Ollama, and where
/// nobody could ask for it by that, it is written in full. One that nobody could ask for at all is
/// left out.
fn group(provider: &FoundProvider, book: &Book, taken: &mut HashSet<String>) -> Group {
    let endpoint = &provider.configured.endpoint;
    let entry = |(model, display): (String, Option<String>)| {
        let whole_id = format!("{}:{model}", endpoint.id);
        let is_free = endpoint.provider.name != "ollama" && !book.routes.contains_key(&model);
        let is_plain = is_free && is_model_id(&model) && taken.insert(model.clone());
        let display = display_of(&model, display.as_deref());
        let id = if is_plain { model } else { whole_id.clone() };
        is_model_id(&id).then_some(Entry { id, whole_id, display })
    };
    let entries = models(provider, book).into_iter().filter_map(entry).take(LISTED_MAX);
    Group { provider: endpoint.id.clone(), entries: entries.collect() }
}

/// The person's own list, else what the provider lists, else its usual models where there is a key
/// for it: it may not have answered yet.
fn models(provider: &FoundProvider, book: &Book) -> Vec<(String, Option<String>)> {
    let (own, endpoint) = (&provider.configured.models, &provider.configured.endpoint);
    if !own.is_empty() {
        let own = own.iter().filter(|it| book.is_enabled(&endpoint.id, &it.id));
        return own.map(|model| (model.id.clone(), model.display.clone())).collect();
    }
    if !provider.models.is_empty() {
        let pair = |model: &crate::discover::FoundModel| {
            (model.model.clone(), Some(model.display.clone()))
        };
        return provider.models.iter().map(pair).collect();
    }
    let usual = endpoint.provider.preferred.iter().filter(|_| endpoint.key.is_some());
    let usual = usual.filter(|model| book.is_enabled(&endpoint.id, model));
    usual.map(|model| (model.to_string(), None)).collect()
}

/// What the person listed of a provider that has no key: to be tried, and to hear what it lacks.
fn keyless_group(provider: &str, listed: Option<&Keyless>, taken: &mut HashSet<String>) -> Group {
    let entry = |it: &ModelEntry| {
        let whole_id = format!("{provider}:{}", it.id);
        let is_plain = is_model_id(&it.id) && taken.insert(it.id.clone());
        let id = if is_plain { it.id.clone() } else { whole_id.clone() };
        let display = display_of(&it.id, it.display.as_deref());
        is_model_id(&id).then_some(Entry { id, whole_id, display })
    };
    let models = listed.map(|it| it.models.as_slice()).unwrap_or_default();
    let entries = models.iter().filter_map(entry).take(LISTED_MAX).collect();
    Group { provider: provider.into(), entries }
}

fn demo_group() -> Group {
    let entry = |voice: &demo::Voice| {
        let id = format!("{}{}", demo::PREFIX, voice.name);
        Entry { id: id.clone(), whole_id: id, display: voice.display.to_string() }
    };
    Group { provider: "demo".into(), entries: demo::VOICES.iter().map(entry).collect() }
}

/// The aliases: each a model like any other, whoever answers.
fn alias_group(book: &Book) -> Option<Group> {
    let entry = |alias: &String| {
        book.behind(alias)?.ok()?;
        Some(Entry { id: alias.clone(), whole_id: alias.clone(), display: alias.clone() })
    };
    let aliases = book.routes.keys().filter(|alias| is_model_id(alias));
    let entries: Vec<Entry> = aliases.filter_map(entry).take(LISTED_MAX).collect();
    (!entries.is_empty()).then(|| Group { provider: ALIAS.into(), entries })
}

/// The ids as `provider:model` where the list has them: what is shown is what is asked.
pub(super) fn whole_ids(backend: &Backend, ids: &[String]) -> Vec<String> {
    let groups = groups(backend);
    let whole_id = |id: &String| {
        let (bare, effort) = split_effort(id);
        let mut entries = groups.iter().flat_map(|group| &group.entries);
        match (entries.find(|entry| entry.id == bare), effort) {
            (Some(entry), Some(effort)) => format!("{}@{effort}", entry.whole_id),
            (Some(entry), None) => entry.whole_id.clone(),
            (None, _) => agent_id(backend, id).unwrap_or_else(|| id.clone()),
        }
    };
    ids.iter().map(whole_id).collect()
}

/// Quorum's name of an agent as ours: `claude:opus` is `claude-cli:opus`. A provider of the person's
/// own that is called so keeps its name.
fn agent_id(backend: &Backend, id: &str) -> Option<String> {
    let (name, model) = id.split_once(':')?;
    let config = &backend.book().config;
    let is_agent = AGENTS.contains(&name) && config.endpoint(name).is_none();
    let model = Some(model).filter(|model| !model.is_empty() && *model != DEFAULT_MODEL);
    is_agent.then(|| match model {
        Some(model) => format!("{name}-cli:{model}"),
        None => format!("{name}-cli"),
    })
}

/// The model behind an id.
pub(super) fn seat(backend: &Backend, id: &str) -> Result<Sitting> {
    let ids = whole_ids(backend, &[id.to_string()]);
    let lineup = lineup::resolve(&ids, &backend.book(), Some(&backend.found()))?;
    lineup.seats.into_iter().next().ok_or_else(|| Fault::new(Kind::UnknownModel, "Model not found"))
}

/// A voice for an id, and whether it is on this machine.
pub(super) fn voice(backend: &Backend, id: &str) -> Result<(Arc<dyn Model>, bool)> {
    let sitting = seat(backend, id)?;
    Ok((backend.runs.voice(&sitting)?, sitting.is_local()))
}
