//! Whether the engine is alive: it says what it begins to do, and a watcher sees how long nothing
//! new has begun.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// How often the engine is looked at.
pub const LOOK: Duration = Duration::from_secs(1);
/// Building a prompt, reading a grammar or choosing a token takes moments. Longer is a hang.
const THINK_MAX: Duration = Duration::from_secs(60);
/// Reading tokens never hangs, but a large model on a busy machine may take its time over them.
const DECODE_MAX: Duration = Duration::from_secs(30 * 60);
/// An engine without a sign of life for this part of its time is said to be unwell.
const UNWELL_PART: u32 = 4;

/// What the engine is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Waiting,
    Thinking,
    Decoding,
}

/// The engine's signs of life.
#[derive(Debug, Default)]
pub struct Pulse {
    /// Grows with everything that is begun.
    beats: AtomicU64,
    phase: AtomicU8,
    /// Looks since the last beat.
    silent: AtomicU64,
}

impl Pulse {
    /// Tells what the engine begins to do.
    pub fn beat(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Says whether the engine works as it should.
    pub fn is_well(&self) -> bool {
        self.allowed().is_none_or(|allowed| self.silence() < allowed / UNWELL_PART)
    }

    /// Waits until the engine hangs, and says so.
    pub async fn watch(&self) -> String {
        let mut seen = self.beats.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.beats.load(Ordering::Relaxed);
            let silent = if now == seen { self.silent.load(Ordering::Relaxed) + 1 } else { 0 };
            self.silent.store(silent, Ordering::Relaxed);
            seen = now;
            if let Some(allowed) = self.allowed().filter(|allowed| self.silence() >= *allowed) {
                let seconds = allowed.as_secs();
                return format!("llama.cpp hangs: nothing happened for {seconds} s");
            }
        }
    }

    fn silence(&self) -> Duration {
        LOOK * u32::try_from(self.silent.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
    }

    /// None: the engine waits for work, as long as it likes.
    fn allowed(&self) -> Option<Duration> {
        match self.phase.load(Ordering::Relaxed) {
            it if it == Phase::Thinking as u8 => Some(THINK_MAX),
            it if it == Phase::Decoding as u8 => Some(DECODE_MAX),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::time::{sleep, timeout};

    fn watched() -> (Arc<Pulse>, tokio::task::JoinHandle<String>) {
        let pulse = Arc::new(Pulse::default());
        let watcher = pulse.clone();
        (pulse, tokio::spawn(async move { watcher.watch().await }))
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_hangs_is_told() {
        let (pulse, watch) = watched();
        pulse.beat(Phase::Thinking);
        sleep(THINK_MAX / 2).await;
        assert!(!pulse.is_well());
        assert_eq!(watch.await.unwrap(), "llama.cpp hangs: nothing happened for 60 s");
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_works_or_waits_is_well() {
        let (pulse, mut watch) = watched();
        for _ in 0..30 {
            pulse.beat(Phase::Thinking);
            sleep(THINK_MAX / 10).await;
            assert!(pulse.is_well());
        }
        pulse.beat(Phase::Decoding);
        sleep(2 * THINK_MAX).await;
        assert!(pulse.is_well());
        pulse.beat(Phase::Waiting);
        assert!(timeout(10 * DECODE_MAX, &mut watch).await.is_err());
        assert!(pulse.is_well());
    }
}
