//! Several targets behind one voice: in order, with fallback.

use crate::Endpoint;
use std::sync::Arc;

/// One model at one server.
#[derive(Debug, Clone)]
pub struct Target {
    pub endpoint: Arc<Endpoint>,
    /// As the server names it; may end in `@effort`.
    pub model: String,
}

impl Target {
    /// `provider:model`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.endpoint.id, self.model)
    }
}
