//! The capability service: one place where providers, models, routes, completions, streams,
//! metrics and connections come together. Faces call these functions and translate.

pub mod changes;
pub mod chat;
pub mod connections;
pub mod discuss;
pub mod locals;
pub mod logins;
pub mod metrics;
pub mod models;
pub mod providers;
pub mod routes;
pub mod streams;
#[cfg(test)]
pub(crate) mod tests;
pub mod words;

use crate::book::Library;
use crate::config::World;
use crate::extensions::Studio;
use crate::store::Store;
use althing_gateway::Gateway;
use althing_stdx::Result;
use changes::Changes;
use connections::Connections;
use logins::Logins;
use metrics::Metrics;
use std::sync::{Arc, OnceLock};
use streams::Streams;

/// The service. One per process, shared by its faces.
pub struct Service {
    pub library: Arc<Library>,
    pub store: Store,
    pub gateway: Gateway,
    pub metrics: Arc<Metrics>,
    pub connections: Arc<Connections>,
    pub streams: Streams,
    pub changes: Changes,
    /// Those that the web application shows.
    pub extensions: OnceLock<Studio>,
    logins: Logins,
    /// When the providers were last asked for a name that nobody knew.
    looked: tokio::sync::Mutex<Option<tokio::time::Instant>>,
}

impl Service {
    /// Opens the person's store, secrets and configuration.
    pub async fn open(world: World) -> Result<Arc<Service>> {
        let library = Library::open(world).await?;
        library.watch();
        let service = Service::over(library).await?;
        service.resume_logins().await;
        Ok(service)
    }

    /// The service over a library that is open already.
    pub async fn over(library: Arc<Library>) -> Result<Arc<Service>> {
        let (store, gateway) = (library.store().clone(), library.gateway().clone());
        let metrics = Arc::new(Metrics::open(store.clone()).await?);
        let changes = library.changes().clone();
        Ok(Arc::new(Service {
            metrics,
            connections: Arc::new(Connections::new(changes.clone())),
            streams: Streams::default(),
            changes,
            extensions: OnceLock::new(),
            logins: Logins::default(),
            looked: Default::default(),
            library,
            store,
            gateway,
        }))
    }

    /// Writes what is still in memory. Calls under way have been dropped before.
    pub async fn close(&self) -> Result<()> {
        self.streams.close_all();
        if let Some(studio) = self.extensions.get() {
            studio.close().await;
        }
        self.library.means().runners.close().await;
        self.library.workers().close().await;
        self.metrics.flush().await
    }
}
