//! Extensions and what they need of us: their configuration, the message, the models, a log in a
//! file, and a person, who sits at a page ([`Table`]) or wherever
//! another [`Desk`] is.

mod data;
mod file;
mod icon;
mod models;
mod picker;
mod studio;
mod table;

pub use althing_exthost::desk::{Answer, Answers, Ask, Buttons, Desk, Nobody, Pick, Question};
pub use althing_exthost::document::{Document, Form};
pub use althing_exthost::record::{self, Recorder, replay};
pub use althing_exthost::{Entry, Error, Event, Grant, Host, Level, Restart, State, Window, code};
pub use file::{open, save, save_over};
pub use models::Voices;
pub use picker::Folder;
pub use studio::{Deed, Studio};
pub use table::Table;

use crate::config::{Config, ExtensionConfig, World};
use crate::workers::log::{self, Log};
pub use althing_exthost::{LogSink, Models};
use althing_exthost::{Setup, Source};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where logs are, and what nobody saved, below the folder of our data.
const LOGS: &str = "extensions/logs";
const UNSAVED: &str = "extensions/unsaved";

/// Characters of the name under which an extension is shown.
const NAME_CHARS_MAX: usize = 60;

/// Extensions that are to be run together.
pub struct Troupe {
    /// In the order in which they count.
    pub members: Vec<ExtensionConfig>,
    logs: PathBuf,
    unsaved: PathBuf,
    data: data::DataFolder,
}

impl Troupe {
    /// Those that are configured and enabled.
    pub fn enabled(config: &Config) -> Troupe {
        let members = config.extensions.iter().filter(|it| it.entry.enabled).cloned().collect();
        Troupe::of(config, members)
    }

    /// Those that are named, enabled or not; what is no configured name is a command line.
    pub fn named(config: &Config, world: &World, names: &[String]) -> Result<Troupe> {
        let member = |name: &String| {
            let found = config.extensions.iter().find(|it| &it.name == name).cloned();
            let is_line = name.contains(['/', ' ']);
            let line = || ExtensionConfig::of_command(name, world.home.clone());
            let mut member = found.or_else(|| is_line.then(line)).ok_or_else(|| {
                let known: Vec<&str> =
                    config.extensions.iter().map(|it| it.name.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                let text = format!("extension: '{name}' is no extension; there are: {known}");
                Fault::new(Kind::NotFound, format!("{text}. A command line has a / or a blank"))
            })?;
            member.entry.enabled = true;
            Ok(member)
        };
        Ok(Troupe::of(config, names.iter().map(member).collect::<Result<_>>()?))
    }

    fn of(config: &Config, members: Vec<ExtensionConfig>) -> Troupe {
        let ours = &config.data_dir;
        let (logs, unsaved) = (ours.join(LOGS), ours.join(UNSAVED));
        let mut members = members;
        for member in &mut members {
            member.entry.name = shown_name(&member.name);
        }
        Troupe { members, logs, unsaved, data: data::DataFolder::beside(ours) }
    }

    /// Keeps a message that nobody saved, when the program ends; gives where.
    pub fn keep(&self, document: &Document) -> Result<PathBuf> {
        let name = document.file().and_then(|file| file.file_name());
        let name = name.map_or("message".into(), |name| name.to_string_lossy().into_owned());
        file::keep(&self.unsaved, &name, document.text())
    }

    /// Starts them around a document. `heard` gets every line of their logs, with their names.
    pub fn start(
        &self,
        document: Document,
        desk: Arc<dyn Desk>,
        models: Option<Arc<dyn Models>>,
        recorder: Option<Recorder>,
        heard: Option<LogSink>,
    ) -> Host {
        let entries = self.members.iter().map(|member| member.entry.clone()).collect();
        let mut setup = Setup::new(entries, document, desk, self.data.ready());
        (setup.models, setup.recorder) = (models, recorder);
        let names = Arc::new(Mutex::new(HashMap::new()));
        setup.log_sink = Some(self.sink(names.clone(), heard));
        // Held until the names are known: what is said before then waits for a moment.
        let mut known = names.lock().unwrap_or_else(PoisonError::into_inner);
        let host = Host::start(setup);
        let named = host.extensions().into_iter().zip(&self.members);
        let named = named.map(|(info, member)| (info.id, file_name(&member.name)));
        known.extend(named);
        drop(known);
        host
    }

    /// Writes lines to the files of their extensions.
    fn sink(&self, names: Arc<Mutex<HashMap<String, String>>>, heard: Option<LogSink>) -> LogSink {
        let logs: Vec<_> = self.members.iter().map(|it| file_name(&it.name)).collect();
        let logs: HashMap<String, Log> =
            logs.into_iter().map(|name| (name.clone(), Log::new(&self.logs, &name))).collect();
        Arc::new(move |id, line| {
            let names = names.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(name) = names.get(id) else { return };
            if let Some(log) = logs.get(name) {
                log.add(
                    &format!("{}:{}", source_name(line.source), level_name(line.level)),
                    &line.text,
                );
            }
            if let Some(heard) = &heard {
                heard(name, line);
            }
        })
    }
}

/// The last lines of one extension, or of each that has a log.
pub fn logs(
    config: &Config,
    name: Option<&str>,
    lines_max: usize,
) -> Result<Vec<(String, Vec<log::Line>)>> {
    let folder = config.data_dir.join(LOGS);
    let names = match name {
        Some(name) => vec![name.to_string()],
        None => Log::names(&folder),
    };
    let read = |name: String| Log::new(&folder, &name).last(lines_max).map(|lines| (name, lines));
    names.into_iter().map(read).collect()
}

/// What a person sees of a name or a command line: its words without their folders.
fn shown_name(name: &str) -> String {
    let last = |word: &str| word.rsplit('/').next().unwrap_or_default().replace(['\'', '"'], "");
    let words: Vec<String> = name.split_whitespace().map(last).collect();
    one_line(&words.join(" "), NAME_CHARS_MAX)
}

/// A command line as the name of a file: its last word without a folder.
fn file_name(name: &str) -> String {
    let last = name.split_whitespace().last().unwrap_or_default();
    let last = last.rsplit('/').next().unwrap_or_default().trim_matches(['\'', '"']);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let clean: String = last.chars().map(|c| if fits(c) { c } else { '_' }).take(64).collect();
    if clean.is_empty() { "extension".into() } else { clean }
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Host => "althing",
        Source::Stderr => "err",
        Source::Stdout => "out",
    }
}

/// How much a line matters, in a word.
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}
