//! What is known of a call while it waits and runs: whose it is, whether it is still wanted, and
//! how far its caller has come with the items of its answer.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::functions::Failure;
use crate::ext::Notes;
use crate::limits::{ANSWER_MAX, STREAM_BYTES_MAX, STREAM_ITEMS_MAX};
use crate::socket::Link;
use crate::wait::block_on;

thread_local! {
    /// The call that this thread runs.
    static CURRENT: RefCell<Option<Arc<Ticket>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
pub(super) struct Ticket {
    pub link: Arc<Link>,
    pub id: Vec<u8>,
    /// Whether the call has named extensions, so that its answer does too.
    pub is_offered: bool,
    /// Whether its answer is wanted item by item.
    pub is_stream: bool,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    is_cancelled: bool,
    is_gone: bool,
    /// How many items the caller has taken, and the sizes of those that it has not.
    taken: u64,
    open: VecDeque<usize>,
    open_bytes: usize,
}

impl State {
    /// That the caller has room for an item, or will never have.
    fn room(&self) -> Option<Result<(), Failure>> {
        if self.is_cancelled {
            return Some(Err(cancelled()));
        }
        if self.is_gone {
            return Some(Err(gone()));
        }
        let has_room = self.open.len() < STREAM_ITEMS_MAX && self.open_bytes < STREAM_BYTES_MAX;
        has_room.then_some(Ok(()))
    }
}

impl Ticket {
    pub(super) fn new(link: &Arc<Link>, id: &[u8], notes: &Notes<'_>) -> Ticket {
        let knows_streams = notes.ext.is_some_and(|it| it.has(crate::ext::Extension::Stream));
        Ticket {
            link: link.clone(),
            id: id.to_vec(),
            is_offered: notes.ext.is_some(),
            is_stream: knows_streams && notes.is_stream,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Runs something in the name of this call.
    pub(super) fn around<T>(self: &Arc<Ticket>, run: impl FnOnce() -> T) -> T {
        CURRENT.set(Some(self.clone()));
        let output = run();
        CURRENT.set(None);
        output
    }

    pub(super) fn current() -> Option<Arc<Ticket>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Nobody wants the answer any more.
    pub(super) fn cancel(&self) {
        self.lock().is_cancelled = true;
        self.changed.notify_waiters();
    }

    /// The connection of the caller has ended. The call runs on, as it does in every library, but
    /// a stream has nowhere to go.
    pub(super) fn hang_up(&self) {
        self.lock().is_gone = true;
        self.changed.notify_waiters();
    }

    /// The caller has taken so many items in all.
    pub(super) fn taken(&self, total: u64) {
        let mut state = self.lock();
        while state.taken < total
            && let Some(bytes) = state.open.pop_front()
        {
            state.open_bytes -= bytes;
            state.taken += 1;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// An item of so many bytes was sent.
    pub(super) fn sent(&self, bytes: usize) {
        let mut state = self.lock();
        state.open.push_back(bytes);
        state.open_bytes += bytes;
    }

    /// Whether a further item may be sent now; never again is a failure.
    pub(super) fn has_room(&self) -> Result<bool, Failure> {
        let room = self.lock().room().transpose()?;
        Ok(room.is_some() && !self.link.is_full())
    }

    /// Waits until a further item may be sent.
    pub(super) fn wait_for_room(&self) -> Result<(), Failure> {
        let room = async {
            loop {
                self.until(State::room).await?;
                if !self.link.is_full() {
                    return Ok(());
                }
                self.link.wait_for_room().await;
            }
        };
        let stalled = || Err(Failure::ours("TimeoutError", "the caller takes no more items"));
        block_on(room, ANSWER_MAX).unwrap_or_else(stalled)
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.lock().is_cancelled
    }

    /// What a future gives, unless the call is cancelled first: then the future is dropped.
    pub(super) async fn unless_cancelled<T>(
        &self,
        run: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.cancelled() => Err(cancelled()),
            output = run => Ok(output),
        }
    }

    async fn cancelled(&self) {
        self.until(|state| state.is_cancelled.then_some(())).await;
    }

    /// Waits for a state.
    async fn until<T>(&self, is_so: impl Fn(&State) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = is_so(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    /// A panic of another thread leaves a state that is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn gone() -> Failure {
    Failure::ours("BrokenPipe", "the caller is gone")
}

pub(super) fn cancelled() -> Failure {
    Failure::ours("Cancelled", "the caller has given up")
}

/// Whether the caller of a running function still wants its answer. A function that waits is ended
/// by itself; one that computes may look here now and then.
#[derive(Debug, Clone)]
pub struct Cancel(Option<Arc<Ticket>>);

impl Cancel {
    /// That of the call which this thread runs; outside of calls one that never comes. Get it
    /// before starting threads or tasks, and give them a clone.
    pub fn current() -> Cancel {
        Cancel(Ticket::current())
    }

    /// Whether the caller has given up.
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|ticket| ticket.is_cancelled())
    }

    /// Waits until the caller gives up.
    pub async fn cancelled(&self) {
        match &self.0 {
            Some(ticket) => ticket.cancelled().await,
            None => std::future::pending().await,
        }
    }
}
