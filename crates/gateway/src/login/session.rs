//! A login in use: tokens that are renewed before they end, or once a provider refuses them, by one
//! at a time.

use super::{Login, Tokens};
use crate::access::{Access, Grant, Need};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Where the tokens of a login are kept.
pub trait Keep: Send + Sync {
    /// What is kept now; none where the login is gone.
    fn load(&self) -> BoxFuture<'_, Result<Option<Tokens>>>;
    /// Keeps renewed tokens.
    fn save<'a>(&'a self, tokens: &'a Tokens) -> BoxFuture<'a, Result<()>>;
    /// Notes that the login is over: its tokens were not renewed, and never will be.
    fn note_end<'a>(&'a self, why: &'a Fault) -> BoxFuture<'a, ()>;
}

/// One login; shared by all calls to its provider.
#[derive(Clone)]
pub(super) struct Session {
    login: Login,
    keep: Arc<dyn Keep>,
    known: Arc<Mutex<Option<Tokens>>>,
}

impl Session {
    pub(super) fn new(login: Login, keep: Arc<dyn Keep>) -> Session {
        Session { login, keep, known: Arc::default() }
    }

    async fn tokens(&self, refused: Option<&Secret>) -> Result<Tokens> {
        let known = self.known.clone().lock_owned().await;
        if let Some(tokens) = known.as_ref().filter(|it| self.serve(it, refused)) {
            return Ok(tokens.clone());
        }
        // On its own, so that a caller who leaves does not take a used-up refresh token along.
        let (session, refused) = (self.clone(), refused.cloned());
        let renewing = tokio::spawn(async move { session.renew(known, refused).await });
        renewing.await.map_err(Fault::internal)?
    }

    async fn renew(
        &self,
        mut known: OwnedMutexGuard<Option<Tokens>>,
        refused: Option<Secret>,
    ) -> Result<Tokens> {
        // Another process may have renewed them; what could not be saved is only here.
        let kept = self.keep.load().await?;
        let newest = kept.into_iter().chain(known.take()).max_by_key(|it| it.expires_at_ms);
        let Some(old) = newest else { return Err(self.end(self.login.over()).await) };
        let new = match self.serve(&old, refused.as_ref()) {
            true => old,
            false => match self.login.renew(&old).await {
                Ok(new) => {
                    // The tokens are good all the same; the next renewal saves again.
                    let _ = self.keep.save(&new).await;
                    new
                }
                // Renewed early; until its real end the old one does.
                Err(fault) if refused.is_none() && fault.kind != Kind::BadKey && is_alive(&old) => {
                    old
                }
                Err(fault) if fault.kind == Kind::BadKey => match self.newer_than(&old).await {
                    Some(newer) => newer,
                    None => {
                        *known = Some(old);
                        return Err(self.end(fault).await);
                    }
                },
                Err(fault) => {
                    *known = Some(old);
                    return Err(fault);
                }
            },
        };
        *known = Some(new.clone());
        Ok(new)
    }

    /// What another process got for these tokens while we asked: a refresh token is good for one.
    async fn newer_than(&self, old: &Tokens) -> Option<Tokens> {
        let kept = self.keep.load().await.ok()??;
        (kept.access != old.access && self.serve(&kept, None)).then_some(kept)
    }

    /// Notes that the login is over, and why.
    async fn end(&self, why: Fault) -> Fault {
        self.keep.note_end(&why).await;
        why
    }

    /// Whether these tokens are good for a while, as far as anybody knows.
    fn serve(&self, tokens: &Tokens, refused: Option<&Secret>) -> bool {
        let early_ms = self.login.flow.row.early.as_millis() as i64;
        refused != Some(&tokens.access) && tokens.expires_at_ms.saturating_sub(early_ms) > now_ms()
    }
}

impl Access for Session {
    fn grant<'a>(&'a self, need: Need<'a>) -> BoxFuture<'a, Result<Grant>> {
        Box::pin(async move {
            let refused = need.refused.and_then(|grant| grant.key.as_ref());
            let tokens = self.tokens(refused).await?;
            Ok(Grant {
                base_url: self.login.address(&tokens),
                key: Some(tokens.access),
                headers: Some(self.login.flow.row.call_headers),
                hold: None,
            })
        })
    }

    fn notice(&self) -> Option<&'static str> {
        self.login.notice()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.login.flow.row.provider)
    }
}

fn is_alive(tokens: &Tokens) -> bool {
    tokens.expires_at_ms > now_ms()
}

/// Milliseconds since 1970, which is how servers say when a token ends.
pub fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
