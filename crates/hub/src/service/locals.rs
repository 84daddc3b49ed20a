//! Providers that are files on this machine.

use super::Service;
use super::words::{AddLocal, Added};
use althing_stdx::{Fault, Result};

impl Service {
    pub async fn add_local(&self, _wanted: AddLocal) -> Result<Added> {
        Err(Fault::internal("add_local"))
    }
}
