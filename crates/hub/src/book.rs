//! The book: every provider, model and route of this machine as one value, from the configuration
//! and from what was added, and how it is kept up to date while programs run.

use crate::config::{Config, World};
use crate::store::Store;
use althing_gateway::Gateway;
use althing_stdx::Result;
use arc_swap::ArcSwap;
use std::sync::Arc;

/// What is known at one moment.
pub struct Book {
    /// The configuration with the added providers among its endpoints.
    pub config: Arc<Config>,
}

/// The book as it is now. Reading it costs nothing; it is read again when the store changed.
pub struct Library {
    store: Store,
    gateway: Gateway,
    book: ArcSwap<Book>,
}

impl Library {
    /// Opens the person's store and reads everything once.
    pub async fn open(world: World) -> Result<Arc<Library>> {
        let config = Arc::new(Config::load(&world));
        let store = Store::open(&config.database())?;
        let gateway = Gateway::new(config.limits());
        let book = ArcSwap::from_pointee(Book { config });
        Ok(Arc::new(Library { store, gateway, book }))
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// The book as it is now.
    pub fn book(&self) -> Arc<Book> {
        self.book.load_full()
    }
}
