//! Providers that a person logs in to. From the start of a login on it is asked for in the
//! background, whether its client stays or not, and on after a restart; a login that fails leaves
//! nothing behind.

mod desk;
#[cfg(test)]
mod tests;

pub(crate) use desk::Logins;

use super::Service;
use super::providers::{checked_name, no_provider};
use super::words::{AddOAuth, Added, Caller, Challenge, Change, Credentials, ProviderKind};
use crate::book::{Library, Means, login_id};
use crate::config::login_flow;
use crate::discover::listing;
use crate::log::now_ms;
use crate::secrets::Secrets;
use crate::service::changes::Changes;
use crate::store::{NewProvider, Store, Stored};
use althing_gateway::Access;
use althing_gateway::login::{Device, Keep, Kept, LOGINS, Login, Started, Tokens, login_row};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use desk::Ended;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

/// How long a provider may take to start a login: less than a bus waits for an answer.
const START_WAIT: Duration = Duration::from_secs(15);
/// How long `complete_oauth` waits for the person; then it says that nothing is decided yet.
const COMPLETE_WAIT: Duration = Duration::from_secs(18);
/// How long the models of a new provider may take; later they are asked for when they are wanted.
const LIST_WAIT: Duration = Duration::from_secs(5);
/// Characters of a wrong value that are repeated.
const SHOWN_CHARS_MAX: usize = 40;
/// Characters of why a login is over.
const NOTE_CHARS_MAX: usize = 400;

/// Who opens a provider that was logged in to.
pub(crate) fn open(means: &Means, row: &Stored) -> Result<Arc<dyn Access>> {
    let login = login(means, &row.row)?;
    let keep = TokensOf {
        secrets: means.secrets.clone(),
        store: means.store.clone(),
        login: login.clone(),
        provider: row.id.clone(),
    };
    Ok(login.session(Arc::new(keep)))
}

fn login(means: &Means, provider_type: &str) -> Result<Login> {
    let row = login_row(provider_type.trim()).ok_or_else(|| {
        let names: Vec<&str> = LOGINS.iter().map(|row| row.provider).collect();
        let wrong = one_line(provider_type, SHOWN_CHARS_MAX);
        Fault::invalid(format!("provider_type: one of {}, not '{wrong}'", names.join(", ")))
    })?;
    Ok(means.gateway.login(login_flow(&means.world, row)?))
}

/// The tokens of one provider among the secrets, and beside it in the store how its login stands.
struct TokensOf {
    secrets: Secrets,
    store: Store,
    login: Login,
    provider: String,
}

impl Keep for TokensOf {
    fn load(&self) -> BoxFuture<'_, Result<Option<Tokens>>> {
        Box::pin(async {
            let kept = self.secrets.get(&login_id(&self.provider)).await?;
            let kept = kept.map(|it| Kept::from_secret(&it));
            Ok(kept.transpose()?.and_then(|kept| match kept {
                Kept::Done(tokens) => Some(tokens),
                Kept::Pending(_) => None,
            }))
        })
    }

    fn save<'a>(&'a self, tokens: &'a Tokens) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            // A provider that is gone by now leaves nothing behind.
            let id = login_id(&self.provider);
            if self.secrets.get(&id).await?.is_none() {
                return Ok(());
            }
            self.secrets.set(&id, &Kept::Done(tokens.clone()).to_secret()?).await?;
            let address = self.login.address(tokens);
            self.store.note_login(&self.provider, address, None).await
        })
    }

    fn note_end<'a>(&'a self, why: &'a Fault) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let why = one_line(&why.message, NOTE_CHARS_MAX);
            // Where it cannot be noted the next call finds it out again.
            let _ = self.store.note_login(&self.provider, None, Some(why)).await;
        })
    }
}

impl Service {
    /// Starts a login; polling goes on by itself from here on.
    pub async fn add_oauth(&self, caller: &Caller, wanted: AddOAuth) -> Result<(Added, Challenge)> {
        let name = checked_name(&wanted.name)?;
        let login = login(self.library.means(), &wanted.provider_type)?;
        self.logins.check_room()?;
        let late = || Fault::new(Kind::TimedOut, format!("no login started within {START_WAIT:?}"));
        let started = timeout(START_WAIT, login.start()).await.unwrap_or_else(|_| Err(late()))?;
        let new = NewProvider {
            name,
            kind: ProviderKind::OAuth,
            row: wanted.provider_type.trim().into(),
            base_url: None,
            local_path: None,
        };
        let row = self.store.add_provider(new, now_ms() as i64).await?;
        let note = login.notice().map(str::to_string);
        let polling = self.polling(row, login, started.device.clone());
        if let Err(fault) = polling.keep(&Kept::Pending(started.device.clone())).await {
            polling.leave_nothing().await;
            return Err(fault);
        }
        self.library.reload().await?;
        let provider_id = polling.row.id.clone();
        polling.begin(Some(caller.connection.clone()));
        Ok((Added { provider_id, note }, challenge(started)))
    }

    /// Waits a while for the login's end. The credentials go once, to the one who started it.
    pub async fn complete_oauth(
        &self,
        caller: &Caller,
        provider_id: &str,
    ) -> Result<Option<Credentials>> {
        self.complete_oauth_within(caller, provider_id, COMPLETE_WAIT).await
    }

    /// As `complete_oauth`, for a caller who does not wait so long.
    pub async fn complete_oauth_within(
        &self,
        caller: &Caller,
        provider_id: &str,
        wait: Duration,
    ) -> Result<Option<Credentials>> {
        self.adopt(provider_id).await?;
        let Some(waiting) = self.logins.waiting(provider_id) else { return Ok(None) };
        let ended = timeout(wait.min(COMPLETE_WAIT), waiting).await;
        ended.unwrap_or_else(|_| Err(pending()))?;
        // It may have been removed since.
        let book = self.library.book();
        book.entry(provider_id).ok_or_else(|| no_provider(provider_id))?;
        Ok(self.logins.credentials(provider_id, &caller.connection))
    }

    /// Goes on with the logins that were under way when the service ended.
    pub async fn resume_logins(&self) {
        let book = self.library.book();
        let unfinished = book.entries.iter().filter(|entry| is_unfinished(&entry.row));
        for entry in unfinished {
            // One that cannot be read now, with a locked keyring say, can be completed later.
            let _ = self.resume(entry.row.clone()).await;
        }
    }

    /// Takes up a login that this process does not know of; says what is wrong with the id.
    async fn adopt(&self, provider_id: &str) -> Result<()> {
        if self.logins.waiting(provider_id).is_some() {
            return Ok(());
        }
        self.library.refresh().await?;
        let book = self.library.book();
        let entry = book.entry(provider_id).ok_or_else(|| no_provider(provider_id))?;
        match entry.row.kind {
            ProviderKind::OAuth if entry.row.enabled => Ok(()),
            ProviderKind::OAuth => self.resume(entry.row.clone()).await,
            ProviderKind::ApiKey | ProviderKind::Local => {
                let id = one_line(provider_id, SHOWN_CHARS_MAX);
                Err(Fault::invalid(format!("provider_id: '{id}' has no login to complete")))
            }
        }
    }

    async fn resume(&self, row: Stored) -> Result<()> {
        let kept = self.library.secrets().get(&login_id(&row.id)).await?;
        match kept.map(|kept| Kept::from_secret(&kept)).transpose()? {
            Some(Kept::Pending(device)) => {
                let login = login(self.library.means(), &row.row)?;
                self.polling(row, login, device).begin(None);
                Ok(())
            }
            Some(Kept::Done(tokens)) => {
                let base_url = login(self.library.means(), &row.row)?.address(&tokens);
                self.store.update_provider(&Stored { enabled: true, base_url, ..row }).await?;
                self.library.reload().await
            }
            None => Err(pending()),
        }
    }

    fn polling(&self, row: Stored, login: Login, device: Device) -> Polling {
        Polling { row, login, device, library: self.library.clone(), logins: self.logins.clone() }
    }
}

fn is_unfinished(row: &Stored) -> bool {
    row.kind == ProviderKind::OAuth && !row.enabled
}

fn pending() -> Fault {
    let text = "authorization_pending: the login is not confirmed yet; ask again";
    Fault::new(Kind::Busy, text)
}

fn challenge(started: Started) -> Challenge {
    // Both are bounded by the gateway; a second more never hurts, a second less might.
    let seconds =
        |time: Duration| i32::try_from(time.as_millis().div_ceil(1000)).unwrap_or(i32::MAX);
    Challenge {
        device_code: started.device.code,
        user_code: started.user_code,
        verification_uri: started.verification_uri,
        verification_uri_complete: started.verification_uri_complete,
        expires_in: seconds(started.expires_in),
        interval: seconds(started.interval),
    }
}

/// One login under way, with all it needs to come to its end alone.
struct Polling {
    row: Stored,
    login: Login,
    device: Device,
    library: Arc<Library>,
    logins: Logins,
}

impl Polling {
    fn begin(self, started_by: Option<String>) {
        self.logins.begin(&self.row.id, started_by);
        tokio::spawn(async move {
            let ended = tokio::select! {
                ended = self.login.finish(&self.device) => ended,
                () = removed(self.library.changes(), &self.row.id) => {
                    return self.end(Ended::Failed(self.gone()));
                }
            };
            match ended {
                Ok(tokens) => self.done(tokens).await,
                Err(fault) => self.failed(fault).await,
            }
        });
    }

    async fn done(&self, tokens: Tokens) {
        let credentials = credentials(&tokens);
        let base_url = self.login.address(&tokens);
        let enabled = Stored { enabled: true, base_url, ..self.row.clone() };
        let kept = async {
            self.keep(&Kept::Done(tokens)).await?;
            let is_there = self.library.store().update_provider(&enabled).await?;
            self.library.reload().await?;
            Ok(is_there)
        };
        match kept.await {
            Ok(true) => {
                self.end(Ended::Done(Some(credentials)));
                self.list().await;
            }
            Ok(false) => {
                // Removed before the tokens were kept: they go, too. What cannot go now is
                // overwritten by the next login of that name.
                let _ = self.library.secrets().remove(&login_id(&self.row.id)).await;
                self.end(Ended::Failed(self.gone()));
            }
            Err(fault) => self.failed(fault).await,
        }
    }

    async fn failed(&self, fault: Fault) {
        if self.is_done_elsewhere().await {
            // Another process asked too, and got the answer; the next look into the store shows it.
            let _ = self.library.reload().await;
            return self.end(Ended::Done(None));
        }
        self.leave_nothing().await;
        self.end(Ended::Failed(fault));
    }

    async fn is_done_elsewhere(&self) -> bool {
        let kept = self.library.secrets().get(&login_id(&self.row.id)).await;
        let kept = kept.ok().flatten().and_then(|kept| Kept::from_secret(&kept).ok());
        matches!(kept, Some(Kept::Done(_)))
    }

    /// The models, while the person still watches. Where that fails they are asked for later.
    async fn list(&self) {
        let book = self.library.book();
        let Some(configured) = book.endpoint(&self.row.id) else { return };
        let Ok(listed) = self.library.gateway().list(&configured.endpoint, LIST_WAIT).await else {
            return;
        };
        let now_ms = now_ms() as i64;
        let store = self.library.store();
        if store.set_listed(&self.row.id, listing(&listed), now_ms).await.is_ok() {
            let _ = self.library.reload().await;
        }
    }

    async fn keep(&self, kept: &Kept) -> Result<()> {
        self.library.secrets().set(&login_id(&self.row.id), &kept.to_secret()?).await
    }

    /// What cannot be removed now is shown as unfinished, and can be removed by hand.
    async fn leave_nothing(&self) {
        let _ = self.library.secrets().remove(&login_id(&self.row.id)).await;
        let _ = self.library.store().remove_provider(&self.row.id, true).await;
        let _ = self.library.reload().await;
    }

    fn end(&self, ended: Ended) {
        self.logins.end(&self.row.id, ended);
    }

    fn gone(&self) -> Fault {
        Fault::new(Kind::NotFound, "the provider was removed before its login was confirmed")
    }
}

fn credentials(tokens: &Tokens) -> Credentials {
    Credentials {
        access_token: tokens.access.clone(),
        refresh_token: tokens.refresh.clone(),
        expiry_date_ms: tokens.expires_at_ms,
        resource_url: tokens.base_url.clone(),
    }
}

/// Comes back when somebody removes the provider.
async fn removed(changes: &Changes, id: &str) {
    let mut changes = changes.listen();
    loop {
        match changes.recv().await {
            Ok(Change::ProviderRemoved(removed)) if removed == id => return,
            // What was missed is found out at the end.
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
