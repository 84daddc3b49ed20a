//! Which models there are, and which may be used.

#[cfg(test)]
mod tests;

use super::Service;
use super::providers::no_provider;
use super::words::ModelInfo;
use crate::book::Book;
use crate::config::Configured;
use crate::discover::{self, State, display_of, listing};
use crate::log::now_ms;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::join_all;
use std::collections::HashSet;
use std::time::Duration;

/// How long a provider may take to list its models; then its last list has to do.
const LIST_WAIT: Duration = Duration::from_secs(5);
/// A list that is younger is not asked for again.
const LIST_AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// For a name that nobody knows the providers are asked again, but not more often than this.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Characters of a name that is repeated.
const SHOWN_CHARS_MAX: usize = 100;

impl Service {
    /// The models of one provider, or of all; asked for where they are not known, not known any
    /// more, or on this machine, where they come and go.
    pub async fn models(&self, provider_id: Option<&str>) -> Result<Vec<ModelInfo>> {
        self.library.refresh().await?;
        let book = self.library.book();
        if let Some(id) = provider_id.filter(|id| !is_provider(&book, id)) {
            return Err(no_provider(id));
        }
        let is_meant = |it: &&Configured| provider_id.is_none_or(|id| it.endpoint.id == id);
        let is_stale = |it: &&Configured| {
            it.endpoint.provider.local || age(&book, &it.endpoint.id) > LIST_AGE_MAX
        };
        let all = book.config.endpoints.iter().filter(is_meant);
        self.list(&book, all.filter(is_stale).collect()).await?;
        let book = self.library.book();
        let all = book.config.endpoints.iter().filter(is_meant);
        Ok(all.flat_map(|it| infos(&book, it)).collect())
    }

    /// Whether a model may be used, by any face and any name.
    pub async fn set_model_enabled(
        &self,
        provider_id: &str,
        model_id: &str,
        enabled: bool,
    ) -> Result<()> {
        self.library.refresh().await?;
        if self.has_model(provider_id, model_id).await? != Some(true) {
            return Err(no_model(provider_id, model_id));
        }
        self.store.set_enabled(provider_id, model_id, enabled).await?;
        self.library.reload().await
    }

    /// Whether a provider has a model; it is asked where its last list does not say so. None: its
    /// list cannot be known.
    pub(super) async fn has_model(
        &self,
        provider_id: &str,
        model_id: &str,
    ) -> Result<Option<bool>> {
        let book = self.library.book();
        if !is_provider(&book, provider_id) {
            return Err(no_provider(provider_id));
        }
        let known = book.has_model(provider_id, model_id);
        let Some(configured) = book.endpoint(provider_id).filter(|_| known != Some(true)) else {
            return Ok(known);
        };
        self.list(&book, vec![configured]).await?;
        Ok(self.library.book().has_model(provider_id, model_id))
    }

    /// Asks everybody for their models unless that was done a moment ago; says whether it was done.
    pub(super) async fn look_again(&self) -> bool {
        let mut last = self.looked.lock().await;
        let is_due = last.is_none_or(|last| last.elapsed() >= LOOK_AGAIN);
        if is_due {
            let book = self.library.book();
            let done = self.list(&book, book.config.endpoints.iter().collect()).await;
            *last = Some(tokio::time::Instant::now());
            return done.is_ok();
        }
        false
    }

    /// Asks these for their models, all at once, and keeps what is new.
    async fn list(&self, book: &Book, providers: Vec<&Configured>) -> Result<()> {
        let asked = providers.iter().map(|it| discover::ask(it, &self.gateway, LIST_WAIT));
        let answers = join_all(asked).await;
        for (configured, (state, listed)) in providers.into_iter().zip(answers) {
            let id = &configured.endpoint.id;
            let is_gone = state != State::Reachable && !configured.explicit;
            let listed = listing(&listed);
            let now = listed.iter().map(|it| (it.model.as_str(), it.context_tokens));
            let before = book.listed(id).map(|it| (it.model.as_str(), it.context_tokens));
            let is_new = now.collect::<HashSet<_>>() != before.collect::<HashSet<_>>();
            let is_old = age(book, id) > LIST_AGE_MAX && !listed.is_empty();
            // A server that was only looked for and is not there has no models.
            if (state == State::Reachable || is_gone) && (is_new || is_old) {
                self.store.set_listed(id, listed, now_ms() as i64).await?;
            }
        }
        self.library.refresh().await
    }
}

pub(super) fn is_provider(book: &Book, id: &str) -> bool {
    book.endpoint(id).is_some() || book.entry(id).is_some()
}

fn age(book: &Book, id: &str) -> Duration {
    let listed = book.listed_at_ms(id).unwrap_or(i64::MIN);
    Duration::from_millis((now_ms() as i64).saturating_sub(listed).max(0) as u64)
}

/// The person's own list, then what the provider listed.
fn infos(book: &Book, configured: &Configured) -> Vec<ModelInfo> {
    let id = &configured.endpoint.id;
    let own = configured.models.iter().map(|it| (&it.id, it.display.as_deref()));
    let listed = book.listed(id).map(|it| (&it.model, it.display.as_deref()));
    let mut seen = HashSet::new();
    let all = own.chain(listed).filter(|(model, _)| seen.insert(*model));
    let info = |(model, display): (&String, Option<&str>)| ModelInfo {
        model_id: model.clone(),
        provider_id: id.clone(),
        display: display_of(model, display),
        enabled: book.is_enabled(id, model),
        capability_chat: Some(true),
        capability_streaming: Some(true),
    };
    all.map(info).collect()
}

/// The provider has no such model.
pub(crate) fn no_model(provider_id: &str, model_id: &str) -> Fault {
    let model = one_line(model_id, SHOWN_CHARS_MAX);
    let text = format!("model_id: '{model}' is not among the models of '{provider_id}'");
    Fault::new(Kind::NotFound, text)
}
