//! The live log of one run: in memory for its readers, in the store for good. A reader is a cursor
//! into it, so a slow or returning one needs no queue.

#[cfg(test)]
mod tests;

use crate::store::{Basket, Lease, Loss, Receipt, Store};
use althing_assembly::event::Note;
use althing_assembly::{Event, Log, What};
use althing_stdx::{Fault, Result};
use futures_util::future::BoxFuture;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Events a reader gets at once; the rest come with the next call.
const BATCH_EVENTS_MAX: usize = 256;
/// In a run with more events than this, passing ones (deltas and most notes) are left out: the end
/// of a turn has its whole text.
const EVENTS_MAX: usize = 200_000;

/// Events that nobody waits for are saved with the next one that counts, or after this time or
/// number: a transaction for each would cost more than they are worth.
const HELD_MS_MAX: u64 = 500;
const HELD_EVENTS_MAX: usize = 16;

/// What a run warns of that goes on without being saved.
pub const UNSAVED: &str = "unsaved";

/// Milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Milliseconds since 1970, by the machine's clock.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// The log of one run while it is written.
pub struct RunLog {
    run: String,
    store: Store,
    clock: Clock,
    events: Mutex<Events>,
    head: watch::Sender<Head>,
    /// What of them is not saved.
    basket: Arc<Basket>,
    loss: Loss,
    /// Whether the readers know of it.
    is_loss_told: AtomicBool,
    /// Held until the run is over.
    lease: Mutex<Option<Lease>>,
}

/// Everything that happened.
#[derive(Default)]
struct Events {
    all: Vec<Event>,
    /// Turns that have begun and not ended.
    open: usize,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    events: u64,
    is_over: bool,
}

impl RunLog {
    /// The log of a new run, by the lease on it.
    pub fn start(store: Store, lease: Lease) -> RunLog {
        RunLog::resume(store, lease, Vec::new())
    }

    /// The log of a run that goes on behind `events`, all it has in the store.
    pub fn resume(store: Store, lease: Lease, events: Vec<Event>) -> RunLog {
        let head = Head { events: events.len() as u64, is_over: false };
        RunLog {
            run: lease.run().to_string(),
            store,
            clock: Arc::new(now_ms),
            events: Mutex::new(Events { all: events, open: 0 }),
            head: watch::Sender::new(head),
            basket: Arc::default(),
            loss: Loss::default(),
            is_loss_told: AtomicBool::new(false),
            lease: Mutex::new(Some(lease)),
        }
    }

    /// The same log by another clock.
    pub fn with_clock(self, clock: Clock) -> RunLog {
        RunLog { clock, ..self }
    }

    /// The run's name.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// What happened from `seq` on, as one batch; waits while there is nothing. Nothing at all
    /// means that the run is over. A slow reader gets bigger batches, a returning one passes its
    /// last `seq + 1`.
    pub async fn since(&self, seq: u64) -> Vec<Event> {
        let is_due = |head: &Head| seq < head.events || head.is_over;
        // Cannot fail: the sender lives in `self`.
        let _ = self.head.subscribe().wait_for(is_due).await;
        self.some(seq, BATCH_EVENTS_MAX)
    }

    /// Everything that has happened so far.
    pub fn so_far(&self) -> Vec<Event> {
        self.events().all.clone()
    }

    /// At most `most` of the events so far, from `seq` on.
    pub(crate) fn some(&self, seq: u64, most: usize) -> Vec<Event> {
        self.events().all.iter().skip(seq as usize).take(most).cloned().collect()
    }

    /// Whether nothing more will come.
    pub fn is_over(&self) -> bool {
        self.head.borrow().is_over
    }

    /// Ends the log: readers finish, and the run may be resumed. For a run that stopped without an
    /// end; after `RunEnded` or a failed write it happens by itself.
    pub fn close(&self) {
        self.head.send_modify(|head| head.is_over = true);
        drop(self.lease.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take());
    }

    async fn write(&self, what: What) -> Result<()> {
        let is_end = matches!(what, What::RunEnded { .. });
        self.tell_loss();
        let saved = self.save(what).await;
        let saved = saved.or_else(|fault| {
            let first = self.loss.get().cloned().unwrap_or(fault);
            if is_survivable(&first) { Ok(()) } else { Err(first) }
        });
        if saved.is_err() || is_end {
            self.close();
        }
        self.tell_loss();
        saved
    }

    /// Why the run is not saved from some event on, though it goes on.
    pub fn loss(&self) -> Option<&Fault> {
        self.loss.get().filter(|fault| is_survivable(fault))
    }

    /// Warns the readers once that the rest of the run will not be there later.
    fn tell_loss(&self) {
        let Some(fault) = self.loss() else { return };
        if self.is_over() || self.is_loss_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let message = format!("From here on this run is not saved: {}", fault.message);
        let warned = What::Warned { code: UNSAVED.into(), message };
        // It cannot fail: what is not saved is only shown.
        drop(self.put(warned));
    }

    async fn save(&self, what: What) -> Result<()> {
        match self.put(what)? {
            _ if self.loss().is_some() => Ok(()),
            Haste::Held if !self.is_due() => Ok(()),
            Haste::Held | Haste::Queued => self.queue().await.map(drop),
            Haste::Waited => self.queue().await?.wait().await,
            Haste::Joined => {
                let receipt = self.queue().await?;
                let_others_begin().await;
                receipt.wait().await
            }
        }
    }

    /// Numbers an event and shows it to the readers; how soon it is to be saved.
    fn put(&self, what: What) -> Result<Haste> {
        let mut events = self.events();
        if let Some(fault) = self.loss.get().filter(|fault| !is_survivable(fault)) {
            return Err(fault.clone());
        }
        if self.is_over() {
            return Err(Fault::internal(format!("run {}: it is over", self.run)));
        }
        if events.all.len() >= EVENTS_MAX && is_passing(&what) {
            return Ok(Haste::Held);
        }
        events.count(&what);
        let haste = Haste::of(&what, events.open);
        // A clock set back must not put an event before its cause.
        let at_ms = events.all.last().map_or(0, |last| last.at_ms).max((self.clock)());
        let is_end = matches!(what, What::RunEnded { .. });
        let seq = events.all.len() as u64;
        let event = Event { seq, run: self.run.clone(), at_ms, what };
        if self.loss.get().is_none() {
            self.basket.put(event.clone());
        }
        events.all.push(event);
        self.head.send_modify(|head| {
            *head = Head { events: seq + 1, is_over: head.is_over || is_end };
        });
        Ok(haste)
    }

    /// Whether held events have waited long enough for something to be saved with.
    fn is_due(&self) -> bool {
        let (held, span_ms) = self.basket.held();
        held >= HELD_EVENTS_MAX || span_ms >= HELD_MS_MAX
    }

    /// Stands in line for everything that is not saved yet. Where somebody before has saved it
    /// meanwhile there is nothing left, and the receipt still comes after theirs.
    async fn queue(&self) -> Result<Receipt<()>> {
        let room = self.store.room().await?;
        self.basket.announce();
        Ok(room.append(&self.basket, &self.loss))
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        // Events are pushed whole, so they are in order whatever happened to a holder.
        self.events.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Log for RunLog {
    fn append(&self, what: What) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.write(what))
    }
}

/// Whether a run goes on without being saved: the store has a trouble, such as a full disk or another
/// process that keeps it locked. Where the run itself is somebody else's by now it does not.
fn is_survivable(fault: &Fault) -> bool {
    // What the database says is the source; a fault of our own has none.
    fault.source.is_some()
}

/// Comes back to the same task, once the others in it have been polled. Unlike tokio's own way of
/// yielding it does not wait for the system too: calls to models come first.
async fn let_others_begin() {
    let mut has_waited = false;
    let once = |cx: &mut Context<'_>| match std::mem::replace(&mut has_waited, true) {
        true => Poll::Ready(()),
        false => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    };
    poll_fn(once).await;
}

/// How soon an event is saved. Events are saved in their order, so one that is waited for brings
/// everything before it along: a call's start the ends of the turns before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Haste {
    /// With the next one that is not held: it follows at once, or what is lost is a piece of text.
    Held,
    /// In a moment, but nobody waits: others may speak for minutes before the next event.
    Queued,
    /// Before the run goes on.
    Waited,
    /// Likewise, with those who begin at the same moment.
    Joined,
}

impl Events {
    fn count(&mut self, what: &What) {
        match what {
            What::TurnStarted(_) => self.open += 1,
            What::TurnEnded { .. } => self.open = self.open.saturating_sub(1),
            _ => {}
        }
    }
}

impl Haste {
    /// `open`: turns that are still to end.
    fn of(what: &What, open: usize) -> Haste {
        match what {
            What::TurnStarted(turn) if turn.parallel => Haste::Joined,
            What::TurnStarted(_) | What::RunResumed { .. } | What::RunEnded { .. } => Haste::Waited,
            // Nothing is asked before the first turn starts, nor in a pause.
            What::RunStarted(_) | What::PauseStarted { .. } => Haste::Queued,
            What::TurnEnded { .. } if open > 0 => Haste::Queued,
            What::AnswerChecked(_) | What::PlansJudged(_) | What::Warned { .. } => Haste::Queued,
            // The judge's turn follows at once, or the end.
            What::LabelsSealed(_)
            | What::PlanSettled(_)
            | What::PhaseStarted { .. }
            | What::PhaseEnded { .. }
            | What::PauseEnded { .. }
            | What::TurnNoted { .. }
            | What::TurnDelta { .. }
            | What::TurnEnded { .. }
            | What::TurnInterrupted { .. } => Haste::Held,
        }
    }
}

/// Whether an event may be left out of a very long run: a later one says the same again. A run that
/// is resumed needs what was called and what prompts left out.
fn is_passing(what: &What) -> bool {
    match what {
        What::TurnDelta { .. } => true,
        What::TurnNoted { note, .. } => !matches!(note, Note::Called(_) | Note::Fitted(_)),
        _ => false,
    }
}
