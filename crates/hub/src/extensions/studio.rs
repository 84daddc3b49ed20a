//! Extensions around one message, for a page: what is to be seen, and what the person may do. The
//! extensions start when the page is first looked at.

#[cfg(test)]
mod tests;

use super::picker::{Allowed, Folder};
use super::{Document, Form, Table, Troupe, Voices, file, icon};
use crate::service::Service;
use althing_exthost::desk::{Answer, Ask, Pick};
use althing_exthost::{Error, Event, ExtensionInfo, Host, State};
use althing_stdx::{Fault, Kind, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::{broadcast, watch};

/// Lines of each log that a page begins with.
const LINES_MAX: usize = 200;
/// Files that one answer may name.
const PICKED_MAX: usize = 1_000;

/// Extensions around a message.
pub struct Studio {
    troupe: Troupe,
    table: Arc<Table>,
    service: Weak<Service>,
    /// The message to begin with.
    first: Document,
    home: PathBuf,
    host: OnceLock<Host>,
    kept: OnceLock<std::result::Result<PathBuf, String>>,
}

/// What a person does.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Deed {
    /// Runs a command.
    Command { command: String },
    /// Changes the text that was revision so and so; one that `joins` goes on with what was typed
    /// just before.
    Edit {
        text: String,
        revision: u64,
        #[serde(default)]
        joins: bool,
    },
    /// Takes back what was last done to the message, by whomever.
    Undo,
    /// Does again what was taken back.
    Redo,
    /// Answers a question.
    Answer { question: u64, answer: Value },
    /// A window was closed, or will not be opened.
    WindowClosed { window: String },
    /// Starts an extension anew.
    Reload { extension: String },
    /// Ends one.
    Stop { extension: String },
    /// Takes another file into the editor; over changes that nobody saved only if they are discarded.
    Open {
        path: PathBuf,
        #[serde(default)]
        discard: bool,
    },
    /// Writes the message to its file, or to another one; over what nobody here has seen only if told.
    Save {
        path: Option<PathBuf>,
        #[serde(default)]
        overwrite: bool,
    },
}

impl Studio {
    /// Around `document`; where there is none, around nothing.
    pub fn new(
        troupe: Troupe,
        document: Option<Document>,
        service: &Arc<Service>,
        home: PathBuf,
    ) -> Studio {
        let first = document.unwrap_or_else(|| Document::new(Form::Hl7, ""));
        let (table, service) = (Arc::default(), Arc::downgrade(service));
        let (host, kept) = (OnceLock::new(), OnceLock::new());
        Studio { troupe, table, service, first, home, host, kept }
    }

    /// Ends all extensions that were started. Changes that nobody saved are kept in a file.
    pub async fn close(&self) {
        let Some(host) = self.host.get() else { return };
        let draft = host.draft();
        if draft.is_changed() {
            // First: whoever is in a hurry does not wait for the ends of extensions.
            let keep = || self.troupe.keep(&draft.document).map_err(|fault| fault.message);
            self.kept.get_or_init(keep);
        }
        host.stop().await;
    }

    /// Where the changes are that nobody had saved when it was closed; or why they are lost.
    pub fn kept(&self) -> Option<&std::result::Result<PathBuf, String>> {
        self.kept.get()
    }

    fn host(&self) -> &Host {
        self.host.get_or_init(|| {
            let models = Arc::new(Voices(self.service.clone()));
            let desk = self.table.clone();
            self.troupe.start(self.first.clone(), desk, Some(models), None, None)
        })
    }

    /// What happens from now on: events of the host, and changes of the questions.
    pub fn changes(&self) -> (broadcast::Receiver<Event>, watch::Receiver<()>) {
        (self.host().events(), self.table.changes())
    }

    /// All that is to be seen but the text and the logs.
    pub fn state(&self) -> Value {
        let host = self.host();
        let draft = host.draft();
        let infos = host.extensions();
        let names = infos.iter().zip(&self.troupe.members);
        let extensions: Vec<Value> =
            names.map(|(info, member)| shown(info, &member.name)).collect();
        let name_of = |id: &str| infos.iter().find(|info| info.id == id).map(|info| &info.name);
        let windows: Vec<Value> = host
            .windows()
            .iter()
            .map(|window| {
                let mut shown = json!(window);
                shown["name"] = json!(name_of(&window.extension));
                shown
            })
            .collect();
        let question = |(id, question)| {
            let mut shown = json!(question);
            shown["id"] = json!(id);
            shown
        };
        let questions: Vec<Value> = self.table.questions().into_iter().map(question).collect();
        json!({
            "configured": true, "revision": draft.revision, "opened": draft.opened,
            "is_changed": draft.is_changed(), "undo": draft.undo, "redo": draft.redo,
            "form": draft.document.form(), "file": draft.document.file(),
            "extensions": extensions, "windows": windows, "questions": questions,
        })
    }

    /// The text, and which revision it is.
    pub fn document(&self) -> Value {
        let draft = self.host().draft();
        let (revision, opened) = (draft.revision, draft.opened);
        json!({ "revision": revision, "opened": opened, "text": draft.document.text() })
    }

    /// The last lines of all logs.
    pub fn log(&self) -> Value {
        let host = self.host();
        let mut lines = Vec::new();
        for info in host.extensions() {
            let log = host.log(&info.id);
            let last = &log[log.len().saturating_sub(LINES_MAX)..];
            lines.extend(last.iter().map(|line| json!({ "extension": info.id, "line": line })));
        }
        json!({ "lines": lines })
    }

    /// What running extensions say about the fields of messages.
    pub fn schema(&self) -> Value {
        self.host().schema()
    }

    /// The icon of a button, as far as it is harmless.
    pub fn icon(&self, extension: &str, button: &str) -> Option<String> {
        let info = self.host().extensions().into_iter().find(|info| info.id == extension)?;
        let buttons = info.manifest?.toolbar_buttons;
        icon::clean(&buttons.iter().find(|it| it.id == button)?.icon)
    }

    /// A folder to pick from, for a question or, without one, for the message itself.
    pub fn folder(&self, question: Option<u64>, path: Option<&Path>) -> Result<Folder> {
        let allowed = match question {
            Some(id) => self.allowed(&self.question(id)?.extension),
            None => self.allowed(""),
        };
        allowed.folder(path)
    }

    /// Does what the person wants.
    pub async fn take(&self, deed: Deed) -> Result<()> {
        let host = self.host();
        match deed {
            Deed::Command { command } => host.command(&command).map_err(refused),
            Deed::Edit { text, revision, joins } => self.edit(&text, revision, joins),
            Deed::Undo => stepped(host.undo(), "nothing was done that could be undone"),
            Deed::Redo => stepped(host.redo(), "nothing was undone that could be done again"),
            Deed::Answer { question, answer } => self.answer(question, answer),
            Deed::WindowClosed { window } => match host.window_closed(&window) {
                true => Ok(()),
                false => Err(Fault::new(Kind::NotFound, "window: there is no such window")),
            },
            Deed::Reload { extension } => host.reload(&extension).await.map_err(refused),
            Deed::Stop { extension } => host.disable(&extension).await.map_err(refused),
            Deed::Open { path, discard } => self.open(&path, discard),
            Deed::Save { path, overwrite } => self.save(path, overwrite),
        }
    }

    fn open(&self, path: &Path, discard: bool) -> Result<()> {
        let document = file::open(&self.allowed("").existing(path)?)?;
        match self.host().open_over(document, discard) {
            true => Ok(()),
            false => {
                let text = "path: the message has changes that are not saved; nothing was opened";
                Err(Fault::invalid(text).status(409))
            }
        }
    }

    fn edit(&self, text: &str, revision: u64, joins: bool) -> Result<()> {
        let (host, most) = (self.host(), althing_exthost::document::DOCUMENT_BYTES_MAX);
        if text.len() > most {
            return Err(Fault::invalid(format!("text: at most {most} bytes")));
        }
        if !host.edit_at(revision, text, joins) {
            let text = "revision: the message has changed meanwhile; yours is not taken";
            return Err(Fault::invalid(text).status(409));
        }
        Ok(())
    }

    fn save(&self, path: Option<PathBuf>, overwrite: bool) -> Result<()> {
        let draft = self.host().draft();
        let (text, own) = (draft.document.text(), draft.document.file());
        let Some(path) = path.as_ref().or(own) else {
            return Err(Fault::invalid("path: the message has no file yet"));
        };
        let allowed = self.allowed("");
        let path = allowed.writable(path)?;
        // Links may lead to one file by several names.
        let own = own.and_then(|own| allowed.writable(own).ok());
        let save_as = own.as_ref() != Some(&path);
        let known = (!save_as).then_some(&*draft.saved);
        match overwrite {
            true => file::save(&path, text)?,
            false => file::save_over(&path, text, known)?,
        }
        self.host().saved(path, text, save_as);
        Ok(())
    }

    fn question(&self, id: u64) -> Result<super::Question> {
        let gone = || Fault::new(Kind::NotFound, "question: it is answered or withdrawn");
        self.table.question(id).ok_or_else(gone)
    }

    fn answer(&self, id: u64, answer: Value) -> Result<()> {
        let question = self.question(id)?;
        let answer = match (&question.ask, answer) {
            (Ask::Message { .. }, _) => Answer::Read,
            (Ask::Confirm { .. }, Value::Bool(said)) => Answer::Confirmed(said),
            (Ask::Files { .. }, Value::Null) => Answer::Picked(None),
            (Ask::Files { pick, .. }, paths) => {
                let paths: Vec<PathBuf> = serde_json::from_value(paths)
                    .map_err(|_| Fault::invalid("answer: must be a list of paths or null"))?;
                self.picked(&question.extension, *pick, &paths)?
            }
            _ => return Err(Fault::invalid("answer: must be true or false")),
        };
        self.table.answer(id, answer);
        Ok(())
    }

    fn picked(&self, extension: &str, pick: Pick, paths: &[PathBuf]) -> Result<Answer> {
        let most = if pick == Pick::OpenFiles { PICKED_MAX } else { 1 };
        if !(1..=most).contains(&paths.len()) {
            return Err(Fault::invalid(format!("answer: 1 to {most} paths")));
        }
        let allowed = self.allowed(extension);
        let real = |path: &PathBuf| {
            let real = match pick {
                Pick::SaveFile => allowed.writable(path)?,
                _ => allowed.existing(path)?,
            };
            let fits = match pick {
                Pick::Directory => real.is_dir(),
                _ => !real.is_dir(),
            };
            let wrong = || Fault::invalid("answer: a folder is no file, and a file no folder");
            fits.then(|| real.to_string_lossy().into_owned()).ok_or_else(wrong)
        };
        paths.iter().map(real).collect::<Result<_>>().map(|paths| Answer::Picked(Some(paths)))
    }

    /// The folders of an extension, and that of the message; without one, the home.
    fn allowed(&self, extension: &str) -> Allowed {
        let infos = self.host().extensions();
        let at = infos.iter().position(|info| info.id == extension);
        let own = at.map_or(vec![self.home.clone()], |at| self.troupe.members[at].folders.clone());
        let document = self.host().document();
        let beside = document.file().and_then(|file| Some(file.parent()?.to_path_buf()));
        Allowed::new(&beside.into_iter().chain(own).collect::<Vec<_>>())
    }
}

fn refused(error: Error) -> Fault {
    let kind = match error.code {
        super::code::COMMAND_NOT_FOUND => Kind::NotFound,
        _ => Kind::Busy,
    };
    Fault::new(kind, error.message)
}

fn stepped(is_done: bool, why_not: &str) -> Result<()> {
    is_done.then_some(()).ok_or_else(|| Fault::invalid(why_not).status(409))
}

fn shown(info: &ExtensionInfo, configured: &str) -> Value {
    let (state, reason) = match &info.state {
        State::Failed(reason) => (json!("failed"), json!(reason)),
        state => (json!(state), Value::Null),
    };
    let manifest = info.manifest.as_ref().filter(|_| info.state == State::Running);
    let buttons = manifest.map_or(vec![], |manifest| {
        let button = |it: &althing_exthost::Button| {
            let icon = icon::clean(&it.icon).is_some();
            json!({ "id": it.id, "label": it.label, "command": it.command, "group": it.group,
                "icon": icon })
        };
        manifest.toolbar_buttons.iter().map(button).collect()
    });
    json!({
        "id": info.id, "configured": configured, "name": info.name, "state": state,
        "calls_itself": info.manifest.as_ref().map(|it| &it.name),
        "reason": reason, "version": manifest.map(|it| &it.version),
        "description": manifest.and_then(|it| it.description.as_ref()),
        "commands": manifest.map_or(&[][..], |it| &it.commands), "buttons": buttons,
        "open_requests": info.open_requests,
    })
}
