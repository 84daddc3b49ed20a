//! How the next word is chosen, as far as a request says so.

use serde::{Deserialize, Serialize};

/// Settings that tune an answer; what is none is left to the model. Every provider has some of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Makes the same request give the same answer, where the provider can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f32>,
}

impl Sampling {
    /// Tells whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Sampling::default()
    }
}
