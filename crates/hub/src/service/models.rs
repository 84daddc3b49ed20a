//! Which models there are, and which may be used.

use super::Service;
use super::words::ModelInfo;
use althing_stdx::{Fault, Result};

impl Service {
    /// The models of one provider, or of all; asked for where they are not known yet.
    pub async fn models(&self, _provider_id: Option<&str>) -> Result<Vec<ModelInfo>> {
        Err(Fault::internal("models"))
    }

    pub async fn set_model_enabled(
        &self,
        _provider_id: &str,
        _model_id: &str,
        _enabled: bool,
    ) -> Result<()> {
        Err(Fault::internal("set_model_enabled"))
    }
}
