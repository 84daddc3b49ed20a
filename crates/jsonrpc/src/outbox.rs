//! Everything that waits to be written, in one order. Whoever adds to it waits for room; only the
//! reader's own answers do not.

use crate::error::CallError;
use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, Semaphore};

/// What is kept of a buffer between batches; a bigger one goes back to the system.
const KEPT_BYTES_MAX: usize = 256 << 10;

pub(crate) struct Outbox {
    bytes_max: u32,
    /// One permit per byte that may still be added. Fair, so whoever waits first is first.
    room: Semaphore,
    filled: Notify,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    is_closed: bool,
    bytes: Vec<u8>,
    /// Permits that `bytes` took.
    charged: usize,
    /// Length of the batch that is being written.
    batch: usize,
    /// Permits that the batch took.
    batch_charged: usize,
}

impl Outbox {
    pub(crate) fn new(bytes_max: usize) -> Outbox {
        // A semaphore counts to less than that, and four billion bytes are no limit any more.
        let bytes_max = bytes_max.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Outbox {
            bytes_max: bytes_max as u32,
            room: Semaphore::new(bytes_max),
            filled: Notify::new(),
            queue: Mutex::new(Queue::default()),
        }
    }

    /// Adds a frame once there is room for it; one longer than the outbox, once that is empty.
    pub(crate) async fn push(&self, frame: &[u8]) -> Result<(), CallError> {
        let cost = self.cost(frame);
        let room = self.room.acquire_many(cost).await.map_err(|_| CallError::Closed)?;
        room.forget();
        self.append(frame, cost as usize);
        if self.is_closed() { Err(CallError::Closed) } else { Ok(()) }
    }

    /// Adds a frame even where there is no room, and says how many bytes wait now.
    pub(crate) fn push_now(&self, frame: &[u8]) -> usize {
        let charged = self.room.forget_permits(self.cost(frame) as usize);
        self.append(frame, charged);
        self.bytes()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.room.available_permits() > 0
    }

    /// Waits until there is room, or nobody needs any.
    pub(crate) async fn room(&self) {
        drop(self.room.acquire().await);
    }

    /// Waits until there may be something to write.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Takes note that `batch` is written, and makes all that waits the next one.
    pub(crate) fn next_batch(&self, batch: &mut Vec<u8>) {
        batch.clear();
        batch.shrink_to(KEPT_BYTES_MAX);
        let mut queue = self.queue();
        mem::swap(&mut queue.bytes, batch);
        queue.batch = batch.len();
        let charged = mem::take(&mut queue.charged);
        let written = mem::replace(&mut queue.batch_charged, charged);
        drop(queue);
        self.room.add_permits(written);
    }

    /// How many bytes wait to be written. A batch counts until all of it is.
    pub(crate) fn bytes(&self) -> usize {
        let queue = self.queue();
        queue.bytes.len() + queue.batch
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.queue().is_closed
    }

    /// Takes nothing more.
    pub(crate) fn close(&self) {
        self.queue().is_closed = true;
        self.room.close();
    }

    fn cost(&self, frame: &[u8]) -> u32 {
        u32::try_from(frame.len()).unwrap_or(u32::MAX).min(self.bytes_max)
    }

    fn append(&self, frame: &[u8], charged: usize) {
        let mut queue = self.queue();
        if !queue.is_closed {
            queue.bytes.extend_from_slice(frame);
            queue.charged += charged;
        }
        drop(queue);
        self.filled.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
