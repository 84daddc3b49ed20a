//! What changed, for whoever listens. A listener that falls behind misses changes and can read the
//! whole again.

use super::words::Change;
use tokio::sync::broadcast;

/// Changes kept for a slow listener; older ones are lost to it.
const CHANGES_MAX: usize = 256;

/// Clones are the same.
#[derive(Clone)]
pub struct Changes(broadcast::Sender<Change>);

impl Default for Changes {
    fn default() -> Changes {
        Changes(broadcast::Sender::new(CHANGES_MAX))
    }
}

impl Changes {
    pub fn tell(&self, change: Change) {
        // Nobody may be listening.
        let _ = self.0.send(change);
    }

    /// Everything from now on.
    pub fn listen(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}
