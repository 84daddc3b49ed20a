//! Requests, tokens and cost per minute, kept in the store.

use super::words::Snapshot;
use crate::store::Store;
use althing_chat::Usage;
use althing_stdx::Result;

/// Counts what is asked and what it costs.
pub struct Metrics {
    _store: Store,
}

/// One request that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub provider: String,
    pub model: String,
    pub failed: bool,
    pub usage: Usage,
    /// None where nobody knows the price.
    pub cost_usd: Option<f64>,
}

impl Metrics {
    pub async fn open(store: Store) -> Result<Metrics> {
        Ok(Metrics { _store: store })
    }

    /// Never waits: counted in memory, written soon.
    pub fn record(&self, _sample: Sample) {}

    /// Everything ever kept, as one window.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot::default())
    }

    /// One snapshot per minute between two instants.
    pub async fn range(&self, _start_ms: i64, _end_ms: i64) -> Result<Vec<Snapshot>> {
        Ok(vec![])
    }

    /// Writes what is in memory.
    pub async fn flush(&self) -> Result<()> {
        Ok(())
    }
}
