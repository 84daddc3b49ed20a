//! What servers said about their models when they were last asked.

use super::ModelFacts;
use crate::{Endpoint, split_effort};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Models about which facts are kept; those of others are asked for each time.
const MODELS_MAX: usize = 1_024;
/// How long it is believed what is loaded: long enough for calls that come in a row.
const FRESH_MAX: Duration = Duration::from_secs(5);

/// Facts, and when they were told, by the server's address and the model's name.
type Told = HashMap<(String, String), (Instant, ModelFacts)>;

/// The facts that servers told last.
#[derive(Default)]
pub(crate) struct KnownFacts(Mutex<Told>);

impl KnownFacts {
    /// Returns how many slots the server has, whenever it said so.
    pub(crate) fn slots(&self, endpoint: &Endpoint, model: &str) -> Option<u32> {
        self.lock().get(&place(endpoint, model))?.1.slots
    }

    /// Returns what the server has just said; none where that may have changed.
    pub(crate) fn fresh(&self, endpoint: &Endpoint, model: &str) -> Option<ModelFacts> {
        let known = self.lock();
        let (told_at, facts) = known.get(&place(endpoint, model))?;
        (told_at.elapsed() < FRESH_MAX).then_some(*facts)
    }

    /// Keeps what the server said. One that said nothing this time has the slots that it had.
    pub(crate) fn note(&self, endpoint: &Endpoint, model: &str, facts: ModelFacts) {
        let slots = facts.slots.or_else(|| self.slots(endpoint, model));
        let (mut known, place) = (self.lock(), place(endpoint, model));
        if known.len() < MODELS_MAX || known.contains_key(&place) {
            known.insert(place, (Instant::now(), ModelFacts { slots, ..facts }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        // A panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(endpoint: &Endpoint, model: &str) -> (String, String) {
    (endpoint.base_url.clone(), split_effort(model).0.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::endpoint;

    #[tokio::test(start_paused = true)]
    async fn facts_grow_old_and_slots_stay() {
        let (known, server) = (KnownFacts::default(), endpoint("ollama", "http://localhost:1"));
        assert_eq!(known.fresh(&server, "m"), None);
        let facts = ModelFacts { loaded: Some(4_096), slots: Some(2), ..ModelFacts::default() };
        known.note(&server, "m@high", facts);
        assert_eq!(known.fresh(&server, "m"), Some(facts));
        assert_eq!(known.fresh(&endpoint("ollama", "http://localhost:2"), "m"), None);
        tokio::time::advance(FRESH_MAX).await;
        assert_eq!(known.fresh(&server, "m"), None);
        known.note(&server, "m", ModelFacts::default());
        assert_eq!(known.fresh(&server, "m").and_then(|facts| facts.loaded), None);
        assert_eq!(known.slots(&server, "m"), Some(2));
    }

    #[test]
    fn so_many_models_are_kept() {
        let (known, server) = (KnownFacts::default(), endpoint("ollama", "http://localhost:1"));
        for model in 0..=MODELS_MAX {
            known.note(&server, &model.to_string(), ModelFacts::default());
        }
        assert!(known.fresh(&server, "0").is_some());
        assert!(known.fresh(&server, &MODELS_MAX.to_string()).is_none());
    }
}
