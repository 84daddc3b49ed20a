//! The Quorum backend: JSON-RPC over lines, for frontends that were written for another program.
//! `docs/protocols/quorum-ipc.md` says what it speaks.

mod advisor;
mod discussion;
mod ending;
mod look;
mod memory;
mod models;
mod params;
mod place;
mod roles;
mod table;
#[cfg(test)]
mod tests;
mod validate;
mod wire;

use crate::book::Book;
use crate::discover::Found;
use crate::runs::Runs;
use althing_jsonrpc::{
    Cx, Ended, Error, Handler, Limits, Ndjson, Options, Peer, RawValue, Value, connect,
};
use ending::Watched;
use look::Look;
use memory::Memory;
use params::Params;
use place::Place;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

/// The version of the protocol.
pub const PROTOCOL_VERSION: &str = "1.0.0";
/// A longer line is refused and skipped.
const LINE_BYTES_MAX: usize = 1_000_000;
/// How long what was asked may take once the frontend leaves; then it is dropped.
const FINISH_MAX: Duration = Duration::from_millis(400);
/// How long a frontend that leaves may take to read what it is owed; then that is dropped.
const FLUSH_MAX: Duration = Duration::from_millis(200);
/// How long a discussion that was broken off may take to be saved. Past this its log lacks only the
/// end, as after a crash: it can be resumed.
const SAVE_MAX: Duration = Duration::from_millis(200);

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
    look: Look,
    place: Place,
}

impl Backend {
    fn book(&self) -> Arc<Book> {
        self.runs.library.book()
    }

    /// The book with what other processes have written by now. Where the store cannot be read, what
    /// is known already has to do.
    async fn refresh(&self) {
        let _ = self.runs.library.refresh().await;
    }

    fn found(&self) -> Found {
        let found = self.found.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.book().brought_up(&found)
    }

    /// What was found last time.
    fn recall(&self) {
        let found = self.memory.recall_found(&self.book().config);
        *self.found.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = found;
    }
}

/// Serves one frontend until it leaves or `stop` resolves, and less than a second longer: a running
/// discussion is stopped and saved.
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
    let memory = Memory::open(runs.library.store().clone(), &home).await;
    let (found, look, place) = (RwLock::default(), Look::default(), Place::default());
    let backend = Arc::new(Backend { runs, memory, found, look, place });
    backend.refresh().await;
    backend.recall();
    let (reader, left) = Watched::new(reader);
    let limits = Limits { flush_max: FLUSH_MAX, ..Limits::default() };
    let options = Options { limits, ..Options::server() };
    let (peer, driver) =
        connect(reader, writer, Ndjson::new(LINE_BYTES_MAX), Face(backend.clone()), options);
    let mut driver = std::pin::pin!(driver);
    let ended = tokio::select! {
        // In this order, so that who asks at once is told what is known without asking anybody.
        biased;
        never = look::look_around(&backend) => match never {},
        ended = &mut driver => ended,
        () = left.notified() => {
            backend.place.close();
            finish(&peer, driver.as_mut(), std::future::pending()).await
        }
        () = stop => {
            backend.place.close();
            finish(&peer, driver.as_mut(), backend.place.cancel()).await
        }
    };
    backend.place.close();
    // Whether it was saved in time or not, there is nothing more to do.
    let _ = timeout(SAVE_MAX, backend.place.saved()).await;
    ended
}

/// Ends the connection when all is answered or `enough` is done, and soon in any case.
async fn finish(
    peer: &Peer,
    mut driver: Pin<&mut impl Future<Output = Ended>>,
    enough: impl Future<Output = ()>,
) -> Ended {
    tokio::select! {
        ended = &mut driver => return ended,
        // In time or not, it is over.
        _ = timeout(FINISH_MAX, enough) => peer.close(),
    }
    driver.await
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
