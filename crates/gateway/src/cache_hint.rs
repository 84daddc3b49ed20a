//! What a server is told so that it finds again what it has read: a key for the conversation, or the
//! slot that keeps its beginning. Pure but for the count of slots, which servers tell once.

use crate::Endpoint;
use althing_chat::Ask;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of a cache key; a longer one loses its beginning, which says the least.
const KEY_CHARS_MAX: usize = 64;
/// Models whose slots are remembered; those of others are not used.
const SERVERS_MAX: usize = 1_024;

/// What a provider takes besides its dialect. Unknown servers may refuse what they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheHint {
    Nothing,
    /// OpenAI's `prompt_cache_key`.
    Key,
    /// llama.cpp's `cache_prompt` and `id_slot`.
    Slot,
}

/// Adds to the request what helps the server's cache. `slots` is how many it has, where it says so.
pub(crate) fn add_cache_hint(hint: CacheHint, ask: &Ask, slots: Option<u32>, body: &mut Value) {
    match (hint, &ask.conversation) {
        (CacheHint::Key, Some(conversation)) => {
            let key = format!("{}-{}", conversation.run, conversation.seat);
            let excess = key.chars().count().saturating_sub(KEY_CHARS_MAX);
            body["prompt_cache_key"] = key.chars().skip(excess).collect::<String>().into();
        }
        (CacheHint::Slot, conversation) => {
            body["cache_prompt"] = true.into();
            let slots = slots.filter(|slots| *slots > 1);
            if let Some((conversation, slots)) = conversation.as_ref().zip(slots) {
                body["id_slot"] = (conversation.seat % slots).into();
            }
        }
        (CacheHint::Nothing, _) | (CacheHint::Key, None) => {}
    }
}

/// How many slots servers said they have.
#[derive(Default)]
pub(crate) struct SlotCounts(Mutex<HashMap<(String, String), u32>>);

impl SlotCounts {
    pub(crate) fn get(&self, endpoint: &Endpoint, model: &str) -> Option<u32> {
        self.lock().get(&(endpoint.base_url.clone(), model.to_string())).copied()
    }

    pub(crate) fn set(&self, endpoint: &Endpoint, model: &str, slots: u32) {
        let mut known = self.lock();
        let place = (endpoint.base_url.clone(), model.to_string());
        if known.len() < SERVERS_MAX || known.contains_key(&place) {
            known.insert(place, slots);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), u32>> {
        // A panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_chat::Conversation;
    use serde_json::json;

    #[track_caller]
    fn check(hint: CacheHint, conversation: Option<(&str, u32)>, slots: Option<u32>, want: Value) {
        let conversation = conversation.map(|(run, seat)| Conversation { run: run.into(), seat });
        let ask = Ask { conversation, ..Ask::new("", "hi") };
        let mut body = json!({});
        add_cache_hint(hint, &ask, slots, &mut body);
        assert_eq!(body, want);
    }

    #[test]
    fn every_server_is_told_what_it_understands() {
        let run = Some(("r7", 5));
        check(CacheHint::Nothing, run, Some(4), json!({}));
        check(CacheHint::Key, run, None, json!({ "prompt_cache_key": "r7-5" }));
        check(CacheHint::Key, None, None, json!({}));
        check(CacheHint::Slot, run, Some(4), json!({ "cache_prompt": true, "id_slot": 1 }));
        for slots in [None, Some(0), Some(1)] {
            check(CacheHint::Slot, run, slots, json!({ "cache_prompt": true }));
        }
        check(CacheHint::Slot, None, Some(4), json!({ "cache_prompt": true }));
        let long = "x".repeat(100);
        let key = format!("{}-12", "x".repeat(61));
        check(CacheHint::Key, Some((&long, 12)), None, json!({ "prompt_cache_key": key }));
    }
}
