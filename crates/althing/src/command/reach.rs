//! The service, wherever it is: a running one over D-Bus, else this process on the same store.

use super::Desk;
use althing_hub::face::dbus::{BusAddress, Client};
use althing_hub::service::Service;
use althing_stdx::Result;
use std::sync::Arc;

/// Where the service's functions are called.
pub enum Reach {
    /// A running service.
    There(Client),
    /// None runs: the same functions here.
    Here(Arc<Service>),
}

/// Calls a function of the service wherever it is; both sides have the same words.
macro_rules! ask_service {
    ($reach:expr, $function:ident($($argument:expr),*)) => {
        match &$reach {
            $crate::command::reach::Reach::There(client) => client.$function($($argument),*).await,
            $crate::command::reach::Reach::Here(service) => service.$function($($argument),*).await,
        }
    };
}
pub(crate) use ask_service;

impl Desk {
    /// Finds the service. Nothing is started for it.
    pub(super) async fn reach(&self) -> Result<Reach> {
        match Client::connect(&BusAddress::session(&self.world)).await? {
            Some(client) => Ok(Reach::There(client)),
            None => Ok(Reach::Here(Service::open(self.world.clone()).await?)),
        }
    }
}
