//! How many tokens each seat has: what the person set, over what its server says, over the table and
//! the default. Servers are asked together, for as long as a person hardly notices.

#[cfg(test)]
mod tests;

use crate::book::{Book, Library};
use crate::config::Config;
use crate::discover::{Found, FoundProvider, LOCAL_WAIT, State, listing};
use crate::lineup::Sitting;
use crate::log::now_ms;
use althing_agents::Adapter;
use althing_chat::{Window, WindowSource};
use althing_gateway::window::Inspect;
use althing_gateway::{
    Endpoint, Listed, ModelFacts, Target, WindowSetting, agent_window, decide_window,
    needs_inspection,
};
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a server elsewhere may take to say how many tokens its models take; then the table or
/// the default counts.
const REMOTE_WAIT: Duration = Duration::from_millis(1_500);

/// A model whose window is wanted.
struct Asked<'a> {
    endpoint: &'a Arc<Endpoint>,
    model: &'a str,
    set: Option<WindowSetting>,
    /// Whether its server may be asked.
    may_ask: bool,
}

/// Decides the window of every seat; of several targets the smallest counts, since any of them may
/// answer.
pub(crate) async fn seat_windows(library: &Library, sittings: &[Sitting]) -> Vec<Window> {
    let book = library.book();
    let targets = sittings.iter().flat_map(|sitting| {
        sitting.targets.iter().map(|target| Asked {
            endpoint: &target.endpoint,
            model: &target.model,
            set: setting(&book.config, sitting, &target.endpoint, &target.model),
            may_ask: true,
        })
    });
    let asked: Vec<Asked> = targets.collect();
    let mut windows = decide(library, &book, &asked).await.into_iter();
    let window = |sitting: &Sitting| {
        let of_targets = windows.by_ref().take(sitting.targets.len());
        let smallest = of_targets.min_by_key(|window| window.tokens);
        smallest.unwrap_or_else(|| without_server(&book.config, sitting))
    };
    sittings.iter().map(window).collect()
}

/// Tells whether a server of `sitting` makes the window as large as a request says.
pub(crate) fn is_sized_by_request(sitting: &Sitting) -> bool {
    sitting.targets.iter().any(|it| it.endpoint.provider.inspect == Inspect::Ollama)
}

/// Decides the window of a single chat as that of a seat, so that no model is loaded again between
/// the two. Only servers count that are told of it; none: there is no such server.
pub(crate) async fn chat_tokens(library: &Library, sitting: &Sitting) -> Option<u64> {
    let config = &library.book().config;
    let is_told = |it: &&Target| it.endpoint.provider.inspect == Inspect::Ollama;
    let windows = sitting.targets.iter().filter(is_told).map(|it| async move {
        let facts = library.gateway().facts(&it.endpoint, &it.model, LOCAL_WAIT).await;
        let set = setting(config, sitting, &it.endpoint, &it.model);
        decide_window(&it.endpoint, &it.model, set, &facts).tokens
    });
    join_all(windows).await.into_iter().min()
}

/// Decides the windows of the first `most` models of every provider, by `provider:model`.
pub async fn found_windows(
    library: &Library,
    found: &Found,
    most: usize,
) -> HashMap<String, Window> {
    let book = library.book();
    let models = |provider: &'_ FoundProvider| {
        let all = provider.models.iter().chain(&provider.disabled).take(most);
        all.cloned().collect::<Vec<_>>()
    };
    let all: Vec<_> = found.providers.iter().map(|it| (it, models(it))).collect();
    let mut asked = Vec::new();
    for (provider, models) in &all {
        let endpoint = &provider.configured.endpoint;
        asked.extend(models.iter().map(|model| Asked {
            endpoint,
            model: &model.model,
            set: book.config.window_setting(endpoint, &model.model),
            may_ask: provider.state == State::Reachable,
        }));
    }
    let ids = all.iter().flat_map(|(_, models)| models.iter().map(|model| model.id.clone()));
    let windows = decide(library, &book, &asked).await;
    ids.zip(windows).collect()
}

/// Returns the window that the person wants for a seat; none: whatever its server has.
pub(crate) fn wanted_tokens(config: &Config, sitting: &Sitting) -> Option<u64> {
    let of_target = || {
        let target = sitting.targets.first()?;
        config.window_setting(&target.endpoint, &target.model).map(WindowSetting::tokens)
    };
    sitting.context_tokens.or_else(of_target)
}

fn setting(
    config: &Config,
    sitting: &Sitting,
    endpoint: &Endpoint,
    model: &str,
) -> Option<WindowSetting> {
    let of_seat = sitting.context_tokens.map(WindowSetting::Exact);
    of_seat.or_else(|| config.window_setting(endpoint, model))
}

/// Decides the window of an agent or a demo voice.
fn without_server(config: &Config, sitting: &Sitting) -> Window {
    let known = match sitting.agent.as_ref().map(|agent| &agent.config.adapter) {
        Some(Adapter::Known(row)) => agent_window(row.name),
        Some(Adapter::Custom(_)) => agent_window(&sitting.id),
        None => Window::UNKNOWN,
    };
    let of_all = || config.context_tokens.map(WindowSetting::AtMost);
    let set = sitting.context_tokens.map(WindowSetting::Exact).or_else(of_all);
    let is_known = known.source != WindowSource::Default;
    set.map_or(known, |set| set.over(is_known.then_some(known)))
}

/// Tells whether the server's list has come and is all that it says about windows.
fn is_told(book: &Book, it: &Asked) -> bool {
    let by_list = matches!(it.endpoint.provider.inspect, Inspect::List | Inspect::File);
    by_list && book.is_in_list(it.endpoint, it.model)
}

/// Keeps a list that had to be fetched, so that the next run need not ask for it.
async fn keep_list(library: &Library, endpoint: &Endpoint, listed: &[Listed]) {
    let is_own = library.book().endpoint(&endpoint.id).is_some_and(|it| it.explicit);
    if is_own && endpoint.provider.inspect == Inspect::List && !listed.is_empty() {
        let models = listing(listed);
        // Nothing is lost where it fails: the next run asks again.
        let _ = library.store().set_listed(&endpoint.id, models, now_ms() as i64).await;
    }
}

/// Asks the servers that have something to say, all at once, and decides in the order of `asked`.
async fn decide(library: &Library, book: &Book, asked: &[Asked<'_>]) -> Vec<Window> {
    let listed = |it: &Asked| book.listed_tokens(it.endpoint, it.model);
    let is_open = |it: &&Asked| {
        it.may_ask
            && !is_told(book, it)
            && needs_inspection(it.endpoint, it.model, it.set, listed(it))
    };
    let mut servers: Vec<(&Arc<Endpoint>, Vec<&str>)> = Vec::new();
    for it in asked.iter().filter(is_open) {
        match servers.iter_mut().find(|(endpoint, _)| endpoint.id == it.endpoint.id) {
            Some((_, models)) if models.contains(&it.model) => {}
            Some((_, models)) => models.push(it.model),
            None => servers.push((it.endpoint, vec![it.model])),
        }
    }
    let inspected = join_all(servers.iter().map(|(endpoint, models)| async move {
        let wait = if endpoint.provider.local { LOCAL_WAIT } else { REMOTE_WAIT };
        let inspected = library.gateway().inspect(endpoint, models, wait).await;
        let listed = inspected.listed.unwrap_or_default();
        book.note_windows(endpoint, &listed);
        keep_list(library, endpoint, &listed).await;
        inspected.models
    }));
    let mut facts: HashMap<(&str, &str), ModelFacts> = HashMap::new();
    for ((endpoint, models), said) in servers.iter().zip(inspected.await) {
        facts.extend(models.iter().map(|model| (endpoint.id.as_str(), *model)).zip(said));
    }
    let window = |it: &Asked| {
        let known = facts.get(&(it.endpoint.id.as_str(), it.model));
        let mut known = known.copied().unwrap_or_default();
        known.trained = known.trained.or_else(|| listed(it));
        decide_window(it.endpoint, it.model, it.set, &known)
    };
    asked.iter().map(window).collect()
}
