//! Added providers among the configured ones, by the same rules for addresses and keys.

use super::providers::{calls_at_once, without_twins};
use super::source::Source;
use super::{Config, Configured, ModelEntry, address};
use althing_gateway::{Endpoint, Provider};
use std::sync::Arc;

impl Config {
    /// This configuration with added servers behind its own. A server that was only looked for
    /// makes room for an added one of the same name or at the same place.
    pub(crate) fn with_added(&self, added: Vec<Arc<Endpoint>>) -> Config {
        let mut config = self.clone();
        let is_free = |it: &Configured| added.iter().all(|new| new.id != it.endpoint.id);
        config.endpoints.retain(|it| it.explicit || is_free(it));
        config.endpoints.extend(added.into_iter().map(Configured::added));
        config.endpoints = without_twins(config.endpoints);
        config
    }

    /// This configuration with the workers that are models, which `endpoint` leads to.
    pub(crate) fn with_workers(&self, endpoint: Arc<Endpoint>) -> Config {
        let mut config = self.clone();
        let models = self.workers.iter().filter(|worker| worker.is_model);
        let models = models.map(|it| ModelEntry { id: it.name.clone(), display: None });
        config.endpoints.push(Configured {
            models: models.collect(),
            models_source: self.file.source.clone(),
            url_source: Source::File(self.file.value.clone()),
            ..Configured::added(endpoint)
        });
        config
    }

    /// Calls at once to a server of this row.
    pub(crate) fn parallel(&self, row: &Provider) -> usize {
        calls_at_once(*self.execution_mode, row)
    }
}

impl Configured {
    fn added(endpoint: Arc<Endpoint>) -> Configured {
        Configured {
            key_source: endpoint.key.as_ref().map(|_| Source::Stored),
            endpoint,
            models: vec![],
            models_source: Source::Default,
            url_source: Source::Stored,
            parallel_source: Source::Default,
            context_tokens: None,
            explicit: true,
        }
    }

    /// Whether it was added while programs ran.
    pub(crate) fn is_added(&self) -> bool {
        self.url_source == Source::Stored
    }

    /// What makes it one of the person's own: where its key is, else its address, else its models.
    pub fn source(&self) -> &Source {
        let others = [&self.url_source, &self.models_source];
        let others = others.into_iter().find(|source| **source != Source::Default);
        self.key_source.as_ref().or(others).unwrap_or(&Source::Default)
    }
}

/// The uniform address of a provider that is added, or what is wrong with the given one.
pub(crate) fn base_url(row: &Provider, text: &str) -> Result<String, String> {
    address::base_url(row, text, false)
}
