//! The logins of this process, and how they ended.

use crate::service::words::Credentials;
use althing_stdx::{Fault, Kind, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Logins at once; one more is refused.
const PENDING_MAX: usize = 16;
/// Ends that are remembered; the oldest is forgotten first.
const ENDED_MAX: usize = 64;

/// Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Logins(Arc<Mutex<Vec<Line>>>);

struct Line {
    provider_id: String,
    /// The connection that gets the credentials; none: nobody does.
    started_by: Option<String>,
    ended: watch::Sender<Option<Ended>>,
}

/// How a login ended.
#[derive(Clone)]
pub(super) enum Ended {
    /// With credentials that nobody fetched yet.
    Done(Option<Credentials>),
    Failed(Fault),
}

impl Logins {
    pub(super) fn check_room(&self) -> Result<()> {
        let pending = self.lock().iter().filter(|line| line.ended.borrow().is_none()).count();
        if pending >= PENDING_MAX {
            let text = format!("{PENDING_MAX} logins are under way; finish one first");
            return Err(Fault::new(Kind::Busy, text));
        }
        Ok(())
    }

    pub(super) fn begin(&self, provider_id: &str, started_by: Option<String>) {
        let mut all = self.lock();
        all.retain(|line| line.provider_id != provider_id);
        let ended = |line: &Line| line.ended.borrow().is_some();
        if all.iter().filter(|line| ended(line)).count() >= ENDED_MAX
            && let Some(oldest) = all.iter().position(ended)
        {
            all.remove(oldest);
        }
        let provider_id = provider_id.into();
        all.push(Line { provider_id, started_by, ended: watch::Sender::new(None) });
    }

    pub(super) fn end(&self, provider_id: &str, ended: Ended) {
        if let Some(line) = self.lock().iter().find(|line| line.provider_id == provider_id) {
            line.ended.send_replace(Some(ended));
        }
    }

    /// Waits for the end of a login, as long as it takes; none where there is no such login.
    pub(super) fn waiting(
        &self,
        provider_id: &str,
    ) -> Option<impl Future<Output = Result<()>> + use<>> {
        let all = self.lock();
        let line = all.iter().find(|line| line.provider_id == provider_id)?;
        let mut ended = line.ended.subscribe();
        Some(async move {
            match ended.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(Ended::Failed(fault))) => Err(fault.clone()),
                Ok(_) => Ok(()),
                Err(_) => Err(Fault::new(Kind::Cancelled, "another login took its place")),
            }
        })
    }

    /// The credentials, the first time that the one who started the login asks.
    pub(super) fn credentials(&self, provider_id: &str, connection: &str) -> Option<Credentials> {
        let all = self.lock();
        let line = all.iter().find(|line| line.provider_id == provider_id)?;
        if line.started_by.as_deref() != Some(connection) {
            return None;
        }
        let mut given = None;
        line.ended.send_modify(|ended| {
            if let Some(Ended::Done(credentials)) = ended {
                given = credentials.take();
            }
        });
        given
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Line>> {
        // A panic elsewhere cannot leave the list half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
