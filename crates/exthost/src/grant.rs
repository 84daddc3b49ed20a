//! What an extension may do, in groups of methods.

use serde::{Deserialize, Serialize};

/// A group of methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grant {
    /// To read the message, also in events.
    Read,
    /// To change it.
    Change,
    /// To open windows.
    Windows,
    /// To show messages and ask for confirmation.
    Dialogues,
    /// To ask for files and folders.
    Files,
    /// To ask the models.
    Models,
}

impl Grant {
    /// What every Hermes extension expects: all but the models.
    pub fn usual() -> Vec<Grant> {
        vec![Grant::Read, Grant::Change, Grant::Windows, Grant::Dialogues, Grant::Files]
    }

    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Grant::Read => "read",
            Grant::Change => "change",
            Grant::Windows => "windows",
            Grant::Dialogues => "dialogues",
            Grant::Files => "files",
            Grant::Models => "models",
        }
    }
}
