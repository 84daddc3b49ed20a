//! `models`: what can be used, from where, and if not, why.

use super::reach::ask_service;
use super::{Desk, print};
use crate::args::{self, ModelAction};
use crate::terminal::table::table;
use althing_assembly::demo;
use althing_chat::{Window, WindowSource};
use althing_hub::book::Entry;
use althing_hub::discover::{self, FoundModel, FoundProvider, ModelSource, State};
use althing_hub::windows;
use althing_stdx::{Fault, Result, text::one_line};
use std::collections::HashMap;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
/// Models of a provider that are listed unless all are wanted.
const SHOWN: usize = 12;

pub async fn models(args: args::Models) -> Result<()> {
    match args.action {
        None => list(args.list).await,
        Some(ModelAction::List(args)) => list(args).await,
        Some(ModelAction::Enable(args)) => enable(&args.model, true).await,
        Some(ModelAction::Disable(args)) => enable(&args.model, false).await,
    }
}

async fn enable(name: &str, enabled: bool) -> Result<()> {
    let Some((provider, model)) = name.split_once(':') else {
        return Err(Fault::invalid(format!("model: want provider:model, not '{name}'")));
    };
    let desk = Desk::open();
    ask_service!(desk.reach().await?, set_model_enabled(provider, model, enabled))?;
    print(&format!("{name} is {}.\n", if enabled { "enabled" } else { "disabled" }))
}

async fn list(args: args::ModelList) -> Result<()> {
    let desk = Desk::open();
    desk.warn();
    let library = desk.library_to_read().await?;
    let book = library.book();
    let found = discover::discover(&book, library.gateway(), PATIENCE).await;
    let limit = if args.all || args.json { usize::MAX } else { SHOWN };
    let windows = windows::found_windows(&library, &found, limit).await;
    if args.json {
        let lines = found.providers.iter().flat_map(|it| json_lines(it, &windows));
        return print(&lines.collect::<String>());
    }
    let head = ["MODEL", "NAME", "CONTEXT", "FROM"].map(String::from).to_vec();
    let windows = &windows;
    let models = found
        .providers
        .iter()
        .flat_map(|provider| all(provider).take(limit).map(move |it| row(provider, it, windows)));
    let voices = demo::VOICES.iter().map(|voice| {
        vec![
            format!("demo:{}", voice.name),
            voice.display.into(),
            String::new(),
            "built in: scripted, not a model".into(),
        ]
    });
    let rows: Vec<Vec<String>> = [head].into_iter().chain(models).chain(voices).collect();
    let notes = found.providers.iter().flat_map(|it| [note(it, limit), disabled(it)]).flatten();
    let notes: Vec<String> = notes.chain(book.entries.iter().filter_map(unused)).collect();
    let gap = if notes.is_empty() { "" } else { "\n" };
    let notes: String = notes.iter().map(|note| format!("{}\n", one_line(note, 300))).collect();
    print(&format!("{}{gap}{notes}", table(&rows)))
}

/// Every model of a provider and whether it may be used; those that may come first.
fn all(provider: &FoundProvider) -> impl Iterator<Item = (&FoundModel, bool)> {
    let enabled = provider.models.iter().map(|model| (model, true));
    enabled.chain(provider.disabled.iter().map(|model| (model, false)))
}

fn row(
    provider: &FoundProvider,
    (model, is_enabled): (&FoundModel, bool),
    windows: &HashMap<String, Window>,
) -> Vec<String> {
    let from = match (model.source, &provider.state) {
        (ModelSource::Listed, _) => provider.configured.endpoint.who(),
        (ModelSource::Configured, State::Reachable) => {
            format!("{}, your list", provider.configured.endpoint.who())
        }
        (ModelSource::Configured, _) => {
            format!("{}, your list, not checked", provider.configured.endpoint.who())
        }
    };
    let state = if is_enabled { "" } else { ", disabled" };
    let window = windows.get(&model.id).map(show_window).unwrap_or_default();
    vec![model.id.clone(), model.display.clone(), window, format!("{from}{state}")]
}

/// Shows the tokens of a window and who says so.
fn show_window(window: &Window) -> String {
    let Window { tokens, source } = window;
    match source {
        WindowSource::Configured => format!("{tokens} (set)"),
        WindowSource::Provider => tokens.to_string(),
        WindowSource::Table => format!("{tokens} (table)"),
        WindowSource::Default => format!("{tokens} (default)"),
    }
}

/// Why a provider shows none or not all of its models.
fn note(provider: &FoundProvider, limit: usize) -> Option<String> {
    let who = provider.configured.endpoint.who();
    match &provider.state {
        // A local server that nobody set up and that is not there is no news.
        State::Unreachable(_) | State::Stranger if !provider.configured.explicit => None,
        State::Unreachable(fault) => Some(format!("{who}: {}", fault.message)),
        State::Stranger => Some(format!("{who}: another program answers there")),
        State::NotProbed => Some(format!("{who}: not asked")),
        State::Reachable => match all(provider).count() {
            0 => Some(format!("{who}: it has no chat model")),
            count => {
                let more = count.saturating_sub(limit);
                (more > 0).then(|| format!("{who}: {more} more; --all shows them"))
            }
        },
    }
}

/// How to use again what was disabled.
fn disabled(provider: &FoundProvider) -> Option<String> {
    let FoundModel { id, .. } = provider.disabled.first()?;
    let (who, count) = (provider.configured.endpoint.who(), provider.disabled.len());
    let which = if count == 1 { "it" } else { "the first of them" };
    Some(format!("{who}: {count} disabled; `althing models enable {id}` enables {which}"))
}

/// Why a provider that was added has no models at all.
fn unused(entry: &Entry) -> Option<String> {
    let trouble = entry.trouble.as_ref()?;
    Some(format!("{} ({}, added): {trouble}", entry.row.name, entry.row.id))
}

fn json_lines(provider: &FoundProvider, windows: &HashMap<String, Window>) -> Vec<String> {
    let reachable = provider.state == State::Reachable;
    let line = |(model, is_enabled): (&FoundModel, bool)| {
        serde_json::json!({
            "id": model.id,
            "provider": provider.configured.endpoint.id,
            "model": model.model,
            "display_name": model.display,
            "family": model.family,
            "listed": model.source == ModelSource::Listed,
            "reachable": reachable,
            "enabled": is_enabled,
            "context_tokens": windows.get(&model.id).map(|window| window.tokens),
            "context_source": windows.get(&model.id).map(|window| window.source),
        })
    };
    all(provider).map(|it| format!("{}\n", line(it))).collect()
}
