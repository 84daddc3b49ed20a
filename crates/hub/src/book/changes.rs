//! What differs between two books. Whoever wrote, this process or another, those who listen are
//! told by the same comparison.

use super::Book;
use crate::service::words::Change;
use std::collections::{BTreeMap, BTreeSet};

impl Book {
    /// What has become of `before`. When a provider answered last is part of it, so a check that
    /// came back is a change.
    pub(super) fn changes_since(&self, before: &Book) -> Vec<Change> {
        let entries = self.entries.iter().filter_map(|entry| {
            let id = entry.row.id.clone();
            match before.entry(&id) {
                None => Some(Change::ProviderAdded(id)),
                Some(old) => (old != entry).then_some(Change::ProviderChanged(id)),
            }
        });
        let models = keys(&before.models, &self.models).filter(|id| {
            // With a provider that is gone its models are, too.
            let is_known = self.endpoint(id).is_some() || self.entry(id).is_some();
            is_known && before.shown(id) != self.shown(id)
        });
        let routes = keys(&before.routes, &self.routes)
            .filter(|alias| before.routes.get(*alias) != self.routes.get(*alias));
        let is_gone = |id: &&String| self.entry(id).is_none();
        let gone = before.entries.iter().map(|entry| &entry.row.id).filter(is_gone);
        entries
            .chain(models.cloned().map(Change::ModelsChanged))
            .chain(routes.cloned().map(Change::RouteChanged))
            .chain(gone.cloned().map(Change::ProviderRemoved))
            .collect()
    }

    /// What there is to see of a provider's models: not when they were listed, but whether.
    fn shown(&self, id: &str) -> Vec<(&str, Option<&str>, bool, bool)> {
        let models = self.models.get(id).into_iter().flatten();
        let shown = models
            .map(|it| (&*it.model, it.display.as_deref(), it.enabled, it.listed_at_ms.is_some()));
        shown.collect()
    }
}

/// The keys of both, each once.
fn keys<'a, T>(
    one: &'a BTreeMap<String, T>,
    other: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = &'a String> {
    one.keys().chain(other.keys()).collect::<BTreeSet<_>>().into_iter()
}
