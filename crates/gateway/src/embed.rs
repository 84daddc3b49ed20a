//! Texts as vectors, where a provider has them.

use crate::{Endpoint, Gateway};
use althing_chat::Usage;
use althing_stdx::{Fault, Result};
use std::sync::Arc;

/// Vectors in the order of the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub usage: Option<Usage>,
}

impl Gateway {
    /// The vectors of `inputs` by `model` at `endpoint`.
    pub async fn embed(
        &self,
        _endpoint: &Arc<Endpoint>,
        _model: &str,
        _inputs: Vec<String>,
        _dimensions: Option<u32>,
    ) -> Result<Embedded> {
        Err(Fault::internal("embed"))
    }
}
