//! A voice that remembers who answered for it.

use super::Counted;
use althing_chat::{Ask, Model, Speaking};
use althing_gateway::Target;
use althing_gateway::route::Answered;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The voice of one request. Of several calls, as tools need them, the last one counts.
pub struct NotedVoice {
    voice: Counted,
    answered: Mutex<Answered>,
}

impl NotedVoice {
    pub(super) fn new(voice: Counted) -> NotedVoice {
        NotedVoice { voice, answered: Mutex::default() }
    }

    /// Returns who answered, as `provider:model`, from the first word on; who failed last where all
    /// have; none before, and where nobody was asked.
    pub fn answered_by(&self) -> Option<String> {
        let routed = self.answered().get().map(Target::id);
        routed.or_else(|| self.voice.lone_id())
    }

    fn answered(&self) -> MutexGuard<'_, Answered> {
        // A panic elsewhere cannot leave it half changed.
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for NotedVoice {
    fn id(&self) -> &str {
        self.voice.id()
    }

    fn is_noisy(&self) -> bool {
        self.voice.is_noisy()
    }

    fn speak(&self, ask: Ask) -> Speaking {
        let (speaking, answered) = self.voice.speak_noting(ask);
        *self.answered() = answered;
        speaking
    }
}
