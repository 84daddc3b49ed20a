//! Names that outlive providers.

use super::Service;
use super::words::{RouteTarget, TargetState};
use althing_stdx::{Fault, Result};

impl Service {
    /// Sets the targets of an alias, in order; none deletes it.
    pub async fn set_route(&self, _alias: &str, _targets: Vec<RouteTarget>) -> Result<()> {
        Err(Fault::internal("set_route"))
    }

    /// The targets of an alias as they stand.
    pub async fn route(&self, _alias: &str) -> Result<Vec<TargetState>> {
        Err(Fault::internal("route"))
    }

    /// Every alias.
    pub async fn aliases(&self) -> Result<Vec<String>> {
        Err(Fault::internal("aliases"))
    }
}
