//! Adding providers, listing and removing them.

use super::Service;
use super::words::{AddApiKey, Added, ProviderInfo};
use althing_stdx::{Fault, Result};

impl Service {
    /// Checks the key with the provider and keeps both. A refused key keeps nothing.
    pub async fn add_api_key(&self, _wanted: AddApiKey) -> Result<Added> {
        Err(Fault::internal("add_api_key"))
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
