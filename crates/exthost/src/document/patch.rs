//! Changes that an extension asks for, and what became of them.

use althing_jsonrpc::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One change of a document.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Patch {
    /// What it changes; how that is written depends on the form of the document.
    pub path: String,
    /// What it becomes; nothing clears it.
    #[serde(default)]
    pub value: Option<Value>,
    /// Removes or clears it, whatever the value.
    #[serde(default, deserialize_with = "null_is_false")]
    pub remove: bool,
    /// Makes it exist. Counts for more than `remove`.
    #[serde(default, deserialize_with = "null_is_false")]
    pub create: bool,
}

impl Patch {
    /// How long its value is. A tree counts as long, however long it is.
    pub(crate) fn bytes(&self) -> usize {
        match &self.value {
            Some(Value::String(text)) => text.len(),
            Some(Value::Array(_) | Value::Object(_)) => usize::MAX,
            _ => 0,
        }
    }

    /// The value of a document that has only text.
    pub(super) fn text(&self) -> Result<&str, Error> {
        match &self.value {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(crate::code::validation("value: expected text")),
        }
    }
}

fn null_is_false<'de, D: serde::Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(false))
}

/// What became of a list of patches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchReport {
    /// Whether all of them were applied.
    pub success: bool,
    /// How many were.
    pub patches_applied: usize,
    /// Those that were not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<PatchFailure>,
}

/// A patch that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchFailure {
    /// Its place in the list, from 0.
    pub index: usize,
    /// Its path, as it came.
    pub path: String,
    /// Why.
    pub message: String,
    /// The same for programs.
    pub code: i32,
}

impl Default for PatchReport {
    fn default() -> PatchReport {
        PatchReport { success: true, patches_applied: 0, errors: vec![] }
    }
}

impl PatchReport {
    pub(super) fn add(&mut self, index: usize, patch: &Patch, outcome: Result<(), Error>) {
        match outcome {
            Ok(()) => self.patches_applied += 1,
            Err(Error { code, message, .. }) => {
                self.success = false;
                self.errors.push(PatchFailure { index, path: patch.path.clone(), message, code });
            }
        }
    }
}
