//! How many tokens models take by their providers' lists: the last ones of this process, else those
//! that the store keeps.

use super::Book;
use althing_gateway::{Endpoint, Listed, split_effort};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Models whose windows are kept in memory; of others the store's count.
const KEPT_MAX: usize = 16_384;

/// Windows by the server's address and the model's name; none where the list came and does not say.
type Noted = HashMap<(String, String), Option<u64>>;

/// What lists said about windows. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct ListedWindows(Arc<Mutex<Noted>>);

impl ListedWindows {
    fn lock(&self) -> MutexGuard<'_, Noted> {
        // A panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Keeps what a list that has just come says about windows.
    pub(crate) fn note_windows(&self, endpoint: &Endpoint, listed: &[Listed]) {
        let mut windows = self.windows.lock();
        for model in listed {
            let key = (endpoint.base_url.clone(), model.id.clone());
            if windows.len() < KEPT_MAX || windows.contains_key(&key) {
                windows.insert(key, model.context_tokens);
            }
        }
    }

    /// Tells whether a list of this process has `model`: asking for it again tells nothing new.
    pub(crate) fn is_in_list(&self, endpoint: &Endpoint, model: &str) -> bool {
        let (bare, _) = split_effort(model);
        self.windows.lock().contains_key(&(endpoint.base_url.clone(), bare.into()))
    }

    /// Returns how many tokens `model` takes by the last list of its provider.
    pub(crate) fn listed_tokens(&self, endpoint: &Endpoint, model: &str) -> Option<u64> {
        let (bare, _) = split_effort(model);
        let noted = self.windows.lock().get(&(endpoint.base_url.clone(), bare.into())).copied();
        let stored = || self.listed(&endpoint.id).find(|it| it.model == bare)?.context_tokens;
        noted.flatten().or_else(stored)
    }
}
