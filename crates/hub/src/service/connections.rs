//! Who is connected, by either face, and the way to put somebody out.

use super::changes::Changes;
use super::words::{Caller, Change, ConnectionInfo};
use althing_stdx::{Fault, Kind, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The living connections of all faces.
pub struct Connections {
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<Line>>>,
    changes: Changes,
}

struct Line {
    face: &'static str,
    name: Mutex<String>,
    requests: AtomicI64,
    closed: CancellationToken,
}

/// One connection; it leaves the list when dropped.
pub struct Connection {
    number: u64,
    line: Arc<Line>,
    all: Arc<Connections>,
}

impl Connections {
    pub fn new(changes: Changes) -> Connections {
        Connections { next: AtomicU64::new(1), open: Mutex::default(), changes }
    }

    /// A client came; `face` is `dbus`, `http` or `mcp`.
    pub fn enter(self: &Arc<Self>, face: &'static str, name: &str) -> Connection {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let line = Arc::new(Line {
            face,
            name: Mutex::new(name.into()),
            requests: AtomicI64::new(0),
            closed: CancellationToken::new(),
        });
        self.lock().insert(number, line.clone());
        self.changes.tell(Change::ConnectionOpened(id(number)));
        Connection { number, line, all: self.clone() }
    }

    /// All, oldest first.
    pub fn list(&self) -> Vec<ConnectionInfo> {
        let info = |(number, line): (&u64, &Arc<Line>)| ConnectionInfo {
            connection_id: id(*number),
            client_name: line.name.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            requests_count: line.requests.load(Ordering::Relaxed),
            face: line.face,
        };
        self.lock().iter().map(info).collect()
    }

    /// Puts a client out: its calls are cancelled and its socket closed by the face that has it.
    pub fn close(&self, connection_id: &str) -> Result<()> {
        let number = connection_id.strip_prefix("conn_").and_then(|it| it.parse().ok());
        let line = number.and_then(|number: u64| self.lock().get(&number).cloned());
        let Some(line) = line else {
            let text = format!("connection_id: no connection '{connection_id}'");
            return Err(Fault::new(Kind::NotFound, text));
        };
        line.closed.cancel();
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Line>>> {
        // A panic elsewhere cannot leave the map half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    pub fn id(&self) -> String {
        id(self.number)
    }

    /// As a caller of the service's functions.
    pub fn caller(&self) -> Caller {
        let name = self.line.name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Caller { connection: self.id(), name }
    }

    /// One more request; the client may say by then what it is called.
    pub fn count(&self, name: Option<&str>) {
        self.line.requests.fetch_add(1, Ordering::Relaxed);
        if let Some(name) = name {
            let mut known = self.line.name.lock().unwrap_or_else(PoisonError::into_inner);
            if *known != name {
                *known = name.into();
            }
        }
    }

    /// Cancelled when somebody closes the connection.
    pub fn closed(&self) -> CancellationToken {
        self.line.closed.clone()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.line.closed.cancel();
        self.all.lock().remove(&self.number);
        self.all.changes.tell(Change::ConnectionClosed(self.id()));
    }
}

fn id(number: u64) -> String {
    format!("conn_{number}")
}
