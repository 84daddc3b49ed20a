//! From a name to a voice: routed, and counted.

use super::Service;
use super::words::{Caller, CompleteRequest, Completion};
use althing_chat::Model;
use althing_gateway::Target;
use althing_stdx::{Fault, Result};
use std::sync::Arc;

impl Service {
    /// The voice behind an alias, `provider:model` or a model's name: falls back along its targets
    /// and counts what it uses. `affinity` keeps a conversation at the target that knows it.
    pub fn voice(&self, _name: &str, _affinity: Option<u64>) -> Result<Arc<dyn Model>> {
        Err(Fault::internal("voice"))
    }

    /// What a name means, in the order in which it is tried.
    pub fn targets(&self, _name: &str) -> Result<Vec<Target>> {
        Err(Fault::internal("targets"))
    }

    pub async fn complete(
        &self,
        _caller: &Caller,
        _request: CompleteRequest,
    ) -> Result<Completion> {
        Err(Fault::internal("complete"))
    }
}
