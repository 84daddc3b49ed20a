//! Connections between two calls, by server.

use super::Driven;
use crate::http::{POOL_IDLE_MAX, POOL_IDLE_TIME};
use hyper::http::uri::Authority;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::time::{Instant, sleep};

/// The connections that rest.
#[derive(Default)]
pub(super) struct Idle(Mutex<Resting>);

#[derive(Default)]
struct Resting {
    /// The one that rests longest first.
    lines: HashMap<Authority, Vec<(Driven, Instant)>>,
    /// Whether somebody closes those that rest too long.
    is_watched: bool,
}

impl Idle {
    /// The connection to `at` that was used last.
    pub(super) fn take(&self, at: &Authority) -> Option<Driven> {
        let mut resting = self.lock();
        let (driven, until) = resting.lines.get_mut(at)?.pop()?;
        (until > Instant::now()).then_some(driven)
    }

    /// Keeps a connection; one too many is closed. Called within a runtime.
    pub(super) fn put(self: &Arc<Self>, at: &Authority, driven: Driven) {
        let mut resting = self.lock();
        if !resting.lines.contains_key(at) {
            resting.lines.insert(at.clone(), Vec::new());
        }
        let lines = resting.lines.get_mut(at).filter(|lines| lines.len() < POOL_IDLE_MAX);
        let Some(lines) = lines else { return };
        lines.push((driven, Instant::now() + POOL_IDLE_TIME));
        if !std::mem::replace(&mut resting.is_watched, true) {
            tokio::spawn(watch(Arc::downgrade(self)));
        }
    }

    /// Closes those that rested too long; says whether any are left.
    fn sweep(&self) -> bool {
        let (mut resting, now) = (self.lock(), Instant::now());
        resting.lines.retain(|_, lines| {
            lines.retain(|(_, until)| *until > now);
            !lines.is_empty()
        });
        resting.is_watched = !resting.lines.is_empty();
        resting.is_watched
    }

    fn lock(&self) -> MutexGuard<'_, Resting> {
        // A panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lives while connections rest.
async fn watch(idle: Weak<Idle>) {
    loop {
        sleep(POOL_IDLE_TIME).await;
        if !idle.upgrade().is_some_and(|idle| idle.sweep()) {
            return;
        }
    }
}
