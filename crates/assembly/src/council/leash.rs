//! A model on a leash: it has so long for an attempt, the run has so long for all of them, and where
//! enough others have finished it is let go.

use althing_chat::{Ask, Delta, Model, Speaking, Stop, Tool};
use althing_stdx::{Fault, Kind, Result};
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A model that speaks for `attempt` at most, never beyond `until`, and not when `enough` is true.
pub(super) struct Leash {
    pub model: Arc<dyn Model>,
    pub attempt: Duration,
    pub until: Instant,
    pub enough: watch::Receiver<bool>,
}

impl Model for Leash {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn tools(&self) -> &[Tool] {
        self.model.tools()
    }

    fn is_noisy(&self) -> bool {
        self.model.is_noisy()
    }

    fn speak(&self, ask: Ask) -> Speaking {
        let listening = Listening {
            speaking: self.model.speak(ask),
            attempt: self.attempt,
            left: self.attempt,
            until: self.until,
            deadline: self.until.min(Instant::now() + self.attempt),
            enough: self.enough.clone(),
            has_spoken: false,
            is_over: false,
        };
        stream::unfold(listening, Listening::next).boxed()
    }
}

struct Listening {
    speaking: Speaking,
    attempt: Duration,
    /// What is left of the attempt, without the time in line.
    left: Duration,
    until: Instant,
    deadline: Instant,
    enough: watch::Receiver<bool>,
    has_spoken: bool,
    is_over: bool,
}

impl Listening {
    async fn next(mut self) -> Option<(Result<Delta>, Listening)> {
        if self.is_over {
            return None;
        }
        let next = tokio::select! {
            biased;
            () = is_true(&mut self.enough) => Some(Err(let_go())),
            () = tokio::time::sleep_until(self.deadline) => Some(Err(self.too_late())),
            next = self.speaking.next() => next,
        }?;
        let next = next.and_then(|delta| self.take(delta));
        self.is_over = next.is_err();
        Some((next, self))
    }

    fn take(&mut self, delta: Delta) -> Result<Delta> {
        match &delta {
            // Time in line is not the model's own, but it is the run's.
            Delta::Queued => {
                self.left = self.deadline.saturating_duration_since(Instant::now()).min(self.left);
                self.deadline = self.until;
            }
            Delta::Started => {
                self.deadline = self.until.min(self.deadline).min(Instant::now() + self.left)
            }
            Delta::Text(text) => self.has_spoken |= !text.trim().is_empty(),
            Delta::Stop(Stop::Refused) => {}
            // An empty answer and a refusal are the same to the one who asked.
            Delta::Stop(_) if !self.has_spoken => {
                return Err(Fault::new(Kind::Refused, "the model said nothing"));
            }
            _ => {}
        }
        Ok(delta)
    }

    fn too_late(&self) -> Fault {
        let message = match self.deadline == self.until {
            true => "the time budget of the run is used up".to_string(),
            false => format!("no answer within {} s", self.attempt.as_secs_f64()),
        };
        Fault::new(Kind::TimedOut, message)
    }
}

fn let_go() -> Fault {
    Fault::new(Kind::Cancelled, "enough plans were finished before this one")
}

async fn is_true(enough: &mut watch::Receiver<bool>) {
    // An error means that nobody can say so any more.
    if enough.wait_for(|is_enough| *is_enough).await.is_err() {
        std::future::pending::<()>().await;
    }
}
