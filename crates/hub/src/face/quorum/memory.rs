//! What the backend remembers for its frontends: settings, the history of inputs, the models that
//! were tried, the models that were found. Kept in the store, taken over once from Quorum's own
//! files, and read so that nothing on disk can make a call fail.

use super::params::{Params, kind_of, model_id, one_of, wrong};
use crate::config::Config;
use crate::discover::{Found, FoundProvider, State};
use crate::store::Store;
use althing_assembly::ALL;
use althing_stdx::{Result, text::clip};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Inputs that are kept, the most recent last.
const HISTORY_MAX: usize = 100;
/// Characters of an input; a longer one is clipped.
const INPUT_CHARS_MAX: usize = 50_000;
/// Models remembered as tried, and as found per provider.
const MODELS_KEPT: usize = 500;
/// Bytes of a file of Quorum's; a larger one is not taken over.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const SETTINGS: &str = "quorum.settings";
const HISTORY: &str = "quorum.history";
const VALIDATED: &str = "quorum.validated";
const FOUND: &str = "quorum.found";

/// Languages a frontend may choose: code and name.
const LANGUAGES: &[(&str, &str)] = &[
    ("en", "English"),
    ("sv", "Swedish"),
    ("de", "German"),
    ("fr", "French"),
    ("es", "Spanish"),
    ("it", "Italian"),
];

pub(super) struct Memory {
    store: Store,
    state: Mutex<Kept>,
}

/// What is kept, in memory as well, so that reading it waits for nothing.
#[derive(Default)]
struct Kept {
    settings: Map<String, Value>,
    history: Vec<String>,
    validated: Vec<String>,
    found: Value,
}

impl Memory {
    /// Reads what there is. What cannot be read counts as not there.
    pub async fn open(store: Store, home: &Path) -> Memory {
        let folder = home.join(".quorum");
        let old = |file: &'static str| read_file(&folder.join(file));
        let settings = take_over(&store, SETTINGS, || old("settings.json")).await;
        let history = take_over(&store, HISTORY, || {
            old("history.json").get("history").cloned().unwrap_or_default()
        })
        .await;
        let validated = take_over(&store, VALIDATED, || {
            old("validated_models.json").get("models").cloned().unwrap_or_default()
        })
        .await;
        let found = store.get(FOUND).await.ok().flatten().unwrap_or_default();
        let kept = Kept {
            settings: sound_settings(&settings),
            history: texts(&history),
            validated: texts(&validated),
            found,
        };
        Memory { store, state: Mutex::new(kept) }
    }

    /// Every setting: the four of the protocol always, the language where it is set.
    pub fn settings(&self) -> Map<String, Value> {
        let mut all = Map::new();
        all.insert("selected_models".into(), json!([]));
        all.insert("discussion_method".into(), json!("standard"));
        all.insert("synthesizer_mode".into(), json!("first"));
        all.insert("max_turns".into(), Value::Null);
        all.extend(self.kept().settings.clone());
        all
    }

    /// A setting the person chose.
    pub fn setting(&self, name: &str) -> Option<Value> {
        self.kept().settings.get(name).cloned()
    }

    /// The language the person chose, by its name.
    pub fn language(&self) -> Option<String> {
        let code = self.setting("response_language")?;
        let language = LANGUAGES.iter().find(|(known, _)| code == *known);
        language.map(|(_, name)| name.to_string())
    }

    /// Checks and merges settings: unknown ones are ignored, null clears one, and where one is wrong
    /// nothing is saved.
    pub async fn save_settings(&self, params: Params) -> Result<()> {
        let mut patch = Map::new();
        for (name, value) in params.0 {
            if !value.is_null() && !check_setting(&name, &value)? {
                continue;
            }
            patch.insert(name, value);
        }
        let whole = self.store.merge(SETTINGS, &Value::Object(patch)).await?;
        self.kept().settings = sound_settings(&whole);
        Ok(())
    }

    pub fn history(&self) -> Vec<String> {
        self.kept().history.clone()
    }

    /// Puts an input at the end; one that is there already moves.
    pub async fn add_to_history(&self, input: &str) -> Result<()> {
        if input.is_empty() {
            return Ok(());
        }
        let input: String = input.chars().take(INPUT_CHARS_MAX).collect();
        let add = move |before: Option<Value>| {
            json!(with_last(texts(&before.unwrap_or_default()), input, HISTORY_MAX))
        };
        let whole = self.store.update(HISTORY, add).await?;
        self.kept().history = texts(&whole);
        Ok(())
    }

    /// Models that answered when tried.
    pub fn validated(&self) -> Vec<String> {
        self.kept().validated.clone()
    }

    /// Remembers that a model answered, or that it does not any more.
    pub async fn set_validated(&self, id: &str, is_valid: bool) -> Result<()> {
        if self.kept().validated.iter().any(|known| known == id) == is_valid {
            return Ok(());
        }
        let id = id.to_string();
        let change = move |before: Option<Value>| {
            let mut ids = texts(&before.unwrap_or_default());
            ids.retain(|known| *known != id);
            json!(if is_valid { with_last(ids, id, MODELS_KEPT) } else { ids })
        };
        let whole = self.store.update(VALIDATED, change).await?;
        self.kept().validated = texts(&whole);
        Ok(())
    }

    /// Keeps what was found, so that the next start knows it at once.
    pub async fn remember_found(&self, found: &Found) {
        let reachable =
            found.providers.iter().filter(|provider| provider.state == State::Reachable);
        let rows: Map<String, Value> = reachable
            .map(|provider| {
                let endpoint = &provider.configured.endpoint;
                let models: Vec<&str> = provider
                    .models
                    .iter()
                    .take(MODELS_KEPT)
                    .map(|model| model.model.as_str())
                    .collect();
                (endpoint.id.clone(), json!({"url": endpoint.base_url, "models": models}))
            })
            .collect();
        // A list that is not remembered is looked for again.
        let _ = self.store.set(FOUND, &Value::Object(rows)).await;
    }

    /// What was found last time, at the servers that are still configured.
    pub fn recall_found(&self, config: &Config) -> Found {
        let found = self.kept().found.clone();
        let providers = config.endpoints.iter().map(|configured| {
            let row = &found[&configured.endpoint.id];
            let models = if row["url"] == configured.endpoint.base_url {
                texts(&row["models"])
            } else {
                vec![]
            };
            FoundProvider::remembered(configured, &models)
        });
        Found { providers: providers.collect() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Values are replaced whole, so they are sound whatever happened to a holder.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The value under `key`; where there is none yet, Quorum's own, which becomes ours.
async fn take_over(store: &Store, key: &str, old: impl FnOnce() -> Value) -> Value {
    match store.get(key).await {
        Ok(Some(value)) => value,
        Err(_) => Value::Null,
        Ok(None) => {
            let value = old();
            if !value.is_null() {
                // What cannot be saved now is read again next time.
                let _ = store.set(key, &value).await;
            }
            value
        }
    }
}

fn read_file(path: &Path) -> Value {
    let size = std::fs::metadata(path).map_or(0, |file| file.len());
    if size == 0 || size > FILE_BYTES_MAX {
        return Value::Null;
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_str(&String::from_utf8_lossy(&bytes)).unwrap_or_default()
}

/// The texts in a list; anything else in it is passed over.
fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(String::from).collect()
}

fn with_last(mut list: Vec<String>, last: String, max: usize) -> Vec<String> {
    list.retain(|known| *known != last);
    list.push(last);
    list.split_off(list.len().saturating_sub(max))
}

/// The settings that are what they should be.
fn sound_settings(value: &Value) -> Map<String, Value> {
    let all = value.as_object().cloned().unwrap_or_default();
    all.into_iter().filter(|(name, value)| check_setting(name, value).unwrap_or(false)).collect()
}

/// Whether a setting is known; an error where its value is wrong.
fn check_setting(name: &str, value: &Value) -> Result<bool> {
    let word = || {
        value
            .as_str()
            .ok_or_else(|| wrong(name, &format!("must be a string, got {}", kind_of(value))))
    };
    match name {
        "selected_models" => {
            let list = value
                .as_array()
                .ok_or_else(|| wrong(name, &format!("must be a list, got {}", kind_of(value))))?;
            if list.len() > MODELS_KEPT {
                return Err(wrong(name, &format!("cannot exceed {MODELS_KEPT} models")));
            }
            list.iter()
                .enumerate()
                .try_for_each(|(at, id)| model_id(&format!("{name}[{at}]"), id).map(drop))?;
        }
        "discussion_method" => {
            let methods: Vec<&str> = ALL.iter().map(|method| method.name).collect();
            one_of(name, word()?, &methods)?;
        }
        "synthesizer_mode" => drop(one_of(name, word()?, &["first", "random", "rotate"])?),
        "max_turns" => drop(max_turns(name, value)?),
        "response_language" => {
            let codes: Vec<&str> = LANGUAGES.iter().map(|(code, _)| *code).collect();
            one_of(name, word()?, &codes)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A number of turns from 1 to 100.
pub(super) fn max_turns(name: &str, value: &Value) -> Result<u32> {
    let turns = value.as_u64().filter(|turns| (1..=100).contains(turns));
    let shown = clip(&value.to_string(), 40);
    turns
        .map(|turns| turns as u32)
        .ok_or_else(|| wrong(name, &format!("must be an integer between 1 and 100, not {shown}")))
}
