//! The door of the D-Bus face: who calls, whether they may, and how much at once. A client is its
//! unique bus name; what it holds goes when the name does.

use super::fields::{Dict, Sent};
use super::outgoing::{Outgoing, fit};
use super::refusal::{Refusal, Trouble, reply};
use super::requests::Asked;
use crate::service::Service;
use crate::service::connections::Connection;
use crate::service::words::Caller;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use zbus::fdo::DBusProxy;
use zbus::message::Header;
use zbus::names::{BusName, OwnedUniqueName, UniqueName};

/// Clients at once; a further one is refused with `LimitsExceeded`.
pub const CLIENTS_MAX: usize = 4096;
/// Calls of one client at work at once; a further one is refused with `LimitsExceeded`.
pub const CALLS_MAX: usize = 64;
/// Bytes of one call's arguments; a larger call is refused with `LimitsExceeded`.
pub const CALL_BYTES_MAX: usize = 16 << 20;
/// Bytes of all arguments at work at once; a call beyond is refused with `LimitsExceeded`.
pub const CALLS_BYTES_MAX: usize = 64 << 20;

/// Lets calls in.
pub(super) struct Gate {
    service: Arc<Service>,
    clients: Mutex<HashMap<OwnedUniqueName, Entry>>,
    bytes: Arc<Semaphore>,
    /// Cancelled when the face ends.
    stop: CancellationToken,
    /// Asked who a new client is. It keeps the bus open, so it goes when the face ends.
    bus: Mutex<Option<DBusProxy<'static>>>,
    me: Weak<Gate>,
}

/// What is known of a unique name.
enum Entry {
    Open(Arc<Client>),
    /// Put out: its calls are refused until it connects anew.
    Closed,
}

/// One client. The last call under way keeps it; with it goes everything it held.
struct Client {
    service: Arc<Service>,
    calls: Arc<Semaphore>,
    /// Known once the bus has said who it is.
    line: OnceCell<Connection>,
}

/// A call that was let in.
struct Visit {
    caller: Caller,
    /// Cancelled when the client leaves or is put out.
    gone: CancellationToken,
    _client: Arc<Client>,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Gate {
    pub(super) fn new(service: Arc<Service>, bus: DBusProxy<'static>) -> Arc<Gate> {
        Arc::new_cyclic(|me| Gate {
            service,
            clients: Mutex::default(),
            bytes: Arc::new(Semaphore::new(CALLS_BYTES_MAX)),
            stop: CancellationToken::new(),
            bus: Mutex::new(Some(bus)),
            me: me.clone(),
        })
    }

    /// One request of the protocol, in either form.
    pub(super) async fn call<F>(
        &self,
        header: &Header<'_>,
        fields: Dict,
        run: fn(Asked) -> F,
    ) -> Result<Sent, Refusal>
    where
        F: Future<Output = Result<Sent, Trouble>> + Send,
    {
        let work = |service, caller| async move {
            let asked = Asked { service, caller, fields };
            reply(run(asked).await)
        };
        self.during(header, work).await
    }

    /// Does some work for whoever sent the message; dropped when they leave or are put out. Every
    /// reply leaves through here.
    pub(super) async fn during<F, T>(
        &self,
        header: &Header<'_>,
        work: impl FnOnce(Arc<Service>, Caller) -> F,
    ) -> Result<T, Refusal>
    where
        F: Future<Output = Result<T, Refusal>> + Send,
        T: Outgoing,
    {
        let visit = self.admit(header).await?;
        tokio::select! {
            biased;
            // First: whoever closes its own connection still gets the answer.
            reply = work(self.service.clone(), visit.caller.clone()) => fit(reply?),
            () = visit.gone.cancelled() => Err(Refusal::denied(CLOSED)),
            () = self.stop.cancelled() => Err(Refusal::denied("the service is stopping")),
        }
    }

    async fn admit(&self, header: &Header<'_>) -> Result<Visit, Refusal> {
        let bytes = header.primary().body_len();
        if bytes as usize > CALL_BYTES_MAX {
            let text = format!("arguments: at most {CALL_BYTES_MAX} bytes, not {bytes}");
            return Err(Refusal::limits(text));
        }
        let Some(name) = header.sender() else {
            return Err(Refusal::denied("a call without a sender"));
        };
        let client = self.client(name)?;
        let calls = client.calls.clone().try_acquire_owned();
        let calls = calls.map_err(|_| {
            Refusal::limits(format!("calls: at most {CALLS_MAX} of one client at once"))
        })?;
        let bytes = self.bytes.clone().try_acquire_many_owned(bytes);
        let bytes = bytes.map_err(|_| {
            Refusal::limits(format!("arguments: at most {CALLS_BYTES_MAX} bytes at work at once"))
        })?;
        let line = match client.line.get_or_try_init(|| self.welcome(name)).await {
            Ok(line) => line,
            Err(refusal) => {
                self.left(name);
                return Err(refusal);
            }
        };
        line.count(None);
        let (caller, gone) = (line.caller(), line.closed());
        Ok(Visit { caller, gone, _client: client, _permits: [calls, bytes] })
    }

    /// The client behind a name. It is in the table before the bus is asked who it is: so one that
    /// leaves meanwhile is seen to leave.
    fn client(&self, name: &UniqueName<'_>) -> Result<Arc<Client>, Refusal> {
        let mut clients = self.lock();
        match clients.get(name.as_str()) {
            Some(Entry::Open(client)) => return Ok(client.clone()),
            Some(Entry::Closed) => return Err(Refusal::denied(CLOSED)),
            None => {}
        }
        if clients.len() >= CLIENTS_MAX {
            return Err(Refusal::limits(format!("clients: at most {CLIENTS_MAX} at once")));
        }
        let client = Arc::new(Client {
            service: self.service.clone(),
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            line: OnceCell::new(),
        });
        clients.insert(name.to_owned().into(), Entry::Open(client.clone()));
        Ok(client)
    }

    /// A client's first call: who is it? Only programs of this service's user may call.
    async fn welcome(&self, name: &UniqueName<'_>) -> Result<Connection, Refusal> {
        let gone = |_| Refusal::denied("the bus does not know who calls");
        let bus = self.bus.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let bus = bus.ok_or_else(|| Refusal::denied("the service is stopping"))?;
        let who = bus.get_connection_credentials(BusName::Unique(name.to_owned())).await;
        let who = who.map_err(gone)?;
        check_user(who.unix_user_id(), rustix::process::geteuid().as_raw())?;
        let process = who.process_id().and_then(super::process_name);
        let process = process.as_deref().unwrap_or(name);
        let line = self.service.connections.enter("dbus", process).map_err(Refusal::limits)?;
        self.watch(name, &line);
        Ok(line)
    }

    /// Shuts the name out when somebody closes its connection.
    fn watch(&self, name: &UniqueName<'_>, line: &Connection) {
        let (gate, closed) = (self.me.clone(), line.closed());
        let name = OwnedUniqueName::from(name.to_owned());
        tokio::spawn(async move {
            closed.cancelled().await;
            if let Some(gate) = gate.upgrade() {
                // One that left is not in the table any more, and stays out of it.
                let was = gate.lock().get_mut(&name).map(|it| std::mem::replace(it, Entry::Closed));
                drop(was);
            }
        });
    }

    /// A name left the bus: its calls end, and what it held is freed.
    pub(super) fn left(&self, name: &UniqueName<'_>) {
        let entry = self.lock().remove(name.as_str());
        if let Some(Entry::Open(client)) = entry
            && let Some(line) = client.line.get()
        {
            line.closed().cancel();
        }
    }

    /// Ends every call and forgets everybody.
    pub(super) fn close(&self) {
        self.stop.cancel();
        let bus = self.bus.lock().unwrap_or_else(PoisonError::into_inner).take();
        let clients = std::mem::take(&mut *self.lock());
        drop((bus, clients));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OwnedUniqueName, Entry>> {
        // A panic elsewhere cannot leave the map half changed.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a program of this user may call; the bus may not know whose it is.
pub(super) fn check_user(caller: Option<u32>, own: u32) -> Result<(), Refusal> {
    if caller == Some(own) {
        return Ok(());
    }
    Err(Refusal::denied("only programs of the service's own user may call"))
}

/// What a client hears that was put out.
const CLOSED: &str = "this connection was closed; connect to the bus anew";

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(line) = self.line.get() {
            self.service.caller_left(&line.id());
        }
    }
}
