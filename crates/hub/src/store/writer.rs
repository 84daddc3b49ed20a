//! The one connection that writes, and the line before it. All that is in line is one transaction,
//! made by whoever waits for the first of it: a commit takes less time than waking a thread does. A
//! thread is for what may take longer, such as waiting for another process.

use super::file::{BUSY_WAIT_MAX, Place, Trouble};
use althing_stdx::{Fault, Kind, Result};
use rusqlite::{Connection, ErrorCode};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

/// Jobs that may wait in line; whoever brings one more waits until there is room.
pub(super) const QUEUE_MAX: usize = 1024;
/// Jobs in one transaction; the rest make the next.
const BATCH_MAX: usize = 256;
/// Another process is waited for in such steps; between them the wait may be cut short.
const WAIT_STEP: Duration = Duration::from_millis(50);
/// How long a job that nobody waits for may stay in line, to be written with others.
const LATER: Duration = Duration::from_millis(20);

/// The way to the connection. Dropping it waits until everything queued is written or given up.
pub(super) struct Writer(Arc<Desk>);

struct Desk {
    db: Mutex<Connection>,
    line: Mutex<Line>,
    /// Told whenever somebody has stopped writing.
    left: Condvar,
    /// Free places in line; closed after a panic, when nobody knows what was written.
    places: Semaphore,
    place: Place,
    /// Whether there is no time to wait for another process.
    is_hasty: AtomicBool,
}

#[derive(Default)]
struct Line {
    jobs: VecDeque<Box<dyn Job>>,
    is_writing: bool,
    /// Whether somebody waits until nobody writes: telling nobody costs a system call too.
    is_waited_for: bool,
    /// Whether somebody is about to begin a little later, for all that is in line by then.
    is_late_due: bool,
}

impl Writer {
    /// Takes over `db`.
    pub fn new(db: Connection, place: Place) -> Writer {
        Writer(Arc::new(Desk {
            db: Mutex::new(db),
            line: Mutex::default(),
            left: Condvar::new(),
            places: Semaphore::new(QUEUE_MAX),
            place,
            is_hasty: AtomicBool::new(false),
        }))
    }

    /// From now on another process is waited for no longer than one step, also by whoever does so
    /// already.
    pub fn hasten(&self) {
        self.0.is_hasty.store(true, Ordering::Relaxed);
    }

    /// A place in line; waits while there is none.
    pub async fn room(&self) -> Result<Room<'_>> {
        let permit = self.0.places.acquire().await.map_err(|_| self.0.stopped())?;
        Ok(Room { permit, desk: &self.0 })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.is_waited_for = true;
        // Poisoned or not, the other one has left.
        drop(self.0.left.wait_while(line, |line| line.is_writing));
        self.0.work_off();
    }
}

/// A place in line that is ours already.
pub(super) struct Room<'a> {
    permit: SemaphorePermit<'a>,
    desk: &'a Arc<Desk>,
}

impl Room<'_> {
    /// Queues `work`. A fault is told to `lost` as soon as it is known, and to the receipt's owner if
    /// he waits.
    pub fn put<T: Send + 'static>(
        self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
        lost: impl Fn(&Fault) + Send + 'static,
    ) -> Receipt<T> {
        self.put_taking(|| Ok(()), move |db, ()| work(db), lost)
    }

    /// The same for what `take` gives when its turn comes. Where there is nothing to be done, it
    /// gives what comes of that.
    pub fn put_taking<X: Send + 'static, T: Send + 'static>(
        self,
        take: impl FnOnce() -> Result<X, Result<T>> + Send + 'static,
        work: impl FnOnce(&Connection, X) -> Result<T, Trouble> + Send + 'static,
        lost: impl Fn(&Fault) + Send + 'static,
    ) -> Receipt<T> {
        let (tell, told) = oneshot::channel();
        let place = self.desk.place.clone();
        let work = move |db: &Connection, x| work(db, x).map_err(|trouble| place.fault(trouble));
        let task =
            Task { take: Some(take), work: Some(work), taken: None, result: None, lost, tell };
        self.desk.line().jobs.push_back(Box::new(task));
        self.permit.forget();
        Receipt { told, desk: self.desk.clone() }
    }
}

/// The promise of an acknowledgement. The job is done when its owner waits for it, a moment after he
/// lets go of it, or with somebody else's before that.
pub(crate) struct Receipt<T> {
    told: oneshot::Receiver<Result<T>>,
    desk: Arc<Desk>,
}

impl<T> Receipt<T> {
    /// Waits for the commit of little work, which is done here and now.
    pub async fn wait(self) -> Result<T> {
        self.desk.begin();
        self.told().await
    }

    /// Waits for the commit of work of any size, which is done on a thread.
    pub async fn wait_aside(self) -> Result<T> {
        self.desk.begin_aside();
        self.told().await
    }

    async fn told(mut self) -> Result<T> {
        (&mut self.told).await.map_err(|_| self.desk.stopped())?
    }
}

impl<T> Drop for Receipt<T> {
    fn drop(&mut self) {
        self.desk.begin_later();
    }
}

impl Desk {
    /// Writes what is queued, one transaction here and more of them on a thread. Where somebody is
    /// writing there is nothing to do: he looks at the line again when he has finished.
    fn begin(self: &Arc<Desk>) {
        let Some(turn) = Turn::take(self) else { return };
        turn.write(Duration::ZERO);
        if !self.line().jobs.is_empty() {
            self.begin_aside();
        }
    }

    fn begin_aside(self: &Arc<Desk>) {
        let desk = self.clone();
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || desk.work_off())),
            Err(_) => desk.work_off(),
        }
    }

    /// Begins a little later. What a runtime that ends does not get to is in line when somebody else
    /// begins, or the store is dropped.
    fn begin_later(self: &Arc<Desk>) {
        if self.line().jobs.is_empty() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return self.work_off() };
        if std::mem::replace(&mut self.line().is_late_due, true) {
            return;
        }
        let late = Late(self.clone());
        runtime.spawn(async move {
            tokio::time::sleep(LATER).await;
            late.begin();
        });
    }

    /// Writes all that is queued, however long it takes.
    fn work_off(&self) {
        while let Some(turn) = Turn::take(self) {
            turn.write(BUSY_WAIT_MAX);
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Jobs come and go whole, so the line is in order whatever happened to a holder.
        self.line.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn is_hasty(&self) -> bool {
        self.is_hasty.load(Ordering::Relaxed)
    }

    fn not_begun(&self, error: rusqlite::Error) -> Fault {
        if !(is_busy(&error) && self.is_hasty()) {
            return self.place.fault(error.into());
        }
        let message = "another process keeps it locked, and there is no time to wait";
        Fault::new(Kind::Busy, format!("{}: {message}", self.place)).source(error)
    }

    fn stopped(&self) -> Fault {
        Fault::internal(format!("{}: its writer has stopped", self.place))
    }
}

/// Somebody who begins a little later, or is gone with his runtime before that.
struct Late(Arc<Desk>);

impl Late {
    fn begin(self) {
        let desk = self.0.clone();
        drop(self);
        desk.begin();
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        self.0.line().is_late_due = false;
    }
}

/// The right to write: one at a time has it, and whoever had it looks for more.
struct Turn<'a>(&'a Desk);

impl Turn<'_> {
    fn take(desk: &Desk) -> Option<Turn<'_>> {
        let mut line = desk.line();
        if line.is_writing || line.jobs.is_empty() {
            return None;
        }
        line.is_writing = true;
        Some(Turn(desk))
    }

    /// Writes one batch. Where another process writes for longer than `wait_max` that is the fault of
    /// each of them, or, with no patience at all, they stay in line.
    fn write(self, wait_max: Duration) {
        // A transaction ends with whoever has begun it.
        let db = self.0.db.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let begun = Open::begin(&db, wait_max, || self.0.is_hasty());
        if wait_max.is_zero() && begun.as_ref().is_err_and(is_busy) {
            return;
        }
        let mut batch = self.batch();
        let place = &self.0.place;
        let committed = begun
            .map_err(|error| self.0.not_begun(error))
            .and_then(|all| transact(all, place, &mut batch));
        for job in batch {
            job.done(committed.clone());
        }
    }

    fn batch(&self) -> Vec<Box<dyn Job>> {
        let mut line = self.0.line();
        let count = line.jobs.len().min(BATCH_MAX);
        self.0.places.add_permits(count);
        line.jobs.drain(..count).collect()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.is_writing = false;
        if std::thread::panicking() {
            self.0.places.close();
            line.jobs.clear();
        }
        if line.is_waited_for {
            self.0.left.notify_all();
        }
    }
}

/// Something to be written.
trait Job: Send {
    /// Takes what there is to do, and says whether there is anything.
    fn take(&mut self) -> bool;

    /// Does it within the open transaction. After an error what it did is undone.
    fn run(&mut self, db: &Connection) -> Result<()>;

    /// The transaction is committed, or is not.
    fn done(self: Box<Self>, committed: Result<()>);
}

struct Task<X, T, K, W, L> {
    take: Option<K>,
    work: Option<W>,
    taken: Option<X>,
    result: Option<Result<T>>,
    lost: L,
    tell: oneshot::Sender<Result<T>>,
}

impl<X, T, K, W, L> Job for Task<X, T, K, W, L>
where
    X: Send,
    T: Send,
    K: FnOnce() -> Result<X, Result<T>> + Send,
    W: FnOnce(&Connection, X) -> Result<T> + Send,
    L: Fn(&Fault) + Send,
{
    fn take(&mut self) -> bool {
        match self.take.take().map(|take| take()) {
            Some(Ok(taken)) => self.taken = Some(taken),
            Some(Err(result)) => self.result = Some(result),
            None => {}
        }
        self.taken.is_some()
    }

    fn run(&mut self, db: &Connection) -> Result<()> {
        let Some((work, taken)) = self.work.take().zip(self.taken.take()) else { return Ok(()) };
        let result = work(db, taken);
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

/// The open transaction. Dropped without a commit, nothing of it was.
struct Open<'a>(&'a Connection);

impl<'a> Open<'a> {
    /// Waits for another process until `wait_max` has passed, or it `is_enough`.
    fn begin(
        db: &'a Connection,
        wait_max: Duration,
        is_enough: impl Fn() -> bool,
    ) -> rusqlite::Result<Open<'a>> {
        db.busy_timeout(wait_max.min(WAIT_STEP))?;
        let mut left = wait_max;
        while let Err(error) = order(db, "BEGIN IMMEDIATE") {
            left = left.saturating_sub(WAIT_STEP);
            if left.is_zero() || !is_busy(&error) || is_enough() {
                return Err(error);
            }
        }
        // Nobody but a reader can be in the way now, and only for a moment.
        db.busy_timeout(BUSY_WAIT_MAX)?;
        Ok(Open(db))
    }

    fn commit(self) -> rusqlite::Result<()> {
        order(self.0, "COMMIT")
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // Where it is over already, and where it cannot be undone the next one says so.
        if !self.0.is_autocommit() {
            let _ = order(self.0, "ROLLBACK");
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// One of the few orders that frame all work, which are not read anew each time.
fn order(db: &Connection, sql: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute([]).map(drop)
}

fn transact(all: Open<'_>, place: &Place, batch: &mut [Box<dyn Job>]) -> Result<()> {
    let fault = |error: rusqlite::Error| place.fault(error.into());
    let db = all.0;
    if let [alone] = batch {
        if alone.take() {
            alone.run(db)?;
        }
        return all.commit().map_err(fault);
    }
    for job in batch {
        if !job.take() {
            continue;
        }
        order(db, "SAVEPOINT job").map_err(fault)?;
        match job.run(db) {
            // A full disk and the like undo everything, not only this job.
            Err(why) if db.is_autocommit() => return Err(why),
            Err(_) => order(db, "ROLLBACK TO job").map_err(fault)?,
            Ok(()) => {}
        }
        order(db, "RELEASE job").map_err(fault)?;
    }
    all.commit().map_err(fault)
}
