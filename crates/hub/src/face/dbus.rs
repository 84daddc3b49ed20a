//! The capability service on the session bus, with D-Bus's own types.
//!
//! `requests.rs` has every request once; `interfaces.rs` and `messages.rs` are its two forms,
//! `gate.rs` knows who calls, `fields.rs` and `words.rs` read and write `a{sv}`, `outgoing.rs` has
//! what the bus cannot carry, and `stay.rs` comes back to a bus that was lost.

mod address;
pub mod client;
mod fields;
mod gate;
mod interfaces;
mod messages;
mod outgoing;
mod refusal;
mod requests;
mod stay;
#[cfg(test)]
mod tests;
mod words;

pub use address::BusAddress;
pub use client::Client;
pub use gate::{CALL_BYTES_MAX, CALLS_BYTES_MAX, CALLS_MAX, CLIENTS_MAX};
pub use outgoing::REPLY_BYTES_MAX;
pub use stay::{Lives, News};

use crate::service::Service;
use crate::service::words::Change;
use althing_stdx::{Fault, Kind, Result};
use futures_util::StreamExt;
use gate::Gate;
use interfaces::{Chat, Connections, Metrics, Models, Providers, Root, Routing, Streams};
use messages::Messages;
use outgoing::Outgoing;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use zbus::Connection;
use zbus::fdo::{DBusProxy, NameOwnerChanged, NameOwnerChangedStream, RequestNameFlags};
use zbus::names::{BusName, WellKnownName};
use zbus::object_server::SignalEmitter;

/// The name on the bus, for callers, `.service` files and units.
pub const BUS_NAME: &str = "org.althing.Capability1";
/// The one object.
pub const OBJECT_PATH: &str = "/org/althing/Capability1";
/// The interface with all requests as `a{sv}` to `a{sv}`.
pub const MESSAGES_INTERFACE: &str = "org.althing.Capability1.Messages";
/// Of every interface; grows when something is added.
pub const VERSION: u32 = 1;

/// What the service does beyond the protocol's text: the root's `Capabilities`.
pub const CAPABILITIES: &[&str] = &[
    "messages",
    "tools",
    "streams",
    "stream-fd",
    "stream-chunks",
    "aliases",
    "fallback",
    "oauth-device",
    "local-gguf",
    "metrics",
];

/// How long replies under way may take to leave when the face ends; then they are lost.
const LEAVE_MS_MAX: u64 = 2_000;

/// The service, on the bus under its name.
pub struct Face {
    service: Arc<Service>,
    address: BusAddress,
    bus: Connection,
    gate: Arc<Gate>,
    leaving: NameOwnerChangedStream,
}

impl Face {
    /// Takes the name; from here on calls are answered. A name that is taken stays taken.
    pub async fn open(service: Arc<Service>, address: &BusAddress) -> Result<Face> {
        let bus = address.connect().await?;
        let daemon = DBusProxy::new(&bus).await.map_err(broken)?;
        // Before the first call can come: nobody leaves unseen.
        let leaving = daemon.receive_name_owner_changed_with_args(&[(2, "")]).await;
        let leaving = leaving.map_err(broken)?;
        let gate = Gate::new(service.clone(), daemon.clone());
        let face = Face { service, address: address.clone(), bus, gate, leaving };
        face.offer().await.map_err(broken)?;
        let flags = RequestNameFlags::DO_NOT_QUEUE;
        match face.bus.request_name_with_flags(BUS_NAME, flags).await {
            Ok(_) => Ok(face),
            Err(zbus::Error::NameTaken) => Err(taken(&daemon).await),
            Err(error) => Err(broken(error)),
        }
    }

    async fn offer(&self) -> zbus::Result<()> {
        let (server, gate) = (self.bus.object_server(), || self.gate.clone());
        server.at(OBJECT_PATH, Root).await?;
        server.at(OBJECT_PATH, Messages(gate())).await?;
        server.at(OBJECT_PATH, Providers(gate())).await?;
        server.at(OBJECT_PATH, Models(gate())).await?;
        server.at(OBJECT_PATH, Routing(gate())).await?;
        server.at(OBJECT_PATH, Chat(gate())).await?;
        server.at(OBJECT_PATH, Streams(gate())).await?;
        server.at(OBJECT_PATH, Metrics(gate())).await?;
        server.at(OBJECT_PATH, Connections(gate())).await?;
        Ok(())
    }

    /// Announces changes and sees clients leave, until `stop`, or until the bus goes away, which is
    /// an error.
    pub async fn run(mut self, stop: CancellationToken) -> Result<()> {
        let outcome = self.attend(&stop).await;
        self.gate.close();
        let bus = self.bus.clone();
        drop(self);
        // Nothing leaves over a bus that is gone.
        if outcome.is_ok() {
            let leave = Duration::from_millis(LEAVE_MS_MAX);
            // Past the limit the connection goes with the process.
            let _ = tokio::time::timeout(leave, bus.graceful_shutdown()).await;
        }
        outcome
    }

    async fn attend(&mut self, stop: &CancellationToken) -> Result<()> {
        let emitter = SignalEmitter::new(&self.bus, OBJECT_PATH).map_err(broken)?;
        let mut changes = self.service.changes.listen();
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = self.bus.closed() => {
                    return Err(Fault::new(Kind::Network, "the session bus went away"));
                }
                signal = self.leaving.next() => match signal {
                    Some(signal) => self.left(&signal),
                    None => return Err(Fault::new(Kind::Network, "the session bus went away")),
                },
                change = changes.recv() => match change {
                    // A signal that cannot be sent means that the bus is gone, seen above.
                    Ok(change) => { let _ = announce(&emitter, &change.carried()).await; }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Err(Fault::internal("changes ended")),
                },
            }
        }
    }

    fn left(&self, signal: &NameOwnerChanged) {
        if let Ok(args) = signal.args()
            && let BusName::Unique(name) = args.name()
        {
            self.gate.left(name);
        }
    }
}

impl Drop for Face {
    fn drop(&mut self) {
        // The gate holds the bus and the bus holds the gate.
        self.gate.close();
    }
}

async fn announce(emitter: &SignalEmitter<'_>, change: &Change) -> zbus::Result<()> {
    match change {
        Change::ProviderAdded(id) => Providers::provider_added(emitter, id).await,
        Change::ProviderRemoved(id) => Providers::provider_removed(emitter, id).await,
        Change::ProviderChanged(id) => Providers::provider_changed(emitter, id).await,
        Change::ModelsChanged(id) => Models::models_changed(emitter, id).await,
        Change::RouteChanged(alias) => Routing::route_changed(emitter, alias).await,
        Change::ConnectionOpened(id) => Connections::connection_opened(emitter, id).await,
        Change::ConnectionClosed(id) => Connections::connection_closed(emitter, id).await,
    }
}

/// Who has our name.
async fn taken(daemon: &DBusProxy<'_>) -> Fault {
    let who = match daemon.get_connection_unix_process_id(well_known().into()).await {
        Ok(id) => match process_name(id) {
            Some(process) => format!("{process} (process {id})"),
            None => format!("process {id}"),
        },
        Err(_) => "another program".into(),
    };
    Fault::new(Kind::Busy, format!("{BUS_NAME} is taken on this bus by {who}"))
}

/// What a process is called.
fn process_name(id: u32) -> Option<String> {
    // The kernel answers out of memory: nothing to wait for.
    let name = std::fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
    Some(althing_stdx::text::printable(name.trim())).filter(|name| !name.is_empty())
}

fn well_known() -> WellKnownName<'static> {
    WellKnownName::from_static_str_unchecked(BUS_NAME)
}

fn broken(error: zbus::Error) -> Fault {
    Fault::new(Kind::Network, format!("the session bus: {error}"))
}
