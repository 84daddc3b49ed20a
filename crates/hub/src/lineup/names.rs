//! From a name, as a person types it, to the model that is meant.

use super::Sitting;
use crate::book::Book;
use crate::config::nearest::nearest;
use crate::config::{Config, Configured, is_model_name};
use crate::discover::Found;
use althing_assembly::demo::{self, Pace};
use althing_gateway::{
    LOCAL_FILE, PROVIDERS, Provider, Target, provider, split_context, split_effort,
};
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

/// The seat that `name` means, with the size of its window where the name ends in one.
pub(super) fn seat(name: &str, book: &Book, found: &Found) -> Result<Sitting> {
    let split = split_context(name);
    let (bare, context_tokens) =
        split.map_err(|problem| Fault::invalid(format!("{}: {problem}", quoted(name))))?;
    Ok(Sitting { context_tokens, ..unsized_seat(&bare, book, found)? })
}

fn unsized_seat(name: &str, book: &Book, found: &Found) -> Result<Sitting> {
    if let Some(seat) = known(name, book).or_else(|| listed(name, book, found)) {
        return seat.and_then(|seat| allowed(seat, book));
    }
    let (bare, _) = split_effort(name);
    if let Some(id) = book.disabled_at(bare).next() {
        return Err(disabled(id, bare));
    }
    Err(match maker(name) {
        Some(row) => unusable(name, row, &book.config),
        None => unknown(name, book, found),
    })
}

/// Whether `name` is understood without asking any provider.
pub(super) fn is_known(name: &str, book: &Book) -> bool {
    // A wrong size is told when the name is looked up.
    let Ok((bare, _)) = split_context(name) else { return true };
    known(&bare, book).or_else(|| listed(&bare, book, book.found())).is_some()
}

/// What `name` means as far as routes and configuration tell; none where only the providers know.
fn known(name: &str, book: &Book) -> Option<Result<Sitting>> {
    let config = &book.config;
    if !is_model_name(name) {
        return Some(Err(Fault::invalid(format!("{} is no name", quoted(name)))));
    }
    if let Some(seat) = alias(name, book) {
        return Some(seat);
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
        if let Some(trouble) = book.entry(id).and_then(|entry| entry.trouble.as_ref()) {
            let text = format!("{}: provider '{id}': {trouble}", quoted(name));
            return Some(Err(Fault::new(Kind::NotFound, text)));
        }
        if let Some(row) = provider(id) {
            return Some(Err(unusable(name, row, config)));
        }
    }
    if let Some(agent) = config.agent(name) {
        return Some(Ok(Sitting::agent(name, agent)));
    }
    in_own_lists(name, book).map(Ok).or_else(|| native(name, book))
}

/// An alias wins over a model of the same name. An effort behind it goes to the targets that have
/// none of their own.
fn alias(name: &str, book: &Book) -> Option<Result<Sitting>> {
    if let Some(targets) = book.behind(name) {
        return Some(targets.map(|targets| Sitting::alias(&book.config.prices, name, targets)));
    }
    let (bare, effort) = split_effort(name);
    let targets = book.behind(bare).filter(|_| effort.is_some())?;
    let with_effort = |mut target: Target| {
        if split_effort(&target.model).1.is_none() {
            target.model = with_effort(&target.model, effort);
        }
        target
    };
    Some(targets.map(|all| {
        let all = all.into_iter().map(with_effort).collect();
        Sitting::alias(&book.config.prices, name, all)
    }))
}

/// At whoever makes the model: the row's own server and those that were added. Where their lists
/// are known, only those that have it count.
fn native(name: &str, book: &Book) -> Option<Result<Sitting>> {
    let row = maker(name)?;
    let is_native = |it: &&Configured| {
        let endpoint = &it.endpoint;
        let is_meant = endpoint.id == row.name || it.is_added();
        endpoint.provider.name == row.name && is_meant && book.is_enabled(&endpoint.id, name)
    };
    let all: Vec<&Configured> = book.config.endpoints.iter().filter(is_native).collect();
    let has = |it: &&&Configured| book.has_model(&it.endpoint.id, name) == Some(true);
    let have: Vec<&Configured> = all.iter().filter(has).copied().collect();
    match if have.is_empty() { all } else { have }.as_slice() {
        [] => None,
        [one] => Some(Ok(Sitting::new(&book.config.prices, &one.endpoint, name, None))),
        several => {
            let ids = several.iter().map(|it| format!("{}:{name}", it.endpoint.id));
            Some(Err(ambiguous(name, &ids.collect::<Vec<_>>())))
        }
    }
}

/// A seat whose model may be used; of an alias only such targets are left by now.
fn allowed(seat: Sitting, book: &Book) -> Result<Sitting> {
    let off = seat.targets.iter().find(|it| !book.is_enabled(&it.endpoint.id, &it.model));
    match off {
        None => Ok(seat),
        Some(target) => Err(disabled(&target.endpoint.id, split_effort(&target.model).0)),
    }
}

fn disabled(id: &str, model: &str) -> Fault {
    let name = format!("{id}:{model}");
    let text = format!(
        "{}: this model is disabled; `althing models enable {name}` enables it",
        quoted(&name)
    );
    Fault::new(Kind::UnknownModel, text)
}

fn ambiguous(name: &str, ids: &[String]) -> Fault {
    Fault::invalid(format!("{} can be {}; name one", quoted(name), ids.join(" or ")))
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
fn in_own_lists(name: &str, book: &Book) -> Option<Sitting> {
    let (bare, effort) = split_effort(name);
    let of_one = |it: &Configured| {
        let by_id = it.models.iter().find(|entry| entry.id == bare);
        let by_display = || {
            let same = |display: &String| display.eq_ignore_ascii_case(bare);
            it.models.iter().find(|entry| entry.display.as_ref().is_some_and(same))
        };
        let entry = by_id.or_else(by_display)?;
        let model = with_effort(&entry.id, effort);
        let display = entry.display.as_deref();
        let seat = Sitting::new(&book.config.prices, &it.endpoint, &model, display);
        Some((seat, book.is_enabled(&it.endpoint.id, &entry.id)))
    };
    let seats: Vec<_> = book.config.endpoints.iter().filter_map(of_one).collect();
    // One that is disabled everywhere is named all the same, and refused.
    let at = seats.iter().position(|(_, is_enabled)| *is_enabled).unwrap_or(0);
    seats.into_iter().nth(at).map(|(seat, _)| seat)
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
fn listed(name: &str, book: &Book, found: &Found) -> Option<Result<Sitting>> {
    let (bare, effort) = split_effort(name);
    let latest = format!("{bare}:latest");
    let by_id = |model: &str| model == bare || model == latest;
    let mut hits: Vec<_> = found.models().filter(|(_, it)| by_id(&it.model)).collect();
    if hits.is_empty() {
        hits.extend(found.models().filter(|(_, it)| it.display.eq_ignore_ascii_case(bare)));
    }
    if hits.is_empty() {
        // A file is one model, so its provider's name is enough.
        let is_file = |it: &Provider| it.name == LOCAL_FILE.name;
        hits.extend(found.models().filter(|(provider, _)| {
            provider.id() == bare && is_file(provider.configured.endpoint.provider)
        }));
    }
    match hits.as_slice() {
        [] => None,
        [(provider, it)] => {
            let model = with_effort(&it.model, effort);
            let endpoint = &provider.configured.endpoint;
            Some(Ok(Sitting::new(&book.config.prices, endpoint, &model, Some(&it.display))))
        }
        several => {
            let ids: Vec<String> = several.iter().map(|(_, it)| it.id.clone()).collect();
            Some(Err(ambiguous(name, &ids)))
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

fn unknown(name: &str, book: &Book, found: &Found) -> Fault {
    let config = &book.config;
    let own = config.endpoints.iter().flat_map(|it| it.models.iter().map(|it| it.id.as_str()));
    let listed = found.models().flat_map(|(_, it)| [it.model.as_str(), it.id.as_str()]);
    let aliases = book.routes.keys().map(String::as_str);
    let preferred = config.endpoints.iter().flat_map(|it| it.endpoint.provider.preferred);
    let (bare, _) = split_effort(name);
    let near =
        nearest(bare, aliases.chain(own).chain(listed).chain(preferred.copied()), NEAREST_MAX);
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
