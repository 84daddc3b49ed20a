//! The one place for a discussion that a connection has, and the reins of whoever holds it.

use crate::runs::Control;
use althing_stdx::{Fault, Kind, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// How long the end of a phase is held back behind the answer to `resume_discussion`. Quorum's
/// terminal frontend closes its pause some time after that answer, and with it one that began in the
/// same read: then it waits for ever. Half of it would do; the rest is for a busy machine.
pub(super) const RESUME_GAP: Duration = Duration::from_millis(60);

/// Whether a discussion is being held. Clones are the same place.
#[derive(Clone, Default)]
pub(super) struct Place(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Whoever holds the place, and behind it who waits for that. All but the last are cancelled,
    /// so whatever is asked of the discussion is asked of the last.
    line: VecDeque<Holder>,
    /// Of the latest discussion, also when nobody holds the place any more.
    control: Option<Control>,
    /// Whether the frontend has left: whoever still comes begins cancelled.
    is_closed: bool,
    next_ticket: u64,
    /// When the last `resume_discussion` was answered.
    resumed_at: Option<Instant>,
}

/// A request that holds the place, or will. What is asked of it before its discussion has begun is
/// kept.
struct Holder {
    ticket: u64,
    is_resumed: bool,
    is_cancelled: bool,
    control: Option<Control>,
    /// Turns true when its last event has been handed to the connection.
    is_told: watch::Sender<bool>,
}

/// A stand in the line, left when this is dropped.
pub(super) struct Held {
    place: Place,
    ticket: u64,
}

impl Place {
    /// Takes the place. Where whoever holds it has been cancelled, waits until it is free.
    pub async fn take(&self) -> Result<Held> {
        let held = self.stand()?;
        // Somebody between may leave before the first does.
        while let Some(told) = self.before(held.ticket) {
            wait(told).await;
        }
        Ok(held)
    }

    /// Ends a pause of the discussion, or its next one.
    pub fn resume(&self) {
        let mut state = self.state();
        state.resumed_at = Some(Instant::now());
        let Some(holder) = state.line.back_mut() else { return };
        match &holder.control {
            Some(control) => control.go_on(),
            None => holder.is_resumed = true,
        }
    }

    /// Waits until the answer to a `resume_discussion` is [`RESUME_GAP`] old, and to those that come
    /// meanwhile.
    pub async fn let_resume_settle(&self) {
        loop {
            let until = self.state().resumed_at.map(|at| at + RESUME_GAP);
            match until.filter(|until| *until > Instant::now()) {
                Some(until) => sleep_until(until).await,
                None => return,
            }
        }
    }

    /// Stops the discussion and returns when it has left.
    pub async fn cancel(&self) {
        self.stop();
        let told = self.state().line.back().map(|last| last.is_told.subscribe());
        if let Some(told) = told {
            wait(told).await;
        }
    }

    /// Stops the discussion, and every later one as it begins.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.stop();
    }

    /// Returns when the latest discussion is over and saved.
    pub async fn saved(&self) {
        let control = self.state().control.clone();
        if let Some(mut control) = control {
            control.over().await;
        }
    }

    fn stop(&self) {
        if let Some(holder) = self.state().line.back_mut() {
            holder.stop();
        }
    }

    /// Goes to the end of the line, where nobody in it wants to go on.
    fn stand(&self) -> Result<Held> {
        let mut state = self.state();
        if state.line.back().is_some_and(|last| !last.is_cancelled) {
            let message = "A discussion is already in progress. \
                           Cancel it first or wait for completion.";
            return Err(Fault::new(Kind::Busy, message));
        }
        let (ticket, is_cancelled) = (state.next_ticket, state.is_closed);
        state.next_ticket += 1;
        state.line.push_back(Holder {
            ticket,
            is_resumed: false,
            is_cancelled,
            control: None,
            is_told: watch::Sender::new(false),
        });
        Ok(Held { place: self.clone(), ticket })
    }

    /// Who stands directly before `ticket`.
    fn before(&self, ticket: u64) -> Option<watch::Receiver<bool>> {
        let state = self.state();
        let before = state.line.iter().take_while(|holder| holder.ticket < ticket).last();
        before.map(|holder| holder.is_told.subscribe())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is whole, so it is sound whatever happened to a holder.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

async fn wait(mut told: watch::Receiver<bool>) {
    // An error means that it has left.
    let _ = told.wait_for(|is_told| *is_told).await;
}

impl Holder {
    fn stop(&mut self) {
        self.is_cancelled = true;
        if let Some(control) = &self.control {
            control.cancel();
        }
    }
}

impl Held {
    /// The discussion has begun: hands over its reins, and what was asked of it meanwhile.
    pub fn begin(&self, control: &Control) {
        let mut state = self.place.state();
        let ours = state.line.iter_mut().find(|holder| holder.ticket == self.ticket);
        let Some(holder) = ours else { return };
        if holder.is_resumed {
            control.go_on();
        }
        if holder.is_cancelled {
            control.cancel();
        }
        holder.control = Some(control.clone());
        state.control = Some(control.clone());
    }
}

impl Drop for Held {
    /// A request that breaks off, with its connection or by itself, leaves no discussion behind.
    fn drop(&mut self) {
        let mut state = self.place.state();
        let at = state.line.iter().position(|holder| holder.ticket == self.ticket);
        if let Some(mut holder) = at.and_then(|at| state.line.remove(at)) {
            holder.stop();
            // Nobody may be waiting for it.
            let _ = holder.is_told.send(true);
        }
    }
}
