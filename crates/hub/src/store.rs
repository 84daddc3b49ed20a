//! What stays: one SQLite file with every run and its events. One connection writes, readers read
//! beside it, and other processes may do both at the same time.

mod basket;
mod file;
mod id;
mod kv;
mod lease;
pub(crate) mod minutes;
mod providers;
mod rows;
mod schema;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

use althing_assembly::Event;
use althing_stdx::{Fault, Result};
pub(crate) use basket::Basket;
use file::{Place, Trouble};
pub use id::new_run_id;
pub use lease::Lease;
use lease::Leases;
pub use providers::{ALIASES_MAX, ListedModel, NewProvider, PROVIDERS_MAX};
pub use providers::{Shelf, Stored, StoredModel};
pub use rows::{RunRow, Standing};
use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
pub(crate) use writer::Receipt;
use writer::Writer;

/// Most runs in one list, whatever is asked for.
pub const RUNS_MAX: u32 = 10_000;
/// Folder of the lock files of living runs, beside the database.
const LEASES: &str = "runs";
/// Where the turn of the rotating synthesizer is counted.
const ROTATION: &str = "rotation";

/// The store. Clones are the same store; dropping the last one waits until all is written, unless
/// it is in haste.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    place: Place,
    leases: Leases,
    reader: Arc<Mutex<Connection>>,
    writer: Writer,
}

/// The first fault that kept an event out of the store.
pub(crate) type Loss = Arc<OnceLock<Fault>>;

/// A place in the writer's queue.
pub(crate) struct Room<'a>(writer::Room<'a>);

impl Room<'_> {
    /// Queues what is in the basket when its turn comes, all or none. Where it cannot be written,
    /// `loss` says why, and nothing behind it is written either.
    pub fn append(self, basket: &Arc<Basket>, loss: &Loss) -> Receipt<()> {
        let (basket, before, loss) = (basket.clone(), loss.clone(), loss.clone());
        let take = move || match before.get() {
            Some(fault) => Err(Err(fault.clone())),
            None => Some(basket.take()).filter(|events| !events.is_empty()).ok_or(Ok(())),
        };
        let work = |db: &Connection, events: Vec<Event>| rows::append(db, &events);
        // An error means that there is one already: only the first counts.
        self.0.put_taking(take, work, move |fault| drop(loss.set(fault.clone())))
    }
}

impl Store {
    /// Opens the file at `path`, and makes it and its folder where they are missing. Blocks for a
    /// moment: for the start of a program.
    pub fn open(path: &Path) -> Result<Store> {
        let leases = Leases::Folder(path.with_file_name(LEASES));
        leases.sweep();
        Store::at(Place::File(path.to_path_buf()), leases)
    }

    /// A store that ends with this value.
    pub fn in_memory() -> Result<Store> {
        Store::at(Place::memory(), Leases::Memory(Arc::default()))
    }

    fn at(place: Place, leases: Leases) -> Result<Store> {
        let db = place.open()?;
        let reader = Arc::new(Mutex::new(place.open_to_read()?));
        let writer = Writer::new(db, place.clone());
        Ok(Store(Arc::new(Inner { place, leases, reader, writer })))
    }

    /// For a program that ends: from now on nobody waits for another process that writes, but a
    /// moment. What is not written then is lost, as after a crash.
    pub fn hasten(&self) {
        self.0.writer.hasten();
    }

    /// Takes the right to write `run`; `Busy` where a living process has it.
    pub async fn lease(&self, run: &str) -> Result<Lease> {
        self.0.leases.take(run).await
    }

    /// Writes events, all or none, and returns after the commit.
    pub async fn append(&self, events: Vec<Event>) -> Result<()> {
        self.write(move |db| rows::append(db, &events)).await
    }

    /// A place in the writer's queue; waits while it is full.
    pub(crate) async fn room(&self) -> Result<Room<'_>> {
        self.0.writer.room().await.map(Room)
    }

    /// The latest runs, the newest first, at most [`RUNS_MAX`].
    pub async fn runs(&self, limit: u32) -> Result<Vec<RunRow>> {
        let rows = self.read(move |db| rows::runs(db, limit.min(RUNS_MAX))).await?;
        Ok(rows.into_iter().map(|row| self.with_standing(row)).collect())
    }

    /// The run of this name. The start of a name is enough where it fits only one; so is `last`.
    pub async fn run(&self, name: &str) -> Result<RunRow> {
        let name = name.to_string();
        self.read(move |db| rows::run(db, &name)).await.map(|row| self.with_standing(row))
    }

    /// All events of `run`, whose name is given in full.
    pub async fn events(&self, run: &str) -> Result<Vec<Event>> {
        let run = run.to_string();
        self.read(move |db| rows::events(db, &run)).await
    }

    /// At most `most` events of `run` from `seq` on.
    pub async fn events_from(&self, run: &str, seq: u64, most: u32) -> Result<Vec<Event>> {
        let run = run.to_string();
        self.read(move |db| rows::events_from(db, &run, seq, most)).await
    }

    /// The newest run held by `method`.
    pub async fn newest(&self, method: &'static str) -> Result<Option<RunRow>> {
        let row = self.read(move |db| rows::newest(db, method)).await?;
        Ok(row.map(|row| self.with_standing(row)))
    }

    /// Whose turn it is among `n`: 0, 1, … and round again, over all processes.
    pub async fn rotate(&self, n: usize) -> Result<usize> {
        let count = self.write(|db| kv::count(db, ROTATION)).await?;
        Ok((count % n.max(1) as u64) as usize)
    }

    /// The value kept under `key`.
    pub async fn get(&self, key: &str) -> Result<Option<Value>> {
        let name = key.to_string();
        let json = self.read(move |db| kv::get(db, &name)).await?;
        json.map(|json| self.value(key, &json)).transpose()
    }

    /// Keeps `value` under `key`.
    pub async fn set(&self, key: &str, value: &Value) -> Result<()> {
        let (key, json) = (key.to_string(), value.to_string());
        self.write(move |db| kv::set(db, &key, &json)).await
    }

    /// Merges `patch` into the object under `key` in one step and gives the whole; null removes.
    pub async fn merge(&self, key: &str, patch: &Value) -> Result<Value> {
        let (name, json) = (key.to_string(), patch.to_string());
        let whole = self.write(move |db| kv::merge(db, &name, &json)).await?;
        self.value(key, &whole)
    }

    /// Changes the value under `key` in one step, whoever else writes. One that cannot be read counts
    /// as none.
    pub async fn update(
        &self,
        key: &str,
        change: impl FnOnce(Option<Value>) -> Value + Send + 'static,
    ) -> Result<()> {
        let key = key.to_string();
        self.write(move |db| {
            let before = kv::get(db, &key)?.and_then(|json| serde_json::from_str(&json).ok());
            kv::set(db, &key, &change(before).to_string())
        })
        .await
    }

    /// The values of a list, in order, without those that cannot be read.
    pub async fn list(&self, list: &str) -> Result<Vec<Value>> {
        let name = list.to_string();
        let rows = self.read(move |db| kv::list(db, &name)).await?;
        Ok(rows.iter().filter_map(|json| serde_json::from_str(json).ok()).collect())
    }

    /// Puts `value` at the end of a list, where it may stand already, and lets go of the first
    /// beyond `max`.
    pub async fn push(&self, list: &str, value: &Value, max: u32) -> Result<()> {
        let (list, json) = (list.to_string(), value.to_string());
        self.write(move |db| kv::push(db, &list, &json, max)).await
    }

    /// Brings into the file what is still in its log, as the end of the program would: for when there
    /// is something else to do meanwhile.
    pub(crate) async fn fold(&self) {
        let fold = |db: &Connection| {
            Ok(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(0))?)
        };
        // Where others are in the way the end does it.
        let _ = self.read(fold).await;
    }

    fn value(&self, key: &str, json: &str) -> Result<Value> {
        serde_json::from_str(json)
            .map_err(|error| Fault::internal(format!("{}: '{key}': {error}", self.0.place)))
    }

    fn with_standing(&self, row: RunRow) -> RunRow {
        let is_running = row.standing == Standing::Stopped && self.0.leases.is_taken(&row.id);
        if is_running { RunRow { standing: Standing::Running, ..row } } else { row }
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T> {
        self.0.writer.room().await?.put(work, |_| ()).wait_aside().await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T> {
        // Not the whole store: its last drop waits for the writer and stays with its owner.
        let (reader, place) = (self.0.reader.clone(), self.0.place.clone());
        let read = move || {
            let db = reader.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            work(&db).map_err(|trouble| place.fault(trouble))
        };
        tokio::task::spawn_blocking(read).await.map_err(Fault::internal)?
    }
}
