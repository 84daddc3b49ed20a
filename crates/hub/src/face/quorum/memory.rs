//! What the backend remembers for its frontends: settings, the history of inputs, the models that
//! were tried, the models that were found. Kept in the store, and in memory as well: reading waits
//! for nothing, and where the store cannot be written things last as long as this process.

mod old;
mod settings;

use super::params::Params;
use crate::config::Config;
use crate::discover::{Found, FoundProvider, State};
use crate::store::Store;
use althing_stdx::Result;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Inputs that are kept, the most recent last.
const HISTORY_MAX: usize = 100;
/// Characters of an input; a longer one is clipped.
const INPUT_CHARS_MAX: usize = 50_000;
/// Models remembered as tried, and as found per provider.
const MODELS_KEPT: usize = 500;

const SETTINGS: &str = "quorum.settings";
const HISTORY: &str = "quorum.history";
const VALIDATED: &str = "quorum.validated";
const FOUND: &str = "quorum.found";

pub(super) struct Memory {
    store: Store,
    state: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    settings: Map<String, Value>,
    history: Vec<String>,
    validated: Vec<String>,
    found: Value,
}

impl Memory {
    /// Reads what there is; on first use what Quorum left. What cannot be read counts as not there.
    pub async fn open(store: Store, home: &Path) -> Memory {
        let (settings, validated) = (
            old::take_over(&store, SETTINGS, home, "settings.json", None).await,
            old::take_over(&store, VALIDATED, home, "validated_models.json", Some("models")).await,
        );
        let kept = Kept {
            settings: settings::sound(&settings),
            history: history(&store, home).await,
            validated: texts(&validated),
            found: store.get(FOUND).await.ok().flatten().unwrap_or_default(),
        };
        Memory { store, state: Mutex::new(kept) }
    }

    /// Every setting: the four of the protocol always, the language where it is set.
    pub fn settings(&self) -> Map<String, Value> {
        let mut all = settings::defaults();
        all.extend(self.kept().settings.clone());
        all
    }

    /// A setting the person chose.
    pub fn setting(&self, name: &str) -> Option<Value> {
        self.kept().settings.get(name).cloned()
    }

    /// The language the person chose, by its name.
    pub fn language(&self) -> Option<String> {
        settings::language(&self.setting("response_language")?)
    }

    /// Checks and merges settings: unknown ones are ignored, null clears one, and where one is
    /// wrong nothing is saved.
    pub async fn save_settings(&self, params: Params) -> Result<()> {
        let patch = settings::patch(params.map)?;
        settings::merge(&mut self.kept().settings, &patch);
        let merged = move |before: Value| {
            let mut all = before.as_object().cloned().unwrap_or_default();
            settings::merge(&mut all, &patch);
            Value::Object(all)
        };
        self.save(SETTINGS, merged).await;
        Ok(())
    }

    pub fn history(&self) -> Vec<String> {
        self.kept().history.clone()
    }

    /// Puts an input at the end; one that is there already moves.
    pub async fn add_to_history(&self, input: &str) {
        if input.is_empty() {
            return;
        }
        let input = clipped(input.to_string());
        put_last(&mut self.kept().history, &input, HISTORY_MAX);
        // What cannot be written stays in memory, as in `save`.
        let _ = self.store.push(HISTORY, &json!(input), HISTORY_MAX as u32).await;
    }

    /// Models that answered when tried.
    pub fn validated(&self) -> Vec<String> {
        self.kept().validated.clone()
    }

    /// Remembers that a model answered, or that it does not any more.
    pub async fn set_validated(&self, id: &str, is_valid: bool) {
        let id = id.to_string();
        if self.kept().validated.contains(&id) == is_valid {
            return;
        }
        let change = move |ids: &mut Vec<String>| match is_valid {
            true => put_last(ids, &id, MODELS_KEPT),
            false => ids.retain(|known| *known != id),
        };
        change(&mut self.kept().validated);
        let changed = move |before: Value| {
            let mut ids = texts(&before);
            change(&mut ids);
            json!(ids)
        };
        self.save(VALIDATED, changed).await;
    }

    /// Keeps what was found, so that the next start knows it at once.
    pub async fn remember_found(&self, found: &Found) {
        let reachable = found.providers.iter().filter(|it| it.state == State::Reachable);
        let rows: Map<String, Value> = reachable.map(row_of).collect();
        self.save(FOUND, move |_| Value::Object(rows)).await;
    }

    /// What was found last time, at the servers that are still configured.
    pub fn recall_found(&self, config: &Config) -> Found {
        let found = self.kept().found.clone();
        let providers = config.endpoints.iter().map(|configured| {
            let row = &found[&configured.endpoint.id];
            let is_same = row["url"] == configured.endpoint.base_url;
            let models = if is_same { texts(&row["models"]) } else { vec![] };
            FoundProvider::remembered(configured, models.iter().map(|it| (it.as_str(), None)))
        });
        Found { providers: providers.collect() }
    }

    /// Changes the value under `key`, whatever it is and whoever else writes.
    async fn save(&self, key: &str, change: impl FnOnce(Value) -> Value + Send + 'static) {
        let change = |before: Option<Value>| change(before.unwrap_or_default());
        // What cannot be written stays in memory: a frontend would not survive to hear of it.
        let _ = self.store.update(key, change).await;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Values are replaced whole, so they are sound whatever happened to a holder.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A provider's name, its address and its models.
fn row_of(provider: &FoundProvider) -> (String, Value) {
    let endpoint = &provider.configured.endpoint;
    let models = provider.models.iter().take(MODELS_KEPT);
    let models: Vec<&str> = models.map(|model| model.model.as_str()).collect();
    (endpoint.id.clone(), json!({"url": endpoint.base_url, "models": models}))
}

/// The texts in a list; anything else in it is passed over.
fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(String::from).collect()
}

/// The history as it should be, out of whatever is there: what was taken over stays as it was, under
/// the name of the list, and what was added since comes behind it.
async fn history(store: &Store, home: &Path) -> Vec<String> {
    let added = store.list(HISTORY).await.unwrap_or_default();
    let taken = match added[..] {
        [] => old::take_over(store, HISTORY, home, "history.json", Some("history")).await,
        _ => store.get(HISTORY).await.ok().flatten().unwrap_or_default(),
    };
    let all = texts(&taken).into_iter().chain(texts(&Value::Array(added)));
    let mut history = Vec::new();
    for input in all.filter(|input| !input.is_empty()) {
        put_last(&mut history, &clipped(input), HISTORY_MAX);
    }
    history
}

fn clipped(mut input: String) -> String {
    // No text has more characters than bytes: most are not looked at.
    if input.len() > INPUT_CHARS_MAX
        && let Some((end, _)) = input.char_indices().nth(INPUT_CHARS_MAX)
    {
        input.truncate(end);
    }
    input
}

/// Puts `last` at the end, where it may stand already, and lets go of the first beyond `max`.
fn put_last(list: &mut Vec<String>, last: &str, max: usize) {
    list.retain(|known| known != last);
    list.push(last.to_string());
    list.drain(..list.len().saturating_sub(max));
}
