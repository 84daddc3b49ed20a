//! The one place for a discussion that a connection has, and the reins of whoever holds it.

use crate::runs::Control;
use althing_stdx::{Fault, Kind, Result};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

/// Whether a discussion is being held. Clones are the same place.
#[derive(Clone, Default)]
pub(super) struct Place(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    holder: Option<Holder>,
    /// Of the latest discussion, also when nobody holds the place any more.
    control: Option<Control>,
}

/// A request that holds the place. What is asked of it before its discussion has begun is kept.
struct Holder {
    is_resumed: bool,
    is_cancelled: bool,
    /// Turns true when its last event has been handed to the connection.
    is_told: watch::Sender<bool>,
}

/// The place, held until this is dropped.
pub(super) struct Held(Place);

impl Place {
    /// Takes the place. Where whoever holds it has been cancelled, waits until it is free.
    pub async fn take(&self) -> Result<Held> {
        self.left(|holder| holder.is_cancelled).await;
        let mut state = self.state();
        if state.holder.is_some() {
            let message = "A discussion is already in progress. \
                           Cancel it first or wait for completion.";
            return Err(Fault::new(Kind::Busy, message));
        }
        let is_told = watch::Sender::new(false);
        *state = State {
            holder: Some(Holder { is_resumed: false, is_cancelled: false, is_told }),
            control: None,
        };
        Ok(Held(self.clone()))
    }

    /// Ends a pause of the discussion, or its next one.
    pub fn resume(&self) {
        let mut state = self.state();
        let State { holder: Some(holder), control } = &mut *state else { return };
        match control {
            Some(control) => control.go_on(),
            None => holder.is_resumed = true,
        }
    }

    /// Stops the discussion and returns when the place is free.
    pub async fn cancel(&self) {
        self.stop();
        self.left(|_| true).await;
    }

    /// Stops the discussion.
    pub fn stop(&self) {
        let mut state = self.state();
        if let Some(holder) = &mut state.holder {
            holder.is_cancelled = true;
        }
        if let Some(control) = &state.control {
            control.cancel();
        }
    }

    /// Returns when the latest discussion is over and saved.
    pub async fn saved(&self) {
        let control = self.state().control.clone();
        if let Some(mut control) = control {
            control.over().await;
        }
    }

    /// Waits until whoever holds the place has left, where that one `may` be waited for.
    async fn left(&self, may: impl Fn(&Holder) -> bool) {
        let told =
            self.state().holder.as_ref().filter(|it| may(it)).map(|it| it.is_told.subscribe());
        if let Some(mut told) = told {
            // An error means that it has left.
            let _ = told.wait_for(|is_told| *is_told).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is whole, so it is sound whatever happened to a holder.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Held {
    /// The discussion has begun: hands over its reins, and what was asked of it meanwhile.
    pub fn begin(&self, control: &Control) {
        let mut state = self.0.state();
        let Some(holder) = &state.holder else { return };
        if holder.is_resumed {
            control.go_on();
        }
        if holder.is_cancelled {
            control.cancel();
        }
        state.control = Some(control.clone());
    }
}

impl Drop for Held {
    /// A request that breaks off, with its connection or by itself, leaves no discussion behind.
    fn drop(&mut self) {
        self.0.stop();
        if let Some(holder) = self.0.state().holder.take() {
            // Nobody may be waiting for it.
            let _ = holder.is_told.send(true);
        }
    }
}
