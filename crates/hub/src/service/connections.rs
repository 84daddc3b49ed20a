//! Who is connected, by either face, and the way to put somebody out.

use super::changes::Changes;
use super::words::{Caller, Change, ConnectionInfo};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Connections at once; one more is refused.
pub const CONNECTIONS_MAX: usize = 4096;
/// Characters of a client's name; the rest is cut.
const NAME_CHARS_MAX: usize = 100;
/// What a client is called that says nothing about itself.
const NAMELESS: &str = "unknown";

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
    pub fn enter(self: &Arc<Self>, face: &'static str, name: &str) -> Result<Connection> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let line = Arc::new(Line {
            face,
            name: Mutex::new(shown(name)),
            requests: AtomicI64::new(0),
            closed: CancellationToken::new(),
        });
        {
            let mut open = self.lock();
            if open.len() >= CONNECTIONS_MAX {
                let text = format!("all {CONNECTIONS_MAX} connections are taken; try again later");
                return Err(Fault::new(Kind::Busy, text));
            }
            open.insert(number, line.clone());
        }
        self.changes.tell(Change::ConnectionOpened(id(number)));
        Ok(Connection { number, line, all: self.clone() })
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
            let shown = one_line(connection_id, NAME_CHARS_MAX);
            let text = format!("connection_id: no connection '{shown}'");
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
                *known = shown(name);
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

/// A name as it may be shown: whatever the client sent, it is one short line.
fn shown(name: &str) -> String {
    let name = one_line(name, NAME_CHARS_MAX);
    if name.is_empty() { NAMELESS.into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections() -> (Arc<Connections>, tokio::sync::broadcast::Receiver<Change>) {
        let changes = Changes::default();
        let told = changes.listen();
        (Arc::new(Connections::new(changes)), told)
    }

    fn names(all: &Connections) -> Vec<String> {
        all.list().into_iter().map(|it| format!("{} {}", it.face, it.client_name)).collect()
    }

    #[test]
    fn who_is_there_until_it_leaves() {
        let (all, mut told) = connections();
        let first = all.enter("dbus", "gedit").unwrap();
        let second = all.enter("http", "").unwrap();
        second.count(Some("curl/8.5"));
        second.count(Some("curl/8.5"));
        second.count(None);
        assert_eq!(names(&all), ["dbus gedit", "http curl/8.5"]);
        let counts: Vec<i64> = all.list().iter().map(|it| it.requests_count).collect();
        assert_eq!(counts, [0, 3]);
        assert_eq!(second.caller(), Caller { connection: second.id(), name: "curl/8.5".into() });
        let (id, closed) = (first.id(), first.closed());
        drop(first);
        assert!(closed.is_cancelled());
        assert_eq!(names(&all), ["http curl/8.5"]);
        let want = [
            Change::ConnectionOpened(id.clone()),
            Change::ConnectionOpened(second.id()),
            Change::ConnectionClosed(id),
        ];
        assert_eq!(want.each_ref().map(|_| told.try_recv().unwrap()), want);
    }

    #[test]
    fn closing_tells_the_face_and_only_once_it_has_closed_is_it_gone() {
        let (all, _told) = connections();
        let one = all.enter("http", "curl").unwrap();
        let other = all.enter("http", "curl").unwrap();
        all.close(&one.id()).unwrap();
        assert!(one.closed().is_cancelled() && !other.closed().is_cancelled());
        assert_eq!(all.list().len(), 2);
        for id in ["conn_99", "99", "", "conn_", "conn_-1", "x\u{1b}[31m"] {
            let fault = all.close(id).unwrap_err();
            assert_eq!(fault.kind, Kind::NotFound, "{id}");
            assert!(fault.message.starts_with("connection_id: "), "{fault}");
            assert!(!fault.message.contains('\u{1b}'), "{fault}");
        }
    }

    #[test]
    fn names_are_short_lines() {
        let (all, _told) = connections();
        let long = "n".repeat(NAME_CHARS_MAX + 1);
        let cut = format!("{}…", "n".repeat(NAME_CHARS_MAX));
        let table = [("curl\r\n\u{1b}[31m", "curl \\u{1b}[31m"), (" \n", NAMELESS), (&long, &cut)];
        for (sent, want) in table {
            let connection = all.enter("http", sent).unwrap();
            assert_eq!(connection.caller().name, want);
            let connection = all.enter("http", "other").unwrap();
            connection.count(Some(sent));
            assert_eq!(connection.caller().name, want);
        }
    }

    #[test]
    fn there_is_a_limit() {
        let (all, _told) = connections();
        let mut open: Vec<_> =
            (0..CONNECTIONS_MAX).map(|_| all.enter("http", "curl").unwrap()).collect();
        let fault = all.enter("dbus", "gedit").err().unwrap();
        assert_eq!(fault.kind, Kind::Busy);
        open.pop();
        all.enter("dbus", "gedit").unwrap();
    }
}
