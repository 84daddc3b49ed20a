//! Which conversation stays at which target.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;
use tokio::time::Instant;

/// How long a conversation is remembered after its last answer: as long as providers keep a
/// prompt's cache.
pub(super) const PIN_TIME: Duration = Duration::from_secs(5 * 60);
/// Conversations remembered. Beyond it the half that was not used for longest is forgotten, and
/// they begin at the head of their list again.
pub(super) const PINS_MAX: usize = 8192;

/// Two generations: what is used moves to the young one, and when that is full it becomes the old
/// one. So nothing is ever searched for the oldest.
#[derive(Default)]
pub(super) struct Pins {
    young: HashMap<u64, (u64, Instant)>,
    old: HashMap<u64, (u64, Instant)>,
}

impl Pins {
    /// Where the conversation was.
    pub(super) fn get(&self, conversation: u64, now: Instant) -> Option<u64> {
        let pin = self.young.get(&conversation).or_else(|| self.old.get(&conversation));
        pin.filter(|(_, used)| *used + PIN_TIME > now).map(|(place, _)| *place)
    }

    /// The conversation was answered at `place`.
    pub(super) fn set(&mut self, conversation: u64, place: u64, now: Instant) {
        if self.young.len() >= PINS_MAX / 2 && !self.young.contains_key(&conversation) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(conversation, (place, now));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
