//! The message in the editor, as a document: text of one form, which extensions read and change
//! through views and patches. Pure; who keeps it on a disk is not its business.

mod format;
mod hl7;
mod json;
mod lines;
mod node;
mod patch;
mod pointer;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

pub use format::Format;
pub use patch::{Patch, PatchFailure, PatchReport};

use crate::code;
use althing_jsonrpc::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Bytes of a document. A change that would make it longer is refused.
pub const DOCUMENT_BYTES_MAX: usize = 10 << 20;

/// Bytes that the patches of one request may look at, all together: an HL7 message is scanned, the
/// others are read anew for each patch. Those beyond fail; they may come in another request.
const HL7_WORK_BYTES_MAX: usize = 4 << 30;
const TREE_WORK_BYTES_MAX: usize = 32 << 20;

/// Patches of one request. More are refused as a whole.
pub const PATCHES_MAX: usize = 10_000;

/// The number of a segment, field, repetition, element or line; higher ones are no path.
pub const INDEX_MAX: usize = 9_999;

/// What kind of text a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// An HL7 v2 message: what Hermes extensions expect.
    Hl7,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// Anything else.
    Text,
}

impl Form {
    /// The form that a file's name or, where that says nothing, its beginning suggests.
    pub fn of(file_name: &str, text: &str) -> Form {
        let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending.to_ascii_lowercase().as_str() {
            "hl7" | "er7" => Form::Hl7,
            "json" => Form::Json,
            "yaml" | "yml" => Form::Yaml,
            "toml" => Form::Toml,
            _ if text.starts_with("MSH") => Form::Hl7,
            _ => Form::Text,
        }
    }
}

/// The message in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    form: Form,
    text: String,
    file: Option<PathBuf>,
}

impl Document {
    /// A document of any text: nothing is checked, since a person may be in the middle of typing.
    pub fn new(form: Form, text: impl Into<String>) -> Document {
        Document { form, text: text.into(), file: None }
    }

    /// The same, kept in `file`.
    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Document {
        self.file = Some(file.into());
        self
    }

    /// What kind of text it is.
    pub fn form(&self) -> Form {
        self.form
    }

    /// All of it, as it is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it is kept, if it is.
    pub fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    pub(crate) fn set_file(&mut self, file: PathBuf) {
        self.file = Some(file);
    }

    /// What an extension sees that asks for `format`. The own format, and for any document `hl7`,
    /// is the text as it is.
    pub fn view(&self, format: Format) -> Result<String, Error> {
        if format.is_own(self.form) {
            return Ok(self.text.clone());
        }
        if self.text.trim().is_empty() {
            return Err(code::no_message());
        }
        let tree = self.tree().map_err(|error| no_view(format, &error.message))?;
        format.write(&tree, self.form).map_err(|what| no_view(format, &what))
    }

    /// Takes what an extension gives in `format`. What says the same as the document has already
    /// leaves its bytes alone.
    pub fn set(&mut self, given: &str, format: Format) -> Result<(), Error> {
        let text = self.merged(given, format)?;
        if text.len() > DOCUMENT_BYTES_MAX {
            let what = format!("message: {} bytes, max {DOCUMENT_BYTES_MAX}", text.len());
            return Err(code::invalid_message(what));
        }
        self.text = text;
        Ok(())
    }

    fn merged(&self, given: &str, format: Format) -> Result<String, Error> {
        if format.is_own(self.form) {
            self.check(given)?;
            return Ok(given.to_string());
        }
        let tree = format.read(given, self.form).map_err(code::invalid_message)?;
        if self.form == Form::Hl7 {
            return hl7::merge(&self.text, &tree).map_err(code::invalid_message);
        }
        if self.tree().is_ok_and(|mine| mine == tree) {
            return Ok(self.text.clone());
        }
        let own = Format::own(self.form).ok_or_else(|| {
            code::invalid_message("a text document has no other format than hl7, its text")
        })?;
        own.write(&tree, self.form).map_err(code::invalid_message)
    }

    /// Whether `given` may be the text of a document of this form.
    fn check(&self, given: &str) -> Result<(), Error> {
        match self.form {
            Form::Hl7 => hl7::check(given).map_err(code::invalid_message),
            Form::Text => Ok(()),
            form => Document::new(form, given)
                .tree()
                .map(drop)
                .map_err(|error| code::invalid_message(error.message)),
        }
    }

    fn tree(&self) -> Result<Value, Error> {
        let tree = match self.form {
            Form::Hl7 => hl7::tree(&self.text),
            Form::Json => json::read(&self.text),
            Form::Yaml => yaml::read(&self.text, yaml::Scalars::Typed),
            Form::Toml => toml::read(&self.text),
            Form::Text => Err("a text document has no structure".into()),
        };
        tree.map_err(code::invalid_message)
    }

    /// Applies patches in their order, each to what the former ones made, and tells of those that
    /// came to nothing.
    pub fn patch(&mut self, patches: &[Patch]) -> Result<PatchReport, Error> {
        if patches.len() > PATCHES_MAX {
            let what = format!("patches: {} of them, max {PATCHES_MAX}", patches.len());
            return Err(code::validation(what));
        }
        if self.form == Form::Hl7 && self.text.trim().is_empty() {
            return Err(code::no_message());
        }
        let is_scanned = matches!(self.form, Form::Hl7 | Form::Text);
        let mut left = if is_scanned { HL7_WORK_BYTES_MAX } else { TREE_WORK_BYTES_MAX };
        let mut report = PatchReport::default();
        for (index, patch) in patches.iter().enumerate() {
            let outcome = match left.checked_sub(self.text.len()) {
                Some(rest) => {
                    left = rest;
                    self.apply(patch)
                }
                None if index == 0 => self.apply(patch),
                None => Err(code::validation("too much for one request: send it in parts")),
            };
            report.add(index, patch, outcome);
        }
        Ok(report)
    }

    fn apply(&mut self, patch: &Patch) -> Result<(), Error> {
        let grown = self.text.len() + patch.value.as_ref().map_or(0, value_bytes);
        if grown > DOCUMENT_BYTES_MAX {
            return Err(code::validation(format!("value: over {DOCUMENT_BYTES_MAX} bytes in all")));
        }
        match self.form {
            Form::Hl7 => hl7::patch(&mut self.text, patch),
            Form::Json => json::patch(&mut self.text, patch),
            Form::Yaml => yaml::patch(&mut self.text, patch),
            Form::Toml => toml::patch(&mut self.text, patch),
            Form::Text => lines::patch(&mut self.text, patch),
        }
    }
}

fn no_view(format: Format, what: &str) -> Error {
    Error::new(code::INTERNAL, format_args!("the message has no {} view: {what}", format.name()))
}

/// A value that is no text is short enough to be counted as nothing.
fn value_bytes(value: &Value) -> usize {
    value.as_str().map_or(0, str::len)
}
