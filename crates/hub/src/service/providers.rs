//! Adding providers, listing and removing them.

#[cfg(test)]
mod tests;
mod wanted;

pub(crate) use wanted::checked_name;

use super::Service;
use super::words::{AddApiKey, Added, ProviderInfo, ProviderKind};
use crate::book::{Entry, key_id, login_id};
use crate::config::{Configured, Own, Source};
use crate::discover::listing;
use crate::log::now_ms;
use crate::store::{NewProvider, Stored};
use althing_gateway::{Endpoint, Listed};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use std::time::Duration;
use wanted::Wanted;

/// How long a provider may take to answer when it is added or tested.
const CHECK_WAIT: Duration = Duration::from_secs(5);
/// Characters of what was wrong with a provider.
const NOTE_CHARS_MAX: usize = 200;

impl Service {
    /// Checks the key with the provider and keeps both. A refused key keeps nothing; a provider
    /// that does not answer is kept and checked when it is first used.
    pub async fn add_api_key(&self, wanted: AddApiKey) -> Result<Added> {
        let wanted = Wanted::read(wanted)?;
        let config = self.library.book().config.clone();
        let endpoint = wanted.endpoint(&config);
        check_elsewhere(&endpoint, &Own::read(&config.data_dir))?;
        let checked = match self.gateway.list(&endpoint, CHECK_WAIT).await {
            Err(fault) if fault.kind == Kind::BadKey => return Err(fault),
            checked => checked,
        };
        let note = checked.as_ref().err();
        let note =
            note.map(|fault| format!("not checked: {}", one_line(&fault.message, NOTE_CHARS_MAX)));
        let row = self.keep(wanted).await?;
        if let Ok(listed) = &checked {
            self.keep_list(&row.id, listed).await?;
        }
        self.library.reload().await?;
        Ok(Added { provider_id: row.id, note })
    }

    /// Every provider: those that the environment and the files set, then those that were added.
    pub async fn list_providers(&self) -> Result<Vec<ProviderInfo>> {
        self.library.refresh().await?;
        let book = self.library.book();
        // A server that is merely looked for is a provider once it has answered.
        let is_there = |it: &&Configured| {
            !it.is_added() && (it.explicit || book.listed_at_ms(&it.endpoint.id).is_some())
        };
        let configured = book.config.endpoints.iter().filter(is_there);
        let configured = configured.map(|it| set_up(it, book.entry(&it.endpoint.id)));
        let no_runner = self.library.means().runners.trouble();
        let added = book.entries.iter().map(|it| {
            let no_runner = no_runner.as_ref().filter(|_| it.row.kind == ProviderKind::Local);
            added(it, book.endpoint(&it.row.id), no_runner)
        });
        Ok(configured.chain(added).collect())
    }

    /// Removes a provider that was added, its key and its models. Routes to it stay.
    pub async fn delete_provider(&self, provider_id: &str) -> Result<()> {
        self.library.refresh().await?;
        let book = self.library.book();
        let configured = book.endpoint(provider_id).filter(|it| !it.is_added());
        if book.entry(provider_id).is_none() {
            return Err(match configured {
                Some(configured) => not_ours(configured),
                None => no_provider(provider_id),
            });
        }
        // The keys first: what is left after a failure can be removed again.
        for id in [key_id(provider_id), login_id(provider_id)] {
            self.library.secrets().remove(&id).await?;
        }
        self.store.remove_provider(provider_id, configured.is_none()).await?;
        self.library.reload().await?;
        // A login may have ended meanwhile; one that ends from here on finds its provider gone.
        self.library.secrets().remove(&login_id(provider_id)).await
    }

    /// Asks the provider for its models; says how many it has.
    pub async fn test_provider(&self, provider_id: &str) -> Result<String> {
        self.library.reload().await?;
        let book = self.library.book();
        let Some(configured) = book.endpoint(provider_id) else {
            let trouble = book.entry(provider_id).and_then(|entry| entry.trouble.clone());
            return Err(trouble.map_or_else(
                || no_provider(provider_id),
                |trouble| {
                    Fault::new(Kind::NotFound, format!("provider '{provider_id}': {trouble}"))
                },
            ));
        };
        let listed = self.gateway.list(&configured.endpoint, CHECK_WAIT).await?;
        self.keep_list(provider_id, &listed).await?;
        self.library.reload().await?;
        let who = configured.endpoint.who();
        Ok(match listed.len() {
            1 => format!("{who} answers and has 1 chat model"),
            count => format!("{who} answers and has {count} chat models"),
        })
    }

    /// Writes what a provider lists.
    pub(super) async fn keep_list(&self, provider_id: &str, listed: &[Listed]) -> Result<()> {
        self.store.set_listed(provider_id, listing(listed), now_ms() as i64).await
    }

    /// The provider and its key, or neither. It is enabled only when its key is kept, so that no
    /// other process ever sees it without.
    async fn keep(&self, wanted: Wanted) -> Result<Stored> {
        let new = NewProvider {
            name: wanted.name,
            kind: ProviderKind::ApiKey,
            row: wanted.row.name.into(),
            base_url: wanted.base_url,
            local_path: None,
        };
        let row = self.store.add_provider(new, now_ms() as i64).await?;
        let kept = match &wanted.key {
            Some(key) => self.library.secrets().set(&key_id(&row.id), key).await,
            None => Ok(()),
        };
        if let Err(fault) = kept {
            self.store.remove_provider(&row.id, true).await?;
            return Err(fault);
        }
        let row = Stored { enabled: true, ..row };
        self.store.update_provider(&row).await?;
        Ok(row)
    }
}

/// A provider is somebody else's server: one's own would ask itself.
fn check_elsewhere(endpoint: &Endpoint, own: &Own) -> Result<()> {
    match own.leads_here(&endpoint.base_url, endpoint.key.as_ref()) {
        Some(why) => Err(Fault::invalid(format!("{why}; a provider is another server"))),
        None => Ok(()),
    }
}

/// A provider of the environment, the files, or found on this machine.
fn set_up(configured: &Configured, hidden: Option<&Entry>) -> ProviderInfo {
    let endpoint = &configured.endpoint;
    let source = match configured.source() {
        Source::Default => "found on this machine".into(),
        source => source.to_string(),
    };
    ProviderInfo {
        provider_id: endpoint.id.clone(),
        name: endpoint.who(),
        kind: ProviderKind::ApiKey,
        provider_type: endpoint.provider.name.into(),
        base_url: Some(endpoint.base_url.clone()),
        local_path: None,
        enabled: true,
        source,
        key_hint: endpoint.key.as_ref().map(|key| key.hint()),
        note: hidden.map(|it| format!("wins over '{}', which was added", it.row.name)),
    }
}

/// A provider that was added. `no_runner` says why its model cannot be loaded, where it cannot.
fn added(
    entry: &Entry,
    configured: Option<&Configured>,
    no_runner: Option<&String>,
) -> ProviderInfo {
    let Entry { row, trouble, login_over } = entry;
    let endpoint = configured.map(|it| &it.endpoint).filter(|_| trouble.is_none());
    // A model in a file has no address.
    let place = endpoint.map(|it| it.base_url.clone()).filter(|url| !url.is_empty());
    let unchecked = || row.checked_at_ms.is_none().then(|| "not checked yet".to_string());
    ProviderInfo {
        provider_id: row.id.clone(),
        name: row.name.clone(),
        kind: row.kind,
        provider_type: row.row.clone(),
        base_url: place.or_else(|| row.base_url.clone()),
        local_path: row.local_path.clone(),
        enabled: row.enabled && trouble.is_none() && login_over.is_none(),
        source: Source::Stored.to_string(),
        key_hint: endpoint.and_then(|it| it.key.as_ref()).map(|key| key.hint()),
        note: [trouble.as_ref(), login_over.as_ref(), no_runner]
            .into_iter()
            .flatten()
            .next()
            .cloned()
            .or_else(unchecked),
    }
}

fn not_ours(configured: &Configured) -> Fault {
    let id = &configured.endpoint.id;
    Fault::invalid(match configured.source() {
        Source::Default => {
            format!("provider_id: '{id}' was found on this machine; stop that server instead")
        }
        source => format!("provider_id: '{id}' was not added but set ({source}); remove it there"),
    })
}

/// Nobody is called so.
pub(crate) fn no_provider(id: &str) -> Fault {
    let text = format!("provider_id: no provider '{}'", one_line(id, NOTE_CHARS_MAX));
    Fault::new(Kind::NotFound, text)
}
