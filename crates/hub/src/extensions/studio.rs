//! Extensions around one message, for a page: what is to be seen, and what the person may do. The
//! extensions start when the page is first looked at.

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
}

/// What a person does.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Deed {
    /// Runs a command.
    Command { command: String },
    /// Changes the text that was revision so and so.
    Edit { text: String, revision: u64 },
    /// Answers a question.
    Answer { question: u64, answer: Value },
    /// A window was closed, or will not be opened.
    WindowClosed { window: String },
    /// Starts an extension anew.
    Reload { extension: String },
    /// Ends one.
    Stop { extension: String },
    /// Takes another file into the editor.
    Open { path: PathBuf },
    /// Writes the message to its file, or to another one.
    Save { path: Option<PathBuf> },
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
        Studio { troupe, table, service, first, home, host: OnceLock::new() }
    }

    /// Ends all extensions that were started.
    pub async fn close(&self) {
        if let Some(host) = self.host.get() {
            host.stop().await;
        }
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
        let document = host.document();
        let infos = host.extensions();
        let names = infos.iter().zip(&self.troupe.members);
        let extensions: Vec<Value> =
            names.map(|(info, member)| shown(info, &member.name)).collect();
        let name_of = |id: &str| infos.iter().find(|info| info.id == id).map(name);
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
            "configured": true, "revision": host.revision(), "form": document.form(),
            "file": document.file(), "extensions": extensions, "windows": windows,
            "questions": questions,
        })
    }

    /// The text, and which revision it is.
    pub fn document(&self) -> Value {
        let host = self.host();
        // Older at most: a page that has an old revision asks again.
        let revision = host.revision();
        json!({ "revision": revision, "text": host.document().text() })
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
            Deed::Edit { text, revision } => self.edit(&text, revision),
            Deed::Answer { question, answer } => self.answer(question, answer),
            Deed::WindowClosed { window } => match host.window_closed(&window) {
                true => Ok(()),
                false => Err(Fault::new(Kind::NotFound, "window: there is no such window")),
            },
            Deed::Reload { extension } => host.reload(&extension).await.map_err(refused),
            Deed::Stop { extension } => host.disable(&extension).await.map_err(refused),
            Deed::Open { path } => {
                host.open(file::open(&self.allowed("").existing(&path)?)?);
                Ok(())
            }
            Deed::Save { path } => self.save(path),
        }
    }

    fn edit(&self, text: &str, revision: u64) -> Result<()> {
        let (host, most) = (self.host(), althing_exthost::document::DOCUMENT_BYTES_MAX);
        if text.len() > most {
            return Err(Fault::invalid(format!("text: at most {most} bytes")));
        }
        if host.revision() != revision {
            let text = "revision: the message has changed meanwhile; yours is not taken";
            return Err(Fault::invalid(text).status(409));
        }
        host.edit(text);
        Ok(())
    }

    fn save(&self, path: Option<PathBuf>) -> Result<()> {
        let document = self.host().document();
        let (own, is_other) = (document.file().cloned(), path.is_some());
        let Some(path) = path.or(own) else {
            return Err(Fault::invalid("path: the message has no file yet"));
        };
        let path = self.allowed("").writable(&path)?;
        file::save(&path, document.text())?;
        let save_as = is_other && document.file() != Some(&path);
        self.host().saved(path, save_as);
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

fn name(info: &ExtensionInfo) -> String {
    info.manifest.as_ref().map_or_else(|| info.path.clone(), |manifest| manifest.name.clone())
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
        "id": info.id, "configured": configured, "name": name(info), "state": state,
        "reason": reason, "version": manifest.map(|it| &it.version),
        "description": manifest.and_then(|it| it.description.as_ref()),
        "commands": manifest.map_or(&[][..], |it| &it.commands), "buttons": buttons,
        "open_requests": info.open_requests,
    })
}
