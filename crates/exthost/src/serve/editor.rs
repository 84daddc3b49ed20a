//! The message.

use super::Session;
use crate::code;
use crate::document::{Form, Format, Patch};
use crate::shared::with_file;
use althing_jsonrpc::{Error, Value};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
pub(super) struct GetParams {
    format: Format,
}

pub(super) async fn get(session: &Session, params: GetParams) -> Result<Value, Error> {
    let document = session.shared.editor().document.clone();
    let message = document.view(params.format)?;
    let result = json!({ "message": message, "hasFile": document.file().is_some() });
    Ok(with_file(result, &document))
}

#[derive(Deserialize)]
pub(super) struct SetParams {
    message: String,
    format: Format,
}

/// A text that is no message is an answer; a tree that is none is an error.
pub(super) async fn set(session: &Session, params: SetParams) -> Result<Value, Error> {
    let SetParams { message, format } = params;
    let form = session.shared.editor().document.form();
    match session.shared.edit(|document| document.set(&message, format)) {
        Ok(()) => Ok(json!({ "success": true })),
        Err(error) if form == Form::Hl7 && format == Format::Hl7 => {
            Ok(json!({ "success": false, "error": error.message }))
        }
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
pub(super) struct PatchParams {
    patches: Vec<Patch>,
}

pub(super) async fn patch(session: &Session, params: PatchParams) -> Result<Value, Error> {
    let report = session.shared.edit(|document| document.patch(&params.patches))?;
    serde_json::to_value(report).map_err(|error| Error::new(code::INTERNAL, error))
}
