//! Lanes: how many calls a server takes at once. A laptop's model server loads one model at a
//! time, so two calls at once would only evict each other's model.

use crate::Endpoint;
use crate::http::origin;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// A call's place in a lane; dropping it lets the next one in.
pub(crate) type Place = OwnedSemaphorePermit;

/// How a call gets into its lane.
pub(crate) enum Entry {
    /// It has its place.
    Placed(Place),
    /// It has to stand in line for one.
    Line(Arc<Semaphore>),
}

/// Addresses whose servers are remembered; beyond that they are worked out anew.
const NAMES_MAX: usize = 256;

/// The lanes in use, by server. A lane lives as long as a call or a model that uses it.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The server of an address: asked for at every call, and it never changes.
    names: HashMap<String, Arc<str>>,
    open: HashMap<Arc<str>, Weak<Semaphore>>,
}

impl Lanes {
    /// The lane to the server at `address`. All its endpoints share it, and the first one there
    /// decides how wide it is.
    pub(crate) fn to(&self, address: &str, parallel: usize) -> Arc<Semaphore> {
        // A panic elsewhere cannot leave the maps half changed.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let server = known.server(address);
        known.open.retain(|_, lane| lane.strong_count() > 0);
        let open = known.open.get(&server).and_then(Weak::upgrade);
        open.unwrap_or_else(|| {
            let lane = Arc::new(Semaphore::new(parallel.clamp(1, Semaphore::MAX_PERMITS)));
            known.open.insert(server, Arc::downgrade(&lane));
            lane
        })
    }
}

impl Known {
    fn server(&mut self, address: &str) -> Arc<str> {
        if let Some(server) = self.names.get(address) {
            return server.clone();
        }
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
        }
        let server: Arc<str> = server(address).into();
        self.names.insert(address.to_string(), server.clone());
        server
    }
}

/// What of an address names the server: its models share a lane whatever path they have.
fn server(address: &str) -> String {
    let server = address.parse().map_or_else(|_| address.to_string(), |url| origin(&url));
    server.to_ascii_lowercase().replace("//localhost", "//127.0.0.1")
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
        assert!(Arc::ptr_eq(&first, &lanes.to("http://localhost:11434/v1", 4)));
        assert!(!Arc::ptr_eq(&first, &lanes.to("http://localhost:1234", 1)));
        assert_eq!(first.available_permits(), 1);
        drop(first);
        assert_eq!(lanes.to("http://localhost:11434", 4).available_permits(), 4);
        assert_eq!(lanes.to("http://none", 0).available_permits(), 1, "nobody waits for ever");
    }

    #[test]
    fn many_addresses_are_forgotten_and_lanes_are_not() {
        let lanes = Lanes::default();
        let first = lanes.to("http://localhost:11434/0", 1);
        for at in 1..=2 * NAMES_MAX {
            let again = lanes.to(&format!("http://localhost:11434/{at}"), 1);
            assert!(Arc::ptr_eq(&first, &again));
        }
        assert!(lanes.0.lock().unwrap().names.len() <= NAMES_MAX);
    }
}
