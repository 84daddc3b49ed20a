//! The host: all extensions, the message they share, and what a face may do with them.

#[cfg(test)]
mod tests;

use crate::code;
use crate::config::{self, Entry};
use crate::desk::Desk;
use crate::document::Document;
use crate::draft::{Draft, Editor, Hand};
use crate::editor::with_file;
use crate::extension::{Extension, ExtensionInfo, State};
use crate::lifecycle::{Input, Reason};
use crate::log::LogLine;
use crate::models::Models;
use crate::record::Recorder;
use crate::schema::Schema;
use crate::shared::{Event, LogSink, Shared};
use crate::supervisor::{supervise, sweep};
use crate::windows::{Closed, Window, Windows};
use althing_jsonrpc::Error;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Events that a slow listener may be behind; then it misses some and has to look anew.
const EVENTS_MAX: usize = 1024;
/// Orders that wait for a supervisor; they wait for microseconds.
const CONTROL_MAX: usize = 16;

/// What a host starts with.
pub struct Setup {
    /// The extensions, in the order in which they count.
    pub entries: Vec<Entry>,
    /// The message in the editor.
    pub document: Document,
    /// The person.
    pub desk: Arc<dyn Desk>,
    /// Who knows the models, for extensions that may ask them.
    pub models: Option<Arc<dyn Models>>,
    /// The folder that all extensions share.
    pub data_dir: PathBuf,
    /// Takes all messages between host and extensions.
    pub recorder: Option<Recorder>,
    /// Takes all lines of all logs.
    pub log_sink: Option<LogSink>,
}

impl Setup {
    /// The usual, without models and without records.
    pub fn new(
        entries: Vec<Entry>,
        document: Document,
        desk: Arc<dyn Desk>,
        data_dir: PathBuf,
    ) -> Setup {
        let (models, recorder, log_sink) = (None, None, None);
        Setup { entries, document, desk, models, data_dir, recorder, log_sink }
    }
}

/// Runs extensions. Dropping it kills them; `stop` lets them end.
pub struct Host {
    shared: Arc<Shared>,
    /// Ended with the host.
    _tasks: JoinSet<()>,
}

impl Host {
    /// Starts all enabled extensions side by side, and does not wait for them. Needs a tokio
    /// runtime with time and processes. What a killed host left is ended first.
    pub fn start(setup: Setup) -> Host {
        sweep();
        let ids = config::ids(&setup.entries);
        let made = ids.into_iter().zip(setup.entries).map(|(id, entry)| {
            let (control, controlled) = mpsc::channel(CONTROL_MAX);
            (Arc::new(Extension::new(id, entry, control)), controlled)
        });
        let (extensions, controls): (Vec<_>, Vec<_>) = made.unzip();
        let editor = Editor::new(setup.document);
        let shared = Arc::new(Shared {
            desk: setup.desk,
            models: setup.models,
            recorder: setup.recorder,
            log_sink: setup.log_sink,
            data_dir: setup.data_dir,
            started: Instant::now(),
            extensions,
            edited: Notify::new(),
            events: broadcast::Sender::new(EVENTS_MAX),
            states: watch::Sender::new(()),
            active: watch::Sender::new(Instant::now()),
            editor: Mutex::new(editor),
            windows: Mutex::new(Windows::default()),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(tell_changes(shared.clone()));
        for (extension, controlled) in shared.extensions.iter().zip(controls) {
            tasks.spawn(supervise(shared.clone(), extension.clone(), controlled));
            if extension.entry.enabled {
                extension.status().state = State::Starting;
                // Has room: it is the first.
                let _ = extension.control.try_send(Input::Start);
            }
        }
        Host { shared, _tasks: tasks }
    }

    /// What is worth a look, from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.events.subscribe()
    }

    /// All extensions, in the order of the configuration.
    pub fn extensions(&self) -> Vec<ExtensionInfo> {
        self.shared.extensions.iter().map(|extension| extension.info()).collect()
    }

    /// The last lines about an extension; nothing for one that is not there.
    pub fn log(&self, id: &str) -> Vec<LogLine> {
        self.shared.extension(id).map_or_else(Vec::new, |extension| extension.log())
    }

    /// What all running extensions say about the fields of messages; later ones count more.
    pub fn schema(&self) -> Value {
        let mut merged = Schema::default();
        for info in self.extensions().iter().filter(|info| info.state == State::Running) {
            info.manifest.iter().for_each(|manifest| merged.lay(&manifest.schema));
        }
        merged.write()
    }

    /// The open windows.
    pub fn windows(&self) -> Vec<Window> {
        self.shared.windows().all()
    }

    /// Runs a command: that of the first running extension that has it. It may have to wait until
    /// that extension has its answers.
    pub fn command(&self, command: &str) -> Result<(), Error> {
        let mut offered = self.shared.extensions.iter().filter_map(|extension| {
            let has_room = extension.status().offer(command)?;
            Some((extension, has_room))
        });
        let (extension, has_room) = offered.next().ok_or_else(|| {
            let what = format!("no running extension has the command {command:?}");
            Error::new(code::COMMAND_NOT_FOUND, what)
        })?;
        if !has_room {
            let what = format!("too many commands wait for {}", extension.name());
            return Err(Error::new(code::GENERAL, what));
        }
        self.shared.touch();
        extension.poke.notify_one();
        Ok(())
    }

    /// The message as it is.
    pub fn document(&self) -> Document {
        self.shared.editor().document.clone()
    }

    /// How often the message changed.
    pub fn revision(&self) -> u64 {
        self.shared.editor().revision
    }

    /// All that is known of the message now.
    pub fn draft(&self) -> Draft {
        self.shared.editor().draft()
    }

    /// The person typed: this is the text now, whatever it is.
    pub fn edit(&self, text: &str) {
        let mut editor = self.shared.editor();
        let changed = Document::new(editor.document.form(), text);
        self.shared.put(&mut editor, changed, Hand::person(false));
    }

    /// The same, if nothing else has changed the message since `revision`; else false, and nothing
    /// is changed. With `joins` it is one step with what was typed just before.
    pub fn edit_at(&self, revision: u64, text: &str, joins: bool) -> bool {
        let mut editor = self.shared.editor();
        let is_last = editor.revision == revision;
        if is_last {
            let changed = Document::new(editor.document.form(), text);
            self.shared.put(&mut editor, changed, Hand::person(joins));
        }
        is_last
    }

    /// Takes back what was last done to the message, by whomever; false if there is nothing.
    pub fn undo(&self) -> bool {
        self.shared.step(&mut self.shared.editor(), true)
    }

    /// Does again what was taken back last; false if there is nothing.
    pub fn redo(&self) -> bool {
        self.shared.step(&mut self.shared.editor(), false)
    }

    /// Another message is in the editor.
    pub fn open(&self, document: Document) {
        self.open_over(document, true);
    }

    /// The same; but a message with changes that nobody saved gives way only to who `discards` them.
    pub fn open_over(&self, document: Document, discards: bool) -> bool {
        let mut editor = self.shared.editor();
        if editor.is_changed() && !discards {
            return false;
        }
        editor.open(document);
        let revision = editor.revision;
        drop(editor);
        self.shared.tell(Event::DocumentChanged { revision });
        self.tell_opened();
        true
    }

    /// Tells who wants to know that the message was opened. Extensions that start later do not hear of
    /// it by themselves.
    pub fn tell_opened(&self) {
        let document = self.document();
        let params = with_file(json!({ "isNew": document.file().is_none() }), &document);
        self.tell_subscribed("message/opened", |events| events.opened, &params);
    }

    /// `text` was written to a file; `save_as` if to another one than before.
    pub fn saved(&self, file: PathBuf, text: &str, save_as: bool) {
        let params = json!({ "filePath": file.to_string_lossy(), "saveAs": save_as });
        let mut editor = self.shared.editor();
        editor.saved(file, text);
        let revision = editor.revision;
        drop(editor);
        self.shared.tell(Event::DocumentChanged { revision });
        self.tell_subscribed("message/saved", |events| events.saved, &params);
    }

    fn tell_subscribed(
        &self,
        method: &'static str,
        wants: fn(&crate::manifest::Events) -> bool,
        params: &Value,
    ) {
        for extension in &self.shared.extensions {
            if extension.running().is_some_and(|manifest| wants(&manifest.events)) {
                self.shared.notify(extension, method, params.clone());
            }
        }
    }

    /// The person closed a window, or it never opened. False if it is none of ours.
    pub fn window_closed(&self, id: &str) -> bool {
        self.shared.window_closed(id, Closed::User)
    }

    /// Ends an extension and starts it again; the others do not notice.
    pub async fn reload(&self, id: &str) -> Result<(), Error> {
        let is_over = self.find(id)?.status().state.is_over();
        let input = if is_over { Input::Start } else { Input::Stop(Reason::Reload) };
        self.order(id, input).await
    }

    /// Starts an extension that is not running.
    pub async fn enable(&self, id: &str) -> Result<(), Error> {
        self.order(id, Input::Start).await
    }

    /// Ends an extension.
    pub async fn disable(&self, id: &str) -> Result<(), Error> {
        self.order(id, Input::Stop(Reason::Disabled)).await
    }

    fn find(&self, id: &str) -> Result<&Arc<Extension>, Error> {
        self.shared
            .extension(id)
            .ok_or_else(|| Error::new(code::GENERAL, format_args!("there is no extension {id:?}")))
    }

    async fn order(&self, id: &str, input: Input) -> Result<(), Error> {
        let extension = self.find(id)?;
        // Fails only when the host ends, and then there is nothing to order.
        let _ = extension.control.send(input).await;
        Ok(())
    }

    /// Waits until every extension runs or has failed.
    pub async fn settled(&self) {
        self.until(|state| state.is_over() || *state == State::Running).await;
    }

    /// Waits until all extensions have been quiet for so long: no open request, no waiting command,
    /// no open window, no message and no output. A command has no end of its own; this is as near to
    /// one as it gets.
    pub async fn quiet(&self, quiet: Duration) {
        loop {
            let last = *self.shared.active.borrow();
            sleep_until(last + quiet).await;
            let is_idle = |extension: &Arc<Extension>| extension.status().gate.is_idle();
            let is_last = *self.shared.active.borrow() == last;
            let are_idle = self.shared.extensions.iter().all(is_idle);
            if is_last && are_idle && self.shared.windows().is_empty() {
                return;
            }
            if is_last {
                // Fails never: the sender is ours.
                let _ = self.shared.active.subscribe().changed().await;
            }
        }
    }

    /// Tells all extensions that the host closes, and waits until none is left: six seconds, if
    /// all goes wrong.
    pub async fn stop(&self) {
        for extension in &self.shared.extensions {
            // Fails only for a supervisor that is gone.
            let _ = extension.control.send(Input::Stop(Reason::Closing)).await;
        }
        self.until(State::is_over).await;
    }

    async fn until(&self, is_there: impl Fn(&State) -> bool) {
        let all = || self.shared.extensions.iter().all(|it| is_there(&it.status().state));
        let mut states = self.shared.states.subscribe();
        while !all() {
            // Fails never: the sender is ours.
            let _ = states.changed().await;
        }
    }
}

/// Tells of changes of the message when they have come to rest.
async fn tell_changes(shared: Arc<Shared>) {
    loop {
        let wake = shared.editor().debounce.wake();
        let due = async {
            match wake {
                Some(wake) => sleep_until(wake).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shared.edited.notified() => {}
            () = due => {
                let is_due = shared.editor().debounce.take(Instant::now());
                if is_due {
                    shared.tell_changed().await;
                }
            }
        }
    }
}
