//! The formats an extension may ask for, and the trees between them.

use super::{Form, json, toml, yaml};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an extension may ask a message in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The text as it is, of whatever form.
    #[default]
    Hl7,
    /// A tree as JSON.
    Json,
    /// The same tree as YAML.
    Yaml,
    /// The same tree as TOML.
    Toml,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Hl7 => "hl7",
            Format::Json => "json",
            Format::Yaml => "yaml",
            Format::Toml => "toml",
        }
    }

    /// Whether a document of this form is in this format already.
    pub(super) fn is_own(self, form: Form) -> bool {
        self == Format::Hl7 || Format::own(form) == Some(self)
    }

    pub(super) fn own(form: Form) -> Option<Format> {
        match form {
            Form::Hl7 => Some(Format::Hl7),
            Form::Json => Some(Format::Json),
            Form::Yaml => Some(Format::Yaml),
            Form::Toml => Some(Format::Toml),
            Form::Text => None,
        }
    }

    /// The tree of a document of `form` in this format.
    pub(super) fn write(self, tree: &Value, form: Form) -> Result<String, String> {
        match self {
            Format::Hl7 => Err("it is the text itself".into()),
            Format::Json => Ok(json::write(tree)),
            // Hermes leaves the numbers of fields bare.
            Format::Yaml => Ok(yaml::write(tree, form == Form::Hl7)),
            Format::Toml => toml::write(tree),
        }
    }

    /// The tree that a text in this format has. What is to become HL7 keeps its scalars as they are
    /// written: `00123` is no number there.
    pub(super) fn read(self, given: &str, form: Form) -> Result<Value, String> {
        let is_hl7 = form == Form::Hl7;
        match self {
            Format::Hl7 => Err("it is the text itself".into()),
            Format::Json => json::read(given),
            Format::Yaml if is_hl7 => yaml::read(given, yaml::Scalars::AsWritten),
            Format::Yaml => yaml::read(given, yaml::Scalars::Typed),
            Format::Toml => toml::read(given),
        }
    }
}
