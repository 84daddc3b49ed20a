//! From a name, as a person types it, to the model that is meant.

use super::Sitting;
use crate::config::nearest::nearest;
use crate::config::{Config, Configured, is_model_name};
use crate::discover::Found;
use althing_assembly::demo::{self, Pace};
use althing_gateway::{PROVIDERS, Provider, provider, split_effort};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};

/// Names that are proposed for an unknown one.
const NEAREST_MAX: usize = 3;
/// Characters of an unknown name that are repeated.
const SHOWN_CHARS_MAX: usize = 80;

/// How the models of a provider begin, so that new ones need no entry here.
const PREFIXES: &[(&str, &str)] = &[
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "google"),
    ("grok-", "xai"),
];

/// The seat that `name` means.
pub(super) fn seat(name: &str, config: &Config, found: Option<&Found>) -> Result<Sitting> {
    if let Some(seat) = known(name, config) {
        return seat;
    }
    if let Some(seat) = found.and_then(|found| listed(name, config, found)) {
        return seat;
    }
    Err(match maker(name) {
        Some(row) => unusable(name, row, config),
        None => unknown(name, config, found),
    })
}

/// What `name` means as far as the configuration alone tells; none where only the providers know.
pub(super) fn known(name: &str, config: &Config) -> Option<Result<Sitting>> {
    if !is_model_name(name) {
        return Some(Err(Fault::invalid(format!("models: {} is no name", quoted(name)))));
    }
    if let Some(voice) = name.strip_prefix(demo::PREFIX) {
        return Some(demo_voice(voice));
    }
    if let Some((id, model)) = name.split_once(':').filter(|(_, model)| !model.is_empty()) {
        if let Some(configured) = config.endpoint(id) {
            return Some(Ok(Sitting::new(
                &config.prices,
                &configured.endpoint,
                model,
                own_name(configured, model),
            )));
        }
        if let Some(row) = provider(id) {
            return Some(Err(unusable(name, row, config)));
        }
    }
    let native = || {
        let configured = config.endpoint(maker(name)?.name)?;
        Some(Sitting::new(&config.prices, &configured.endpoint, name, None))
    };
    in_own_lists(name, config).or_else(native).map(Ok)
}

fn demo_voice(name: &str) -> Result<Sitting> {
    if demo::voice(name, Pace::default()).is_some() {
        return Ok(Sitting::demo(name));
    }
    let voices: Vec<String> =
        demo::VOICES.iter().map(|voice| format!("{}{}", demo::PREFIX, voice.name)).collect();
    let text = format!("{} is no demo voice; try {}", quoted(name), voices.join(", "));
    Err(Fault::new(Kind::UnknownModel, text))
}

/// By id or shown name in the person's own lists; the first provider that has it wins.
fn in_own_lists(name: &str, config: &Config) -> Option<Sitting> {
    let (bare, effort) = split_effort(name);
    config.endpoints.iter().find_map(|it| {
        let by_id = it.models.iter().find(|entry| entry.id == bare);
        let by_display = || {
            let same = |display: &String| display.eq_ignore_ascii_case(bare);
            it.models.iter().find(|entry| entry.display.as_ref().is_some_and(same))
        };
        let entry = by_id.or_else(by_display)?;
        let model = with_effort(&entry.id, effort);
        Some(Sitting::new(&config.prices, &it.endpoint, &model, entry.display.as_deref()))
    })
}

/// The provider whose model this is by its looks. A tag or a maker's name before it means that
/// somebody else serves it: `gpt-oss:20b`, `openai/gpt-5.1`.
fn maker(name: &str) -> Option<&'static Provider> {
    let (bare, _) = split_effort(name);
    if let Some(row) = PROVIDERS.iter().find(|row| row.preferred.contains(&bare)) {
        return Some(row);
    }
    let elsewhere = bare.contains([':', '/', ' ']) || bare.starts_with("gpt-oss");
    let (_, row) = PREFIXES.iter().find(|(start, _)| !elsewhere && begins(bare, start))?;
    provider(row)
}

/// `o3` and `o3-mini`, but not `o3x`.
fn begins(name: &str, start: &str) -> bool {
    let rest = name.strip_prefix(start);
    rest.is_some_and(|rest| start.ends_with('-') || rest.is_empty() || rest.starts_with('-'))
}

/// By id or shown name in what the providers list; several providers are too many.
fn listed(name: &str, config: &Config, found: &Found) -> Option<Result<Sitting>> {
    let (bare, effort) = split_effort(name);
    let latest = format!("{bare}:latest");
    let by_id = |model: &str| model == bare || model == latest;
    let mut hits: Vec<_> = found.models().filter(|(_, it)| by_id(&it.model)).collect();
    if hits.is_empty() {
        hits.extend(found.models().filter(|(_, it)| it.display.eq_ignore_ascii_case(bare)));
    }
    match hits.as_slice() {
        [] => None,
        [(provider, it)] => {
            let model = with_effort(&it.model, effort);
            let endpoint = &provider.configured.endpoint;
            Some(Ok(Sitting::new(&config.prices, endpoint, &model, Some(&it.display))))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|(_, it)| it.id.as_str()).collect();
            let text = format!("models: {} can be {}; name one", quoted(name), ids.join(" or "));
            Some(Err(Fault::invalid(text)))
        }
    }
}

fn with_effort(model: &str, effort: Option<&str>) -> String {
    effort.map_or(model.to_string(), |effort| format!("{model}@{effort}"))
}

fn own_name<'a>(configured: &'a Configured, model: &str) -> Option<&'a str> {
    let (bare, _) = split_effort(model);
    configured.models.iter().find(|entry| entry.id == bare)?.display.as_deref()
}

/// A provider of ours that is not configured, or not well enough.
fn unusable(name: &str, row: &Provider, config: &Config) -> Fault {
    let is_its_own = |name: &str| {
        name.starts_with(&format!("{}_", row.env_prefix))
            || name.starts_with(&format!("providers.{}.", row.name))
            || row.key_env.contains(&name)
    };
    let kind = if row.needs_key { Kind::BadKey } else { Kind::NotFound };
    let why = match config.warnings.iter().find(|warning| is_its_own(&warning.name)) {
        Some(warning) => format!("cannot be used: {warning}"),
        None if row.needs_key => format!("has no key: {}", row.how_to_open()),
        None => format!("is not configured: set {}_BASE_URL", row.env_prefix),
    };
    Fault::new(kind, format!("{}: {} {why}", quoted(name), row.title))
}

fn unknown(name: &str, config: &Config, found: Option<&Found>) -> Fault {
    let own = config.endpoints.iter().flat_map(|it| it.models.iter().map(|it| it.id.as_str()));
    let listed = found.into_iter().flat_map(Found::models);
    let listed = listed.flat_map(|(_, it)| [it.model.as_str(), it.id.as_str()]);
    let preferred = config.endpoints.iter().flat_map(|it| it.endpoint.provider.preferred);
    let (bare, _) = split_effort(name);
    let near = nearest(bare, own.chain(listed).chain(preferred.copied()), NEAREST_MAX);
    let near = match near.as_slice() {
        [] => String::new(),
        near => format!(" (did you mean {}?)", near.join(" or ")),
    };
    let text =
        format!("{}: no such model is found{near}; `althing models` lists all", quoted(name));
    Fault::new(Kind::UnknownModel, text)
}

fn quoted(name: &str) -> String {
    format!("'{}'", one_line(name, SHOWN_CHARS_MAX))
}
