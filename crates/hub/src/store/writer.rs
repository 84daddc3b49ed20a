//! The one thread that writes. It takes all that is queued as one transaction and acknowledges
//! each job after the commit.

use super::file::{Place, Trouble};
use althing_stdx::{Fault, Result};
use rusqlite::{Connection, TransactionBehavior};
use std::thread::{Builder, JoinHandle};
use tokio::sync::{mpsc, oneshot};

/// Jobs that may wait in line; whoever brings one more waits until there is room.
pub(super) const QUEUE_MAX: usize = 1024;
/// How often an answer is looked for before sleeping, a few hundred nanoseconds each.
#[cfg(not(test))]
const LOOKS_MAX: u32 = 500;
/// Jobs in one transaction; the rest make the next.
const BATCH_MAX: usize = 256;

/// The way to the thread. Dropping it waits until everything queued is written.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    place: Place,
}

impl Writer {
    /// Starts the thread that owns `db` from now on.
    pub fn start(db: Connection, place: Place) -> Result<Writer> {
        let (jobs, queue) = mpsc::channel(QUEUE_MAX);
        let here = place.clone();
        let thread = Builder::new()
            .name("althing-store".into())
            .spawn(move || work_off(db, &here, queue))
            .map_err(|error| Fault::internal(format!("cannot start a thread: {error}")))?;
        Ok(Writer { jobs: Some(jobs), thread: Some(thread), place })
    }

    /// A place in the queue; waits while it is full.
    pub async fn room(&self) -> Result<Room<'_>> {
        let stopped = || Fault::internal(format!("{}: its writer has stopped", self.place));
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        let permit = jobs.reserve().await.map_err(|_| stopped())?;
        Ok(Room { permit, place: &self.place })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A panic over there has been reported by then, and there is nobody to tell it to.
            let _ = thread.join();
        }
    }
}

/// A place in the queue that is ours already.
pub(super) struct Room<'a> {
    permit: mpsc::Permit<'a, Box<dyn Job>>,
    place: &'a Place,
}

impl Room<'_> {
    /// Queues `work`. A fault is told to `lost` on the writer's thread as soon as it is known, and
    /// to the receipt's owner if it waits.
    pub fn put<T: Send + 'static>(
        self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
        lost: impl Fn(&Fault) + Send + 'static,
    ) -> Receipt<T> {
        let (tell, told) = oneshot::channel();
        let place = self.place.clone();
        let work = move |db: &Connection| work(db).map_err(|trouble| place.fault(trouble));
        self.permit.send(Box::new(Task { work: Some(work), result: None, lost, tell }));
        Receipt { told, place: self.place.to_string() }
    }
}

/// The promise of an acknowledgement.
pub(crate) struct Receipt<T> {
    told: oneshot::Receiver<Result<T>>,
    place: String,
}

impl<T: Send + 'static> Receipt<T> {
    /// Waits for the commit.
    pub async fn wait(self) -> Result<T> {
        let stopped = |_| Fault::internal(format!("{}: its writer has stopped", self.place));
        told(self.told).await.map_err(stopped)?
    }
}

/// Looks for the answer a little while before it sleeps: a commit takes less time than being put to
/// sleep and woken again does on an idle machine.
#[cfg(not(test))]
async fn told<T>(mut told: oneshot::Receiver<T>) -> Result<T, oneshot::error::RecvError> {
    for _ in 0..LOOKS_MAX {
        match told.try_recv() {
            Ok(answer) => return Ok(answer),
            Err(oneshot::error::TryRecvError::Empty) => std::thread::yield_now(),
            Err(oneshot::error::TryRecvError::Closed) => break,
        }
    }
    told.await
}

/// In tests not a plain await: a paused clock would run ahead while all that is left to do is on
/// another thread, and a turn could time out while it is being saved.
#[cfg(test)]
async fn told<T: Send + 'static>(
    told: oneshot::Receiver<T>,
) -> Result<T, oneshot::error::RecvError> {
    let told = tokio::task::spawn_blocking(move || told.blocking_recv());
    told.await.expect("receiving does not panic")
}

/// Something to be written.
trait Job: Send {
    /// Does it within the open transaction. After an error what it did is undone.
    fn run(&mut self, db: &Connection) -> Result<()>;

    /// The transaction is committed, or is not.
    fn done(self: Box<Self>, committed: Result<()>);
}

struct Task<T, W, L> {
    work: Option<W>,
    result: Option<Result<T>>,
    lost: L,
    tell: oneshot::Sender<Result<T>>,
}

impl<T, W, L> Job for Task<T, W, L>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T> + Send,
    L: Fn(&Fault) + Send,
{
    fn run(&mut self, db: &Connection) -> Result<()> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let result = work(db);
        let outcome = result.as_ref().map(drop).map_err(Fault::clone);
        self.result = Some(result);
        outcome.inspect_err(&self.lost)
    }

    fn done(self: Box<Self>, committed: Result<()>) {
        let not_run = || Err(Fault::internal("committed without being run"));
        let Task { result, lost, tell, .. } = *self;
        let result = committed.inspect_err(lost).and_then(|()| result.unwrap_or_else(not_run));
        // Whoever does not wait has dropped the receipt.
        let _ = tell.send(result);
    }
}

fn work_off(mut db: Connection, place: &Place, mut queue: mpsc::Receiver<Box<dyn Job>>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        let committed = transact(&mut db, place, &mut batch);
        for job in batch.drain(..) {
            job.done(committed.clone());
        }
    }
}

fn transact(db: &mut Connection, place: &Place, batch: &mut [Box<dyn Job>]) -> Result<()> {
    let fault = |error: rusqlite::Error| place.fault(error.into());
    let mut all = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    for job in batch {
        let one = all.savepoint().map_err(fault)?;
        match job.run(&one) {
            Ok(()) => one.commit().map_err(fault)?,
            // A full disk and the like undo everything, not only this job.
            Err(why) if one.is_autocommit() => return Err(why),
            Err(_) => one.finish().map_err(fault)?,
        }
    }
    all.commit().map_err(fault)
}
