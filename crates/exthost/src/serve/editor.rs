//! The message.

use super::Session;
use crate::code;
use crate::document::{Document, Form, Format, Patch};
use crate::editor::{Work, with_file};
use althing_jsonrpc::{Error, Value};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
pub(super) struct GetParams {
    format: Format,
}

pub(super) async fn get(session: &Session, params: GetParams) -> Result<Value, Error> {
    let _turn = session.extension.at_message.lock().await;
    let look = move |document: &Document| {
        let message = document.view(params.format)?;
        let result = json!({ "message": message, "hasFile": document.file().is_some() });
        Ok(with_file(result, document))
    };
    session.shared.look(look).await
}

#[derive(Deserialize)]
pub(super) struct SetParams {
    message: String,
    /// HL7, where nothing is said: the text as it is.
    #[serde(default)]
    format: Format,
}

/// A text that is no message is an answer; a tree that is none is an error.
pub(super) async fn set(session: &Session, params: SetParams) -> Result<Value, Error> {
    let _turn = session.extension.at_message.lock().await;
    let SetParams { message, format } = params;
    let work = Work { given_bytes: message.len(), times: 1 };
    let set = move |document: &mut Document| match document.set(&message, format) {
        Ok(()) => Ok(json!({ "success": true })),
        Err(error) if document.form() == Form::Hl7 && format == Format::Hl7 => {
            Ok(json!({ "success": false, "error": error.message }))
        }
        Err(error) => Err(error),
    };
    session.shared.change(session.extension.name(), work, set).await
}

#[derive(Deserialize)]
pub(super) struct PatchParams {
    patches: Vec<Patch>,
}

pub(super) async fn patch(session: &Session, params: PatchParams) -> Result<Value, Error> {
    let _turn = session.extension.at_message.lock().await;
    let PatchParams { patches } = params;
    let given_bytes = patches.iter().map(Patch::bytes).fold(0, usize::saturating_add);
    let work = Work { given_bytes, times: patches.len() };
    let by = session.extension.name();
    let report = session.shared.change(by, work, move |document| document.patch(&patches)).await?;
    serde_json::to_value(report).map_err(|error| Error::new(code::INTERNAL, error))
}
