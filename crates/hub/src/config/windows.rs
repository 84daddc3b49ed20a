//! `[model_context_tokens]`: how many tokens single models have, where the person knows better than
//! the provider and the table.

use super::file::TomlFile;
use super::settings::is_model_name;
use super::source::{Row, Sourced, Warning, shown};
use super::{Config, Configured};
use althing_gateway::{Endpoint, WindowSetting, parse_tokens, split_effort};
use toml::Value;

/// The name of the section.
pub(super) const SECTION: &str = "model_context_tokens";
/// Models that one file may name; the rest is reported.
const MODELS_MAX: usize = 500;
/// Characters of a name that a warning shows.
const NAME_CHARS_MAX: usize = 80;

/// The window of one model, as the person set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWindow {
    /// An endpoint's id, or the provider it is like.
    pub place: String,
    pub model: String,
    pub tokens: u64,
}

/// Reads the section. A wrong entry is a warning, and as if it were not there.
pub(super) fn read(file: &TomlFile, warnings: &mut Vec<Warning>) -> Sourced<Vec<ModelWindow>> {
    let source = file.source();
    let mut windows = Vec::new();
    for (at, (name, value)) in file.model_windows().enumerate() {
        match entry(at, name, value) {
            Ok(window) => windows.push(window),
            Err(problem) => {
                let key = format!("{SECTION}.\"{}\"", shown(name, NAME_CHARS_MAX));
                warnings.push(Warning::new(&key, &source, problem));
            }
        }
    }
    match windows.is_empty() {
        true => Sourced::default(vec![]),
        false => Sourced { value: windows, source },
    }
}

fn entry(at: usize, name: &str, value: &Value) -> Result<ModelWindow, String> {
    if at >= MODELS_MAX {
        return Err(format!("is one model too many; there may be {MODELS_MAX}"));
    }
    let parts =
        name.split_once(':').filter(|(place, model)| !place.is_empty() && is_model_name(model));
    let Some((place, model)) = parts else { return Err("must be named provider:model".into()) };
    let text = value.as_integer().map(|number| number.to_string());
    let text = text.or_else(|| value.as_str().map(str::to_string)).unwrap_or_default();
    Ok(ModelWindow { place: place.into(), model: model.into(), tokens: parse_tokens(&text)? })
}

/// One row for each model, as it is in force.
pub(super) fn rows(config: &Config) -> impl Iterator<Item = Row> {
    let windows = &config.model_context_tokens;
    windows.iter().map(|ModelWindow { place, model, tokens }| {
        Row::new(format!("{SECTION}.\"{place}:{model}\""), tokens, &windows.source)
    })
}

impl Config {
    /// Returns what the person set for `model` at `endpoint`: for the model, else for the provider,
    /// else for all.
    pub(crate) fn window_setting(&self, endpoint: &Endpoint, model: &str) -> Option<WindowSetting> {
        let (bare, _) = split_effort(model);
        let place = [endpoint.id.as_str(), endpoint.provider.name];
        let of_model = place.iter().find_map(|place| {
            let is_it =
                |it: &&ModelWindow| it.place == *place && it.model.eq_ignore_ascii_case(bare);
            self.model_context_tokens.iter().find(is_it)
        });
        let of_provider =
            || self.endpoint(&endpoint.id).and_then(|it: &Configured| it.context_tokens.as_ref());
        let of_many = || of_provider().map(|it| it.value).or(*self.context_tokens);
        match of_model {
            Some(window) => Some(WindowSetting::Exact(window.tokens)),
            None => of_many().map(WindowSetting::AtMost),
        }
    }
}
