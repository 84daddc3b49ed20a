//! Where the session bus is.

use crate::config::World;
use althing_stdx::{Fault, Kind, Result};
use std::fmt;
use zbus::Connection;
use zbus::connection::Builder;

/// Addresses of one list that are tried; the rest is passed over.
const ADDRESSES_MAX: usize = 8;

/// The address of a bus: one or several as D-Bus writes them, tried in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusAddress(String);

impl BusAddress {
    pub fn new(address: impl Into<String>) -> BusAddress {
        BusAddress(address.into())
    }

    /// The person's session bus: `DBUS_SESSION_BUS_ADDRESS`, or where systemd puts it.
    pub fn session(world: &World) -> BusAddress {
        if let Some(address) = world.var("DBUS_SESSION_BUS_ADDRESS") {
            return BusAddress::new(address);
        }
        match world.var("XDG_RUNTIME_DIR") {
            Some(folder) => BusAddress(format!("unix:path={folder}/bus")),
            None => {
                let user = rustix::process::geteuid().as_raw();
                BusAddress(format!("unix:path=/run/user/{user}/bus"))
            }
        }
    }

    pub(super) async fn connect(&self) -> Result<Connection> {
        let mut why = String::from("no address");
        for address in self.0.split(';').filter(|it| !it.is_empty()).take(ADDRESSES_MAX) {
            match Builder::address(address).build().await {
                Ok(bus) => return Ok(bus),
                Err(error) => why = error.to_string(),
            }
        }
        Err(Fault::new(Kind::Network, format!("no session bus at {self}: {why}")))
    }
}

impl fmt::Display for BusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
