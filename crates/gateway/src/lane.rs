//! Lanes: how many calls a server takes at once. A laptop's model server loads one model at a
//! time, so two calls at once would only evict each other's model.

use crate::Endpoint;
use crate::http::origin;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// Calls at once that a service has for one server that takes many; more wait in line. It bounds
/// sockets and memory, not the server.
const WIDE: usize = 1024;

/// The name of the lane of all servers that are called one after the other.
pub(crate) const EVERY_SERVER: &str = "every server";

/// How wide a service's lane to `endpoint` is. A server of this machine has its own limit, and so
/// has one where the person wants fewer calls than usual. For the others the usual number is meant
/// for one discussion; a service has many clients.
pub(crate) fn width(endpoint: &Endpoint) -> usize {
    let provider = endpoint.provider;
    let own = provider.local || endpoint.parallel < provider.parallel;
    if own { endpoint.parallel } else { WIDE }
}

/// What of an address names the server: its models share a lane whatever path they have.
pub(crate) fn server(base_url: &str) -> String {
    base_url.parse().map_or_else(|_| base_url.to_string(), |url| origin(&url))
}

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
