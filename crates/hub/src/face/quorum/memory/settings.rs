//! The settings of a person, one row each.

use super::MODELS_KEPT;
use crate::config::LANGUAGES;
use crate::face::quorum::discussion::synthesizer;
use crate::face::quorum::params::{method_name, model_ids, one_of, turns};
use althing_stdx::Result;
use serde_json::{Map, Value, json};

/// A setting: its name and what its values must be.
struct Setting {
    name: &'static str,
    check: fn(&str, &Value) -> Result<()>,
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: "selected_models",
        check: |name, value| model_ids(name, value, MODELS_KEPT).map(drop),
    },
    Setting { name: "discussion_method", check: |name, value| method_name(name, value).map(drop) },
    Setting { name: "synthesizer_mode", check: |name, value| synthesizer(name, value).map(drop) },
    Setting { name: "max_turns", check: |name, value| turns(name, value).map(drop) },
    Setting {
        name: "response_language",
        check: |name, value| one_of(name, value, LANGUAGES.iter().copied()).map(drop),
    },
];

/// What a frontend is told where nothing is set.
pub(super) fn defaults() -> Map<String, Value> {
    let pairs = [
        ("selected_models", json!([])),
        ("discussion_method", json!("standard")),
        ("synthesizer_mode", json!("first")),
        ("max_turns", Value::Null),
    ];
    pairs.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
}

/// The name of a language by its code.
pub(super) fn language(code: &Value) -> Option<String> {
    one_of("response_language", code, LANGUAGES.iter().copied()).ok().map(str::to_string)
}

/// What of `given` is to be changed: the settings that exist. An error where a value is wrong.
pub(super) fn patch(given: Map<String, Value>) -> Result<Map<String, Value>> {
    let mut patch = Map::new();
    for (name, value) in given {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else { continue };
        if !value.is_null() {
            (setting.check)(&name, &value)?;
        }
        patch.insert(name, value);
    }
    Ok(patch)
}

/// Puts the values of `patch` into `all`; null takes one out.
pub(super) fn merge(all: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match value {
            Value::Null => drop(all.shift_remove(name)),
            value => drop(all.insert(name.clone(), value.clone())),
        }
    }
}

/// The settings of `value` that are what they should be, out of whatever is there.
pub(super) fn sound(value: &Value) -> Map<String, Value> {
    let value_of = |setting: &Setting| {
        let value = value.get(setting.name)?;
        (setting.check)(setting.name, value).ok()?;
        Some((setting.name.to_string(), value.clone()))
    };
    SETTINGS.iter().filter_map(value_of).collect()
}
