//! Several targets behind one voice: in order, with fallback. `rules` says which fault leads to
//! which next step, `health` who is asked at all, `call` is one call from first to last target.

mod call;
mod health;
mod line;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use line::{Board, Line, Next, Turn};
pub(crate) use rules::rule;

use crate::lane::Place;
use crate::{Endpoint, Gateway, Limits};
use althing_chat::{Ask, Model, Speaking};
use althing_stdx::Kind;
use call::Call;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

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

/// Which target answered a call, once its first word is there; or which one failed last, once all
/// have. Empty where nobody was asked.
pub type Answered = Arc<OnceLock<Target>>;

/// How a target is asked within limits, once it has a place for the call. Tests put scripted
/// voices here.
type Voice = Arc<dyn Fn(&Target, Limits, Place, Ask) -> Speaking + Send + Sync>;

/// A voice over several targets. Cheap to clone.
#[derive(Clone)]
pub struct Routed(Arc<Inner>);

struct Inner {
    id: String,
    targets: Vec<Target>,
    affinity: Option<u64>,
    gateway: Gateway,
    voice: Voice,
}

impl Routed {
    /// As `speak`, and who answered. The books of the targets are kept from the first poll on.
    pub fn speak_noting(&self, ask: Ask) -> (Speaking, Answered) {
        let answered = Answered::default();
        (self.speak_into(ask, answered.clone()), answered)
    }

    /// As `speak`, with who answered put into `answered`.
    pub fn speak_into(&self, ask: Ask, answered: Answered) -> Speaking {
        let Inner { id, targets, affinity, gateway, voice } = &*self.0;
        let line = Line::new(gateway, targets.clone(), *affinity);
        Call::new(id, line, voice.clone(), ask, answered).speaking()
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
    pub fn route(&self, id: &str, targets: Vec<Target>, affinity: Option<u64>) -> Routed {
        let (gateway, door) = (self.clone(), self.clone());
        let voice: Voice =
            Arc::new(move |target, limits, place, ask| door.speak_at(target, limits, place, ask));
        Routed(Arc::new(Inner { id: id.into(), targets, affinity, gateway, voice }))
    }

    /// Whether `target` is left alone just now where others stand beside it, and why.
    pub fn rest(&self, target: &Target) -> Option<Rest> {
        self.rest_of(target, false)
    }

    /// As `rest`; a `lone` target only rests where its provider asked for it.
    pub fn rest_of(&self, target: &Target, lone: bool) -> Option<Rest> {
        let health = self.board.health();
        health.rest(&health.spot(target), lone, Instant::now())
    }
}
