//! Looking for models beside everything else, and who waits for that how long.

use super::Backend;
use crate::config::Configured;
use crate::discover::{Found, FoundProvider, LOCAL_WAIT, State, look_at};
use althing_stdx::Kind;
use futures_util::future::join_all;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

/// How long providers may take to list their models.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a list waits for the servers of this machine: one that is there answers at once, and one
/// that is not, too. Past it a list has what it has, and later ones have more.
pub(super) const HOME_WAIT_MAX: Duration = Duration::from_millis(300);
/// How long a list waits that would be empty: until it is certain that there is nothing here.
const EMPTY_WAIT_MAX: Duration = LOCAL_WAIT.saturating_add(HOME_WAIT_MAX);
/// What was found so long ago may have changed: the next list has it looked for again.
const FRESH_MAX: Duration = Duration::from_secs(2);

/// How far the search is.
#[derive(Default)]
pub(super) struct Look {
    stage: watch::Sender<Stage>,
    again: Notify,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Begun,
    /// All servers of this machine have answered, or are not there.
    HomeKnown,
    Over(Instant),
}

impl Look {
    /// Whether everybody was asked and has answered, or will not.
    pub fn is_over(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Over(_))
    }

    /// Waits a moment for what this machine has, and looks anew where that was seen a while ago.
    pub async fn wait_for_home(&self) {
        let is_old = |stage: &Stage| matches!(stage, Stage::Over(at) if at.elapsed() > FRESH_MAX);
        let is_begun_again = self.stage.send_if_modified(|stage| {
            let is_old = is_old(stage);
            if is_old {
                *stage = Stage::Begun;
            }
            is_old
        });
        if is_begun_again {
            self.again.notify_one();
        }
        self.wait_until(HOME_WAIT_MAX, |stage| *stage != Stage::Begun).await;
    }

    /// Waits until the search is over, but not for long.
    pub async fn wait_for_end(&self) {
        self.wait_until(EMPTY_WAIT_MAX, |stage| matches!(stage, Stage::Over(_))).await;
    }

    async fn wait_until(&self, max: Duration, is_reached: impl FnMut(&Stage) -> bool) {
        // In time or not, the list is what it is by then.
        let _ = timeout(max, self.stage.subscribe().wait_for(is_reached)).await;
    }
}

/// Looks once, and again whenever that is wanted.
pub(super) async fn look_around(backend: &Backend) -> Infallible {
    loop {
        look_once(backend).await;
        backend.look.again.notified().await;
    }
}

/// Asks everybody at once. What each has is there as soon as it has answered.
async fn look_once(backend: &Backend) {
    let (book, gateway) = (backend.book(), backend.runs.library.gateway());
    let endpoints = &book.config.endpoints;
    let is_home = |it: &Configured| it.endpoint.provider.local;
    let waited_for = AtomicUsize::new(endpoints.iter().filter(|it| is_home(it)).count());
    let tell = || {
        if waited_for.load(Ordering::Relaxed) == 0 {
            backend.look.stage.send_replace(Stage::HomeKnown);
        }
    };
    tell();
    let probes = endpoints.iter().map(|configured| async {
        let found = look_at(&book, configured, gateway, PATIENCE).await;
        backend.put_found(found.clone());
        if is_home(configured) {
            waited_for.fetch_sub(1, Ordering::Relaxed);
            tell();
        }
        found
    });
    let found = Found { providers: join_all(probes).await };
    backend.look.stage.send_replace(Stage::Over(Instant::now()));
    backend.memory.remember_found(&found).await;
}

impl Backend {
    /// Whether a provider turned our key down when it was last asked for its models.
    pub(super) fn is_key_refused(&self, provider: &str) -> bool {
        let found = self.found.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let state = found.providers.iter().find(|it| it.id() == provider).map(|it| &it.state);
        matches!(state, Some(State::Unreachable(fault)) if fault.kind == Kind::BadKey)
    }

    fn put_found(&self, provider: FoundProvider) {
        let mut found = self.found.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = found.providers.iter_mut().find(|it| it.id() == provider.id());
        match known {
            Some(known) => *known = provider,
            None => found.providers.push(provider),
        }
    }
}
