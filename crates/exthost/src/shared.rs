//! What all parts of the host share: the message, the person, the windows, the events.

use crate::desk::Desk;
use crate::draft::Editor;
use crate::extension::Extension;
use crate::log::{Level, LogLine, Source};
use crate::models::Models;
use crate::record::Recorder;
use crate::windows::{Closed, Windows};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;

/// Something to show anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The state, buttons or schema of an extension changed.
    ExtensionChanged {
        /// Which.
        extension: String,
    },
    /// The message changed.
    DocumentChanged {
        /// How often it did.
        revision: u64,
    },
    /// A window opened or closed.
    WindowsChanged,
    /// There is a new line in a log.
    Logged {
        /// Whose log.
        extension: String,
        /// The line.
        line: LogLine,
    },
}

/// Takes every line of every log, with the extension's id; for a file. It must not take long.
pub type LogSink = Arc<dyn Fn(&str, &LogLine) + Send + Sync>;

pub(crate) struct Shared {
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) models: Option<Arc<dyn Models>>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) log_sink: Option<LogSink>,
    pub(crate) data_dir: PathBuf,
    pub(crate) started: Instant,
    pub(crate) extensions: Vec<Arc<Extension>>,
    /// The message was changed.
    pub(crate) edited: Notify,
    pub(crate) events: broadcast::Sender<Event>,
    /// Changes with every state of every extension.
    pub(crate) states: watch::Sender<()>,
    /// When anything last passed between host and extensions.
    pub(crate) active: watch::Sender<Instant>,
    pub(crate) editor: Mutex<Editor>,
    pub(crate) windows: Mutex<Windows>,
}

impl Shared {
    pub(crate) fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn extension(&self, id: &str) -> Option<&Arc<Extension>> {
        self.extensions.iter().find(|extension| extension.id == id)
    }

    pub(crate) fn tell(&self, event: Event) {
        // Fails when nobody listens, which is fine.
        let _ = self.events.send(event);
    }

    pub(crate) fn touch(&self) {
        self.active.send_replace(Instant::now());
    }

    pub(crate) fn log(&self, extension: &Extension, source: Source, level: Level, said: &str) {
        let now = Instant::now();
        if source != Source::Host {
            // Who prints is at work.
            self.active.send_replace(now);
        }
        let at_ms = now.duration_since(self.started).as_millis() as u64;
        let kept = extension.status().log.add((source, level, said), now, at_ms);
        for line in kept {
            if let Some(sink) = &self.log_sink {
                sink(&extension.id, &line);
            }
            self.tell(Event::Logged { extension: extension.id.clone(), line });
        }
    }

    /// Notifies an extension; what does not read is told of in its log.
    pub(crate) fn notify(&self, extension: &Extension, method: &'static str, params: Value) {
        self.touch();
        let is_running = extension.status().feed.is_some();
        if is_running && !extension.tell(method, params) {
            let what = format!("{method} is dropped: the extension does not read");
            self.log(extension, Source::Host, Level::Warning, &what);
        }
    }

    /// A window is gone; its extension hears of it.
    pub(crate) fn window_closed(&self, id: &str, reason: Closed) -> bool {
        let Some(window) = self.windows().remove(id) else { return false };
        if reason != Closed::User {
            self.desk.close(id);
        }
        if let Some(owner) = self.extension(&window.extension) {
            let params = json!({ "windowId": id, "reason": reason });
            self.notify(owner, "window/closed", params);
        }
        self.tell(Event::WindowsChanged);
        true
    }

    /// All windows of an extension that ends.
    pub(crate) fn close_windows(&self, extension: &Extension) {
        let ids: Vec<_> = self.windows().of(&extension.id).map(|it| it.id.clone()).collect();
        for id in ids {
            self.window_closed(&id, Closed::Shutdown);
        }
    }
}
