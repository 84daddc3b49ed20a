//! What changed, for whoever listens. Nobody waits for a listener: one that falls behind is told
//! that it missed changes, and reads the whole again.

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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::broadcast::error::TryRecvError;

    #[test]
    fn a_slow_listener_is_told_what_it_missed() {
        let changes = Changes::default();
        changes.tell(Change::ProviderAdded("before".into()));
        let mut slow = changes.listen();
        let missed = 3;
        for number in 0..CHANGES_MAX + missed {
            changes.clone().tell(Change::RouteChanged(number.to_string()));
        }
        assert_eq!(slow.try_recv(), Err(TryRecvError::Lagged(missed as u64)));
        assert_eq!(slow.try_recv(), Ok(Change::RouteChanged(missed.to_string())));
    }
}
