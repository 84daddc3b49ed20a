//! The traffic with an extension, a line for each message: to look at, and to play again.

mod replay;
mod tap;

pub use replay::{Difference, replay};
pub(crate) use tap::Tap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum From {
    Host,
    Extension,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Since the host started, in milliseconds.
    pub at_ms: u64,
    /// With whom.
    pub extension: String,
    /// Whose message it is.
    pub from: From,
    /// The message; what is no JSON stands here as text.
    pub message: Value,
}

/// Takes every line. Called by readers and writers, so it must not take long.
pub type Recorder = Arc<dyn Fn(&Line) + Send + Sync>;

/// The same traffic with the sides changed: to play the host's part to an extension.
pub fn turned(mut lines: Vec<Line>) -> Vec<Line> {
    for line in &mut lines {
        line.from = if line.from == From::Host { From::Extension } else { From::Host };
    }
    lines
}

/// Reads lines back; blank ones count for nothing.
pub fn read(lines: &str) -> Result<Vec<Line>, String> {
    let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))
    };
    lines.map(read).collect()
}
