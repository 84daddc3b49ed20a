//! YAML by its events. Anchors, aliases, tags, keys that are no scalars and several documents in one
//! text are not for extensions: such a text has no views and takes no patches.

mod parse;
mod write;

pub(super) use write::write;

use super::Patch;
use super::node::{self, Language};
use althing_jsonrpc::Error;
use serde_json::Value;

/// What a scalar without quotes is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalars {
    /// Text, as it is written; only what is empty, `~` or `null` is nothing.
    AsWritten,
    /// What YAML 1.2 makes of it.
    Typed,
}

const LANGUAGE: Language = Language {
    read: |text| read(text, Scalars::Typed),
    nodes: |text| parse::parse(text).ok().map(|tree| tree.node()),
    flow: write::flow,
    may_rewrite: true,
};

pub(super) fn read(text: &str, scalars: Scalars) -> Result<Value, String> {
    Ok(parse::parse(text)?.value(scalars))
}

/// Applies one patch.
pub(super) fn patch(text: &mut String, patch: &Patch) -> Result<(), Error> {
    node::patch(text, patch, &LANGUAGE)
}
