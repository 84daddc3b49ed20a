//! Several targets behind one voice: in order, with fallback.

use crate::{Endpoint, Gateway};
use althing_chat::{Ask, Model, Speaking};
use althing_stdx::{Fault, Kind};
use futures_util::stream::{self, StreamExt};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// One model at one server.
#[derive(Debug, Clone)]
pub struct Target {
    pub endpoint: Arc<Endpoint>,
    /// As the server names it; may end in `@effort`.
    pub model: String,
}

impl Target {
    /// `provider:model`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.endpoint.id, self.model)
    }
}

/// A target that is not asked for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// How long still.
    pub wait: Duration,
    /// What it did.
    pub kind: Kind,
}

/// Which target answered a call, once its first word is there.
pub type Answered = Arc<OnceLock<Target>>;

/// A voice over several targets. Cheap to clone.
#[derive(Clone)]
pub struct Routed(Arc<Inner>);

struct Inner {
    id: String,
}

impl Routed {
    /// As `speak`, and who answered.
    pub fn speak_noting(&self, _ask: Ask) -> (Speaking, Answered) {
        (stream::iter([Err(Fault::internal("route"))]).boxed(), Answered::default())
    }
}

impl Model for Routed {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn speak(&self, ask: Ask) -> Speaking {
        self.speak_noting(ask).0
    }
}

impl Gateway {
    /// A voice that falls back along `targets`. Calls with the same `affinity` stay at the target
    /// that answered the last one, whose prompt cache is warm.
    pub fn route(&self, id: &str, _targets: Vec<Target>, _affinity: Option<u64>) -> Routed {
        Routed(Arc::new(Inner { id: id.into() }))
    }

    /// Whether `target` is left alone just now, and why.
    pub fn rest(&self, _target: &Target) -> Option<Rest> {
        None
    }
}
