//! Adding providers, listing and removing them.

use super::Service;
use super::words::{
    AddApiKey, AddLocal, AddOAuth, Added, Caller, Challenge, Credentials, ProviderInfo,
};
use althing_stdx::{Fault, Result};

impl Service {
    /// Checks the key with the provider and keeps both. A refused key keeps nothing.
    pub async fn add_api_key(&self, _wanted: AddApiKey) -> Result<Added> {
        Err(Fault::internal("add_api_key"))
    }

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

    pub async fn add_local(&self, _wanted: AddLocal) -> Result<Added> {
        Err(Fault::internal("add_local"))
    }

    pub async fn list_providers(&self) -> Result<Vec<ProviderInfo>> {
        Err(Fault::internal("list_providers"))
    }

    pub async fn delete_provider(&self, _provider_id: &str) -> Result<()> {
        Err(Fault::internal("delete_provider"))
    }

    /// Asks the provider for its models; says how many it has.
    pub async fn test_provider(&self, _provider_id: &str) -> Result<String> {
        Err(Fault::internal("test_provider"))
    }
}
