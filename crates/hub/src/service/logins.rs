//! Providers that a person logs in to.

use super::Service;
use super::words::{AddOAuth, Added, Caller, Challenge, Credentials};
use althing_stdx::{Fault, Result};

impl Service {
    /// Starts a login; polling goes on by itself from here on.
    pub async fn add_oauth(
        &self,
        _caller: &Caller,
        _wanted: AddOAuth,
    ) -> Result<(Added, Challenge)> {
        Err(Fault::internal("add_oauth"))
    }

    /// Waits a while for the login's end. The credentials go once, to the one who started it.
    pub async fn complete_oauth(
        &self,
        _caller: &Caller,
        _provider_id: &str,
    ) -> Result<Option<Credentials>> {
        Err(Fault::internal("complete_oauth"))
    }
}
