//! Lanes: how many calls a server takes at once. A laptop's model server loads one model at a
//! time, so two calls at once would only evict each other's model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// The lanes in use, by server. A lane lives as long as a model that uses it, so there are never
/// more than models.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<HashMap<String, Weak<Semaphore>>>);

impl Lanes {
    /// The lane to the server at `origin`. All its endpoints share it, and the first one there
    /// decides how wide it is.
    pub(crate) fn to(&self, origin: &str, parallel: usize) -> Arc<Semaphore> {
        // A panic elsewhere cannot leave the map half changed.
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let key = origin.to_ascii_lowercase().replace("//localhost", "//127.0.0.1");
        let open = lanes.get(&key).and_then(Weak::upgrade);
        open.unwrap_or_else(|| {
            let lane = Arc::new(Semaphore::new(parallel.clamp(1, Semaphore::MAX_PERMITS)));
            lanes.insert(key, Arc::downgrade(&lane));
            lane
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lane_per_server_as_long_as_somebody_uses_it() {
        let lanes = Lanes::default();
        let first = lanes.to("http://localhost:11434", 1);
        assert!(Arc::ptr_eq(&first, &lanes.to("http://LOCALHOST:11434", 4)));
        assert!(Arc::ptr_eq(&first, &lanes.to("http://127.0.0.1:11434", 4)));
        assert!(!Arc::ptr_eq(&first, &lanes.to("http://localhost:1234", 1)));
        assert_eq!(first.available_permits(), 1);
        drop(first);
        assert_eq!(lanes.to("http://localhost:11434", 4).available_permits(), 4);
        assert_eq!(lanes.to("http://none", 0).available_permits(), 1, "nobody waits for ever");
    }
}
