//! What can be asked right now: every configured server is asked for its models, all at once and
//! not for long. Nothing here fails: a server that does not answer is a finding.

#[cfg(test)]
mod tests;

use crate::book::Book;
use crate::config::{Configured, is_model_name};
use crate::store::ListedModel;
use althing_gateway::{Gateway, Listed, display_name, family, is_chat_model};
use althing_stdx::Fault;
use althing_stdx::text::clip;
use futures_util::future::join_all;
use std::collections::HashSet;
use std::time::Duration;

/// How long a server on this machine or network may take; one that is there answers at once.
pub(crate) const LOCAL_WAIT: Duration = Duration::from_millis(700);
/// Models kept of one provider; the rest of its list is dropped.
const MODELS_MAX: usize = 500;
/// Characters of a name to show; a longer one is cut.
const DISPLAY_CHARS_MAX: usize = 80;

/// Every provider that was looked for, in the order of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub providers: Vec<FoundProvider>,
}

#[derive(Debug, Clone)]
pub struct FoundProvider {
    pub configured: Configured,
    pub state: State,
    /// The person's own list first, then what the provider lists.
    pub models: Vec<FoundModel>,
    /// What the person disabled: shown, never seated.
    pub disabled: Vec<FoundModel>,
}

/// What came of asking a provider for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Reachable,
    Unreachable(Fault),
    /// Another program answers at the usual address.
    Stranger,
    /// There was no time to ask.
    NotProbed,
}

/// One model that can be seated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// `provider:model`.
    pub id: String,
    pub model: String,
    pub display: String,
    pub family: &'static str,
    pub source: ModelSource,
}

/// Who says that the model is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    Configured,
    Listed,
}

impl FoundProvider {
    /// As written before the colon of its models' ids.
    pub fn id(&self) -> &str {
        &self.configured.endpoint.id
    }
}

impl FoundProvider {
    /// A provider as it was when last asked: its own list and these models.
    pub(crate) fn remembered<'a>(
        configured: &Configured,
        models: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> FoundProvider {
        let own = configured
            .models
            .iter()
            .map(|it| found(configured, &it.id, it.display.as_deref(), ModelSource::Configured));
        let listed = models.into_iter().filter(|(id, _)| is_model_name(id));
        let listed = listed.map(|(id, name)| found(configured, id, name, ModelSource::Listed));
        let mut seen = HashSet::new();
        let models = own.chain(listed).filter(|it| seen.insert(it.model.clone()));
        let models = models.take(MODELS_MAX).collect();
        let (configured, state) = (configured.clone(), State::NotProbed);
        FoundProvider { configured, state, models, disabled: vec![] }
    }

    /// Sorts the models anew by what may be used by now.
    pub(crate) fn sort_out(&mut self, book: &Book) {
        let all = self.models.drain(..).chain(self.disabled.drain(..));
        let id = &self.configured.endpoint.id;
        (self.models, self.disabled) = all.partition(|it| book.is_enabled(id, &it.model));
    }
}

impl Found {
    /// Every model of every provider that can be used.
    pub fn models(&self) -> impl Iterator<Item = (&FoundProvider, &FoundModel)> {
        self.providers.iter().flat_map(|found| found.models.iter().map(move |model| (found, model)))
    }
}

/// Asks every configured server for its models. Takes as long as the slowest, local ones at most
/// 0.7 s and the others at most `patience`; with no patience nobody is asked. What is disabled is
/// set apart.
pub async fn discover(book: &Book, gateway: &Gateway, patience: Duration) -> Found {
    let endpoints = &book.config.endpoints;
    let probes = endpoints.iter().map(|configured| look_at(book, configured, gateway, patience));
    Found { providers: join_all(probes).await }
}

/// Asks one server for its models; what is disabled is set apart.
pub(crate) async fn look_at(
    book: &Book,
    configured: &Configured,
    gateway: &Gateway,
    patience: Duration,
) -> FoundProvider {
    let mut found = probe(book, configured, gateway, patience).await;
    found.sort_out(book);
    found
}

async fn probe(
    book: &Book,
    configured: &Configured,
    gateway: &Gateway,
    patience: Duration,
) -> FoundProvider {
    let (state, listed) = ask(configured, gateway, patience).await;
    book.note_windows(&configured.endpoint, &listed);
    let models = models(configured, &listed);
    FoundProvider { configured: configured.clone(), state, models, disabled: vec![] }
}

/// Asks one server for its models, within `patience` and the wait that suits it.
pub(crate) async fn ask(
    configured: &Configured,
    gateway: &Gateway,
    patience: Duration,
) -> (State, Vec<Listed>) {
    let endpoint = &configured.endpoint;
    let wait = if endpoint.provider.local { patience.min(LOCAL_WAIT) } else { patience };
    if wait.is_zero() {
        return (State::NotProbed, vec![]);
    }
    match gateway.list(endpoint, wait).await {
        Err(fault) => (State::Unreachable(fault), vec![]),
        Ok(listed) if is_stranger(configured, &listed) => (State::Stranger, vec![]),
        Ok(listed) => (State::Reachable, listed),
    }
}

/// What of a list is kept, each model once.
pub(crate) fn listing(listed: &[Listed]) -> Vec<ListedModel> {
    let fit = listed.iter().filter(|it| is_model_name(&it.id) && is_chat_model(&it.id));
    let mut seen = HashSet::new();
    let fit = fit.filter(|it| seen.insert(it.id.clone())).take(MODELS_MAX);
    let kept = |it: &Listed| ListedModel {
        model: it.id.clone(),
        display: it.display_name.clone(),
        context_tokens: it.context_tokens,
    };
    fit.map(kept).collect()
}

/// Many programs listen on llama-swap's usual port; it signs its list.
fn is_stranger(configured: &Configured, listed: &[Listed]) -> bool {
    let signed = |model: &Listed| model.owned_by.as_deref() == Some("llama-swap");
    let guessed = configured.endpoint.provider.name == "llamaswap" && !configured.explicit;
    guessed && !listed.iter().any(signed)
}

fn models(configured: &Configured, listed: &[Listed]) -> Vec<FoundModel> {
    let own = configured
        .models
        .iter()
        .map(|it| found(configured, &it.id, it.display.as_deref(), ModelSource::Configured));
    let listed = listed.iter().filter(|it| is_model_name(&it.id) && is_chat_model(&it.id));
    let listed =
        listed.map(|it| found(configured, &it.id, it.display_name.as_deref(), ModelSource::Listed));
    let mut seen = HashSet::new();
    own.chain(listed).filter(|it| seen.insert(it.model.clone())).take(MODELS_MAX).collect()
}

/// `model` of that server, with its name and family.
pub(crate) fn found(
    configured: &Configured,
    model: &str,
    display: Option<&str>,
    source: ModelSource,
) -> FoundModel {
    FoundModel {
        id: format!("{}:{model}", configured.endpoint.id),
        model: model.into(),
        display: display_of(model, display),
        family: family(model),
        source,
    }
}

/// The name to show: the given one where it is fit to be shown, else the usual one, else the id.
pub(crate) fn display_of(model: &str, display: Option<&str>) -> String {
    let usual = display_name(model);
    let name = display.filter(|name| is_model_name(name)).unwrap_or(&usual).trim();
    clip(if name.is_empty() { model } else { name }, DISPLAY_CHARS_MAX)
}
