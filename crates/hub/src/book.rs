//! The book: every provider, model and route of this machine as one value, from the configuration
//! and from what was added. [`Library`] keeps it up to date while programs run.

mod changes;
mod endpoint;
mod library;
pub(crate) mod naming;
mod routes;
#[cfg(test)]
pub(crate) mod tests;
mod windows;

pub use endpoint::Means;
pub(crate) use endpoint::{key_id, login_id};
pub use library::Library;

use crate::config::{Config, Configured};
use crate::discover::{Found, FoundProvider, State};
use crate::service::words::RouteTarget;
use crate::store::{Shelf, Stored, StoredModel};
use althing_gateway::{Endpoint, split_effort};
use routes::Known;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use windows::ListedWindows;

/// What is known at one moment.
#[derive(Debug)]
pub struct Book {
    /// The configuration with the added providers among its endpoints.
    pub config: Arc<Config>,
    /// Every provider that was added, usable or not.
    pub entries: Vec<Entry>,
    /// The targets of every alias, in order.
    pub routes: BTreeMap<String, Vec<RouteTarget>>,
    models: BTreeMap<String, Vec<StoredModel>>,
    disabled: BTreeMap<String, HashSet<String>>,
    found: Found,
    writes: i64,
    /// What was already looked up; every request asks.
    known: Known,
    windows: ListedWindows,
}

/// A provider that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub row: Stored,
    /// Why it cannot be asked; none: it can.
    pub trouble: Option<String>,
    /// Why its login is over. It is asked all the same, in case the provider thinks better of it.
    pub login_over: Option<String>,
}

impl From<&Config> for Book {
    /// Nothing but what is configured.
    fn from(config: &Config) -> Book {
        Book::new(config, Shelf { writes: -1, ..Shelf::default() }, vec![])
    }
}

impl Book {
    /// What is configured and what is on the shelf; `opened` are the servers of the providers there.
    fn new(base: &Config, shelf: Shelf, opened: Vec<Result<Arc<Endpoint>, String>>) -> Book {
        let mut added = Vec::new();
        let entry = |(row, opened): (Stored, Result<Arc<Endpoint>, String>)| {
            let opened = match hidden_by(base, &row.id) {
                Some(trouble) => Err(trouble),
                None => opened,
            };
            let trouble = opened.map(|endpoint| added.push(endpoint)).err();
            let login_over = shelf.logins_over.get(&row.id).cloned();
            Entry { row, trouble, login_over }
        };
        let entries = shelf.providers.into_iter().zip(opened).map(entry).collect();
        let config = Arc::new(base.with_added(added));
        let mut book = Book {
            config,
            entries,
            routes: shelf.routes,
            disabled: disabled(&shelf.models),
            models: shelf.models,
            found: Found::default(),
            writes: shelf.writes,
            known: Known::default(),
            windows: ListedWindows::default(),
        };
        let known = book.config.endpoints.iter().map(|it| book.remembered(it)).collect();
        book.found = Found { providers: known };
        book
    }

    /// This book with the windows that the one before it has heard of.
    fn after(self, before: &Book) -> Book {
        Book { windows: before.windows.clone(), ..self }
    }

    /// The server called `id`.
    pub fn endpoint(&self, id: &str) -> Option<&Configured> {
        self.config.endpoint(id)
    }

    /// The added provider called `id`.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.row.id == id)
    }

    /// Whether a model may be used; its name may end in `@effort`.
    pub fn is_enabled(&self, provider: &str, model: &str) -> bool {
        let (bare, _) = split_effort(model);
        self.disabled.get(provider).is_none_or(|models| !models.contains(bare))
    }

    /// Providers where `model` is disabled.
    pub(crate) fn disabled_at<'a>(&'a self, model: &'a str) -> impl Iterator<Item = &'a str> {
        let has = move |(id, models): (&'a String, &HashSet<String>)| {
            models.contains(model).then_some(id.as_str())
        };
        self.disabled.iter().filter_map(has)
    }

    /// What the providers listed when last asked, as far as it may be used. Nobody is asked.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The models that `provider` listed when last asked; empty where it never did.
    pub fn listed(&self, provider: &str) -> impl Iterator<Item = &StoredModel> {
        let models = self.models.get(provider).map(Vec::as_slice).unwrap_or_default();
        models.iter().filter(|model| model.listed_at_ms.is_some())
    }

    /// When `provider` last listed its models.
    pub fn listed_at_ms(&self, provider: &str) -> Option<i64> {
        self.listed(provider).filter_map(|model| model.listed_at_ms).max()
    }

    /// Whether `provider` has `model`, by its list or the person's own; none: its list is not known.
    pub fn has_model(&self, provider: &str, model: &str) -> Option<bool> {
        let (bare, _) = split_effort(model);
        let own = self.endpoint(provider).map(|it| it.models.as_slice()).unwrap_or_default();
        if own.iter().any(|it| it.id == bare) || self.listed(provider).any(|it| it.model == bare) {
            return Some(true);
        }
        self.listed_at_ms(provider).map(|_| false)
    }

    /// What was found brought up to this book: providers that have come since are there as they
    /// were last asked, others are gone, and what is disabled is set apart.
    pub fn brought_up(&self, found: &Found) -> Found {
        let place = |it: &Configured| (it.endpoint.id.clone(), it.endpoint.base_url.clone());
        let now = |remembered: &FoundProvider| {
            let wanted = place(&remembered.configured);
            let is_same = |it: &&FoundProvider| place(&it.configured) == wanted;
            // One that was not there just now is remembered better than that.
            let tells = |it: &&FoundProvider| it.state == State::Reachable || !it.models.is_empty();
            let known = found.providers.iter().find(is_same).filter(tells);
            let mut provider = known.unwrap_or(remembered).clone();
            provider.configured = remembered.configured.clone();
            provider.sort_out(self);
            provider
        };
        Found { providers: self.found.providers.iter().map(now).collect() }
    }

    fn remembered(&self, configured: &Configured) -> FoundProvider {
        let id = &configured.endpoint.id;
        let models = self.listed(id).map(|it| (it.model.as_str(), it.display.as_deref()));
        let mut provider = FoundProvider::remembered(configured, models);
        provider.sort_out(self);
        provider
    }
}

fn disabled(models: &BTreeMap<String, Vec<StoredModel>>) -> BTreeMap<String, HashSet<String>> {
    let of_one = |(id, models): (&String, &Vec<StoredModel>)| {
        let off = models.iter().filter(|it| !it.enabled).map(|it| it.model.clone());
        (id.clone(), off.collect::<HashSet<_>>())
    };
    models.iter().map(of_one).filter(|(_, off)| !off.is_empty()).collect()
}

/// Who has the name already: what the person configured wins over what was added.
fn hidden_by(base: &Config, id: &str) -> Option<String> {
    let configured = base.endpoint(id).filter(|it| it.explicit)?;
    let source = configured.source();
    Some(format!("not used: '{id}' is also configured, and that wins ({source})"))
}
