//! The book as it is now, for everything that runs. Reading it costs nothing; it is read again
//! after own writes, and when another process has written.

use super::endpoint::Openers;
use super::{Book, Entry, Means};
use crate::config::{Config, Execution, World};
use crate::local::{self, Runners};
use crate::log::now_ms;
use crate::secrets::Secrets;
use crate::service::changes::Changes;
use crate::store::{Store, Stored};
use crate::workers::Workers;
use althing_gateway::Gateway;
use althing_stdx::Result;
use arc_swap::ArcSwap;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How often the writes of other processes are looked for where nobody asks.
const TICK: Duration = Duration::from_secs(1);
/// When providers that could not be opened are tried again: the keyring may be open by then.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// The book as it is now.
pub struct Library {
    /// What the environment and the files say; read once.
    base: Arc<Config>,
    store: Store,
    openers: Openers,
    workers: Arc<Workers>,
    book: ArcSwap<Book>,
    changes: Changes,
    /// Held while the book is read, with when that must be done again in any case.
    reading: Mutex<Option<Instant>>,
}

impl Library {
    /// Opens the person's store and reads everything once.
    pub async fn open(world: World) -> Result<Arc<Library>> {
        let config = Arc::new(Config::load(&world));
        let store = Store::open(&config.database())?;
        let secrets = Secrets::open(&config.data_dir, &world);
        let library = Library::new(world, config, store, secrets);
        library.reload().await?;
        Ok(library)
    }

    /// A library that has read nothing but its configuration yet; `refresh` does the rest.
    pub fn new(world: World, config: Arc<Config>, store: Store, secrets: Secrets) -> Arc<Library> {
        let workers = Workers::new(&config, &world);
        let config = match workers.endpoint() {
            Some(endpoint) => Arc::new(config.with_workers(endpoint)),
            None => config,
        };
        crate::agents::sweep(&config.data_dir);
        let gateway = match *config.execution_mode {
            Execution::Sequential => Gateway::new(config.limits()).sequential(),
            _ => Gateway::new(config.limits()),
        };
        let runners = Runners::new(local::Options::new(&world, &config));
        let data_dir = config.data_dir.value.clone();
        let shared = store.clone();
        let means = Means { world, data_dir, secrets, gateway, runners, store: shared };
        Arc::new(Library {
            book: ArcSwap::from_pointee(Book::from(&*config)),
            changes: Changes::default(),
            base: config,
            store,
            openers: Openers::new(means),
            workers,
            reading: Mutex::new(Some(Instant::now())),
        })
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn gateway(&self) -> &Gateway {
        &self.openers.means().gateway
    }

    pub fn secrets(&self) -> &Secrets {
        &self.openers.means().secrets
    }

    /// Functions in other languages.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// What those who open providers work with.
    pub fn means(&self) -> &Means {
        self.openers.means()
    }

    /// The book as it is now.
    pub fn book(&self) -> Arc<Book> {
        self.book.load_full()
    }

    /// Told of whatever changes in the book.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Reads the book again if anybody has written to it: one look into the store.
    pub async fn refresh(&self) -> Result<()> {
        let writes = self.store.book_writes().await?;
        let mut due = self.reading.lock().await;
        let is_due = due.is_some_and(|due| due <= Instant::now());
        if writes != self.book.load().writes || is_due {
            self.read(&mut due).await?;
        }
        Ok(())
    }

    /// Reads the book again.
    pub async fn reload(&self) -> Result<()> {
        self.read(&mut *self.reading.lock().await).await
    }

    /// Looks for the writes of other processes every second until the library is dropped, so that
    /// who cannot wait for the store reads a book that is hardly older.
    pub fn watch(self: &Arc<Self>) {
        let library = Arc::downgrade(self);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::spawn(async move {
            loop {
                ticks.tick().await;
                let Some(library) = library.upgrade() else { return };
                // The next tick tries again, and whoever asks is told what is wrong.
                let _ = library.refresh().await;
            }
        });
    }

    /// A provider has answered: one that could not be checked when it was added is checked now.
    /// Called within a runtime.
    pub(crate) fn answered(self: &Arc<Self>, provider_id: &str) {
        let unchecked =
            |entry: &&Entry| entry.trouble.is_none() && entry.row.checked_at_ms.is_none();
        let book = self.book.load();
        let Some(entry) = book.entry(provider_id).filter(unchecked) else { return };
        let (row, library) = (entry.row.clone(), self.clone());
        let row = Stored { checked_at_ms: Some(now_ms() as i64), ..row };
        tokio::spawn(async move {
            // Nothing is lost where it fails: the next answer tells the same.
            let _ = library.store.update_provider(&row).await;
            let _ = library.refresh().await;
        });
    }

    async fn read(&self, due: &mut Option<Instant>) -> Result<()> {
        let shelf = self.store.shelf().await?;
        let opening = shelf.providers.iter().map(|row| self.openers.endpoint(&self.base, row));
        let opened = join_all(opening).await;
        let is_whole =
            shelf.providers.iter().zip(&opened).all(|(row, it)| !row.enabled || it.is_ok());
        self.openers.keep(&shelf.providers);
        let book = Arc::new(Book::new(&self.base, shelf, opened).after(&self.book.load()));
        let before = self.book.swap(book.clone());
        book.changes_since(&before).into_iter().for_each(|change| self.changes.tell(change));
        *due = (!is_whole).then(|| Instant::now() + TRY_AGAIN);
        Ok(())
    }
}
