//! Connections between two calls, by server.

use super::Driven;
use crate::http::{POOL_IDLE_MAX, POOL_IDLE_TIME};
use hyper::http::uri::Authority;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::time::{Instant, sleep};

/// The connections that rest.
#[derive(Default)]
pub(super) struct Idle(Mutex<Resting>);

#[derive(Default)]
struct Resting {
    /// Of each server; there are few.
    lines: Vec<Line>,
    /// Whether somebody closes those that rest too long.
    is_watched: bool,
}

struct Line {
    to: Authority,
    /// The one that rests longest first.
    kept: Vec<(Driven, Instant)>,
}

impl Resting {
    fn line(&mut self, to: &Authority) -> Option<&mut Line> {
        self.lines.iter_mut().find(|line| line.to.as_str() == to.as_str())
    }
}

impl Idle {
    /// The connection to `at` that was used last.
    pub(super) fn take(&self, at: &Authority) -> Option<Driven> {
        let mut resting = self.lock();
        let (driven, until) = resting.line(at)?.kept.pop()?;
        (until > Instant::now()).then_some(driven)
    }

    /// Keeps a connection; one too many is closed. Called within a runtime.
    pub(super) fn put(self: &Arc<Self>, at: &Authority, driven: Driven) {
        let mut resting = self.lock();
        let rested = (driven, Instant::now() + POOL_IDLE_TIME);
        match resting.line(at) {
            Some(line) if line.kept.len() >= POOL_IDLE_MAX => return,
            Some(line) => line.kept.push(rested),
            None => resting.lines.push(Line { to: at.clone(), kept: vec![rested] }),
        }
        if !std::mem::replace(&mut resting.is_watched, true) {
            tokio::spawn(watch(Arc::downgrade(self)));
        }
    }

    /// Closes those that rested too long; says whether any are left.
    fn sweep(&self) -> bool {
        let (mut resting, now) = (self.lock(), Instant::now());
        resting.lines.retain_mut(|line| {
            line.kept.retain(|(_, until)| *until > now);
            !line.kept.is_empty()
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
