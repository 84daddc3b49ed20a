//! The Quorum backend: JSON-RPC over lines, for frontends that were written for another program.
//! `docs/protocols/quorum-ipc.md` says what it speaks.

mod advisor;
mod discussion;
mod memory;
mod models;
mod params;
mod roles;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use crate::config::Config;
use crate::discover::{self, Found};
use crate::runs::Runs;
use althing_jsonrpc::{
    Cx, Ended, Error, Handler, Ndjson, OnEof, Options, RawValue, Value, connect,
};
use discussion::Discussion;
use memory::Memory;
use params::Params;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// The version of the protocol.
pub const PROTOCOL_VERSION: &str = "1.0.0";
/// A longer line is refused and skipped.
const LINE_BYTES_MAX: usize = 1_000_000;
/// How long providers may take to list their models, in the background.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a running discussion may take to stop and be saved when the frontend leaves.
const STOP_MAX: Duration = Duration::from_millis(800);

/// The first line on the wire, without its end: written before anything else is done.
pub fn ready() -> String {
    let params = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"), "protocol_version": PROTOCOL_VERSION
    });
    serde_json::json!({"jsonrpc": "2.0", "method": "ready", "params": params}).to_string()
}

/// What every request works with.
pub(crate) struct Backend {
    runs: Runs,
    memory: Memory,
    found: RwLock<Found>,
    discussion: Discussion,
}

impl Backend {
    fn config(&self) -> &Config {
        &self.runs.config
    }

    fn found(&self) -> Found {
        self.found.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Looks for models beside everything else; no request waits for it.
    async fn look_around(&self) {
        let found = discover::discover(&self.runs.config, &self.runs.gateway, PATIENCE).await;
        self.memory.remember_found(&found).await;
        *self.found.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = found;
    }
}

/// Serves one frontend until it leaves or `stop` resolves. A running discussion is stopped and saved.
pub async fn serve<R, W>(
    runs: Runs,
    home: PathBuf,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> Ended
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let memory = Memory::open(runs.store.clone(), &home).await;
    let found = RwLock::new(memory.recall_found(&runs.config));
    let backend = Arc::new(Backend { runs, memory, found, discussion: Discussion::default() });
    let options = Options { on_eof: OnEof::DropRequests, ..Options::server() };
    let (peer, driver) =
        connect(reader, writer, Ndjson::new(LINE_BYTES_MAX), Face(backend.clone()), options);
    let looking = async {
        backend.look_around().await;
        std::future::pending::<()>().await;
    };
    tokio::pin!(driver);
    let ended = tokio::select! {
        ended = &mut driver => ended,
        () = looking => unreachable!("it looks around once and waits"),
        () = stop => {
            peer.close();
            driver.await
        }
    };
    // Past this the log has all but the end, which is what a crash leaves: it can be resumed.
    let _ = tokio::time::timeout(STOP_MAX, backend.discussion.stop()).await;
    ended
}

/// The handler of a connection.
struct Face(Arc<Backend>);

impl Handler for Face {
    async fn request(&self, cx: Cx, method: &str, params: Box<RawValue>) -> Result<Value, Error> {
        let row = table::METHODS.iter().find(|row| row.name == method);
        let row = row.ok_or_else(|| Error::method_not_found(method))?;
        let params = Params::read(&params)?;
        (row.run)(&self.0, cx, params).await.map_err(Error::from)
    }
}
