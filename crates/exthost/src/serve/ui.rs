//! The person.

use super::Session;
use crate::code;
use crate::desk::{Answer, Ask, Buttons, Filter, MessageKind, Pick, Question};
use crate::extension::State;
use crate::shared::Event;
use crate::windows::{self, Closed, Window};
use althing_jsonrpc::{Error, Value};
use serde::Deserialize;
use serde_json::json;

/// Pixels of a window's side.
const SIDE_MAX: u32 = 16_384;
/// Bytes of all text of a question.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Filters of a question, and endings of a filter.
const FILTERS_MAX: usize = 64;

#[derive(Deserialize)]
pub(super) struct OpenWindow {
    url: String,
    title: String,
    width: Option<u32>,
    height: Option<u32>,
    modal: Option<bool>,
    resizable: Option<bool>,
}

pub(super) async fn open_window(session: &Session, params: OpenWindow) -> Result<Value, Error> {
    windows::check_url(&params.url)?;
    short(&[Some(&params.title)])?;
    let side = |name: &str, given: Option<u32>, usual: u32| match given.unwrap_or(usual) {
        side @ 1..=SIDE_MAX => Ok(side),
        side => Err(code::validation(format!("{name}: {side}, expected 1 to {SIDE_MAX}"))),
    };
    let window = Window {
        id: windows::new_id(),
        extension: session.extension.id.clone(),
        url: params.url,
        title: params.title,
        width: side("width", params.width, 800)?,
        height: side("height", params.height, 600)?,
        modal: params.modal.unwrap_or(false),
        resizable: params.resizable.unwrap_or(true),
    };
    session.shared.windows().add(window.clone())?;
    if let Err(error) = session.shared.desk.open(&window) {
        session.shared.windows().remove(&window.id);
        return Err(Error::new(code::WINDOW, error.message));
    }
    session.shared.tell(Event::WindowsChanged);
    Ok(json!({ "windowId": window.id }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CloseWindow {
    window_id: String,
}

pub(super) async fn close_window(session: &Session, params: CloseWindow) -> Result<Value, Error> {
    let id = &params.window_id;
    if !session.shared.windows().is_of(id, &session.extension.id) {
        return Err(Error::new(code::WINDOW, "windowId: you have no such window"));
    }
    session.shared.window_closed(id, Closed::Extension);
    Ok(json!({ "success": true }))
}

#[derive(Deserialize)]
pub(super) struct ShowMessage {
    message: String,
    title: Option<String>,
    kind: Option<MessageKind>,
}

pub(super) async fn show_message(session: &Session, params: ShowMessage) -> Result<Value, Error> {
    short(&[Some(&params.message), params.title.as_ref()])?;
    let ShowMessage { message, title, kind } = params;
    let kind = kind.unwrap_or_default();
    match ask(session, Ask::Message { message, title, kind }).await? {
        Answer::Read => Ok(json!({ "acknowledged": true })),
        _ => Err(unfit()),
    }
}

#[derive(Deserialize)]
pub(super) struct ShowConfirm {
    message: String,
    title: Option<String>,
    buttons: Option<Buttons>,
}

pub(super) async fn show_confirm(session: &Session, params: ShowConfirm) -> Result<Value, Error> {
    short(&[Some(&params.message), params.title.as_ref()])?;
    let ShowConfirm { message, title, buttons } = params;
    let buttons = buttons.unwrap_or_default();
    match ask(session, Ask::Confirm { message, title, buttons }).await? {
        Answer::Confirmed(confirmed) => Ok(json!({ "confirmed": confirmed })),
        _ => Err(unfit()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Files {
    title: Option<String>,
    default_path: Option<String>,
    default_name: Option<String>,
    filters: Option<Vec<Filter>>,
}

pub(super) async fn open_file(session: &Session, params: Files) -> Result<Value, Error> {
    one(session, params, Pick::OpenFile).await
}

pub(super) async fn open_files(session: &Session, params: Files) -> Result<Value, Error> {
    Ok(json!({ "paths": picked(session, params, Pick::OpenFiles).await? }))
}

pub(super) async fn save_file(session: &Session, params: Files) -> Result<Value, Error> {
    one(session, params, Pick::SaveFile).await
}

pub(super) async fn select_directory(session: &Session, params: Files) -> Result<Value, Error> {
    one(session, params, Pick::Directory).await
}

async fn one(session: &Session, params: Files, pick: Pick) -> Result<Value, Error> {
    let paths = picked(session, params, pick).await?;
    Ok(json!({ "path": paths.and_then(|paths| paths.into_iter().next()) }))
}

async fn picked(
    session: &Session,
    params: Files,
    pick: Pick,
) -> Result<Option<Vec<String>>, Error> {
    let Files { title, default_path, default_name, filters } = params;
    short(&[title.as_ref(), default_path.as_ref(), default_name.as_ref()])?;
    let filters = filters.unwrap_or_default();
    let longest = filters.iter().map(|filter| filter.extensions.len()).max().unwrap_or(0);
    if filters.len().max(longest) > FILTERS_MAX {
        return Err(code::validation(format!("filters: more than {FILTERS_MAX}")));
    }
    match ask(session, Ask::Files { pick, title, default_path, default_name, filters }).await? {
        Answer::Picked(paths) => Ok(paths),
        _ => Err(unfit()),
    }
}

async fn ask(session: &Session, ask: Ask) -> Result<Answer, Error> {
    let extension = session.extension.id.clone();
    if session.extension.status().state == State::ShuttingDown {
        // Who presses Stop is not to be asked any more.
        return Err(Error::new(code::DIALOGUE, "you are ending; nobody is asked any more"));
    }
    let question = Question { extension, name: session.extension.name().to_string(), ask };
    let answered = session.shared.desk.ask(question).await;
    answered.map_err(|error| Error::new(code::DIALOGUE, error.message))
}

fn unfit() -> Error {
    Error::new(code::DIALOGUE, "the answer does not fit the question")
}

fn short(texts: &[Option<&String>]) -> Result<(), Error> {
    let bytes: usize = texts.iter().flatten().map(|text| text.len()).sum();
    if bytes > TEXT_BYTES_MAX {
        return Err(code::validation(format!("text: {bytes} bytes, max {TEXT_BYTES_MAX}")));
    }
    Ok(())
}
