//! `[workers.<name>]`: functions in other languages. Only the person's own file has a say: what it
//! names is started. A section with anything wrong in it is told of and not used.

use super::layers::Layers;
use super::source::{Row, Source, Warning, shown};
use super::words;
use crate::workers::{Function, read_function};
use althing_gateway::WORKER;
use althing_stdx::redact::Secret;
use std::path::PathBuf;
use std::time::Duration;
use toml::{Table, Value};

/// Workers there may be; the rest is reported.
const WORKERS_MAX: usize = 32;
/// Characters of a worker's name: it stands before the names of its functions.
const NAME_CHARS_MAX: usize = 32;
/// Functions that one section may describe.
const TOOLS_MAX: usize = 64;
/// How long a call may take where nothing is said, and at most; in seconds.
const TIMEOUT: f64 = 30.0;
const TIMEOUT_MAX: f64 = 3_600.0;
/// How long a worker is kept that nobody calls, and at most; in seconds.
const IDLE: f64 = 300.0;
const IDLE_MAX: f64 = 86_400.0;

const KEYS: &[&str] = &["run", "service", "namespace", "timeout", "idle", "env", "only", "tools"];

/// A worker as it is configured.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    pub name: String,
    pub start: Start,
    /// None: the usual one.
    pub namespace: Option<String>,
    /// How long a call may take.
    pub timeout: Duration,
    /// A worker that nobody has called for so long is ended.
    pub idle: Duration,
    /// Variables beside the few that every worker gets. They may hold keys.
    pub env: Vec<(String, Secret)>,
    /// The only functions that models may call; none: all.
    pub only: Option<Vec<String>>,
    /// Its functions, where it does not describe them itself.
    pub tools: Vec<Function>,
    /// Whether it is listed among the models.
    pub is_model: bool,
    pub source: Source,
}

/// How a worker comes to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A program and its arguments, started in `folder`.
    Run { words: Vec<String>, folder: PathBuf },
    /// A service that somebody else runs.
    Service(String),
}

impl WorkerConfig {
    /// A service that runs, though nobody configured it.
    pub(crate) fn of_service(service: &str) -> WorkerConfig {
        WorkerConfig {
            name: service.into(),
            start: Start::Service(service.into()),
            namespace: None,
            timeout: Duration::from_secs_f64(TIMEOUT),
            idle: Duration::from_secs_f64(IDLE),
            env: vec![],
            only: None,
            tools: vec![],
            is_model: false,
            source: Source::Default,
        }
    }

    /// What is in force, for a person to read; of variables only the names.
    pub(super) fn rows(&self) -> Vec<Row> {
        let row = |key: &str, value: String| {
            Row::new(format!("workers.{}.{key}", self.name), value, &self.source)
        };
        let mut rows = vec![match &self.start {
            Start::Run { words, .. } => row("run", words.join(" ")),
            Start::Service(name) => row("service", name.clone()),
        }];
        rows.extend(self.namespace.clone().map(|it| row("namespace", it)));
        rows.push(row("timeout", self.timeout.as_secs_f64().to_string()));
        rows.push(row("idle", self.idle.as_secs_f64().to_string()));
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        rows.extend((!names.is_empty()).then(|| row("env", names.join(", "))));
        rows.extend(self.only.as_ref().map(|it| row("only", it.join(", "))));
        let tools: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        rows.extend((!tools.is_empty()).then(|| row("tools", tools.join(", "))));
        rows.extend(self.is_model.then(|| row("provider", WORKER.name.into())));
        rows
    }
}

/// What is wrong, and with which key of the section.
type Wrong = (&'static str, String);

/// All workers, in the order of the file.
pub(super) fn read(layers: &Layers, warnings: &mut Vec<Warning>) -> Vec<WorkerConfig> {
    let source = layers.file.source();
    let mut warn = |place: &str, problem: String| {
        warnings.push(Warning::new(place, &source, problem));
    };
    let models = models(layers);
    let empty = Table::new();
    let sections = match layers.file.workers() {
        None => &empty,
        Some(Value::Table(sections)) => sections,
        Some(_) => {
            warn("workers", "must be sections: [workers.calc], …".into());
            &empty
        }
    };
    let mut workers = Vec::new();
    for (at, (name, section)) in sections.iter().enumerate() {
        let place = format!("workers.{}", shown(name, 40));
        if at >= WORKERS_MAX {
            warn(&place, format!("is one worker too many; there may be {WORKERS_MAX}"));
            break;
        }
        match worker(layers, name, section, models.contains(&name.as_str())) {
            Ok(worker) => workers.push(worker),
            Err(("", problem)) => warn(&place, problem),
            Err((key, problem)) => {
                warn(&format!("{place}.{key}"), format!("{problem}; this worker is not used"));
            }
        }
    }
    for name in models.into_iter().filter(|name| !sections.contains_key(*name)) {
        let problem = format!("there is no worker of this name: write [workers.{name}]");
        warn(&format!("providers.{name}.provider"), problem);
    }
    workers
}

/// `[providers.<name>]` with `provider = "worker"`: a worker that is a model.
fn models<'a>(layers: &'a Layers) -> Vec<&'a str> {
    let is_model = |id: &&str| {
        let like = layers.file.of_provider(id, "provider").and_then(Result::ok);
        like.is_some_and(|raw| raw.text == WORKER.name)
    };
    layers.file.provider_ids().filter(is_model).collect()
}

fn worker(
    layers: &Layers,
    name: &str,
    section: &Value,
    is_model: bool,
) -> Result<WorkerConfig, Wrong> {
    if !is_name(name) {
        let problem = format!(
            "cannot be a worker's name: a lower-case letter, and then up to {NAME_CHARS_MAX} \
             lower-case letters, digits, - and _"
        );
        return Err(("", problem));
    }
    let Some(table) = section.as_table() else {
        return Err(("", format!("must be a section: [workers.{name}]")));
    };
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let key = shown(key, 40);
        let problem = format!("has '{key}', which is not known; there are {}", KEYS.join(", "));
        return Err(("", format!("{problem}; this worker is not used")));
    }
    Ok(WorkerConfig {
        name: name.into(),
        start: start(layers, table)?,
        namespace: text(table, "namespace")?.map(str::to_string),
        timeout: seconds(table, "timeout", TIMEOUT, TIMEOUT_MAX)?,
        idle: seconds(table, "idle", IDLE, IDLE_MAX)?,
        env: env(layers, table)?,
        only: only(table)?,
        tools: tools(table)?,
        is_model,
        source: layers.file.source(),
    })
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    name.len() <= NAME_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(fits)
}

fn start(layers: &Layers, table: &Table) -> Result<Start, Wrong> {
    let words = match table.get("run") {
        None => None,
        Some(Value::String(line)) => Some(words::split(line).map_err(|why| ("run", why))?),
        Some(Value::Array(list)) => {
            let list: Option<Vec<_>> =
                list.iter().map(|it| it.as_str().map(String::from)).collect();
            Some(list.ok_or(("run", "must be a list of texts".to_string()))?)
        }
        Some(_) => return Err(("run", "must be a text or a list of texts".into())),
    };
    match (words, text(table, "service")?) {
        (Some(_), Some(_)) => Err(("service", "goes without run: it is one or the other".into())),
        (None, None) => Err(("run", "is missing, and there is no service either".into())),
        (None, Some(service)) => Ok(Start::Service(service.into())),
        (Some(words), None) => run(layers, words),
    }
}

/// Relative paths are those of the file's folder, where the program is started; `~/` is the home.
fn run(layers: &Layers, mut words: Vec<String>) -> Result<Start, Wrong> {
    let folder = layers.file.folder();
    for word in &mut words {
        if let Some(below) = word.strip_prefix("~/") {
            *word = layers.world.home.join(below).to_string_lossy().into_owned();
        }
    }
    match words.first_mut() {
        None => Err(("run", "is empty".into())),
        Some(program) if program.is_empty() => Err(("run", "begins with an empty word".into())),
        Some(program) => {
            if program.contains('/') {
                // Without the `./` that it may begin with.
                let path: PathBuf = folder.join(&*program).components().collect();
                *program = path.to_string_lossy().into_owned();
            }
            Ok(Start::Run { words, folder })
        }
    }
}

fn seconds(table: &Table, key: &'static str, usual: f64, max: f64) -> Result<Duration, Wrong> {
    let seconds = match table.get(key) {
        None => Some(usual),
        Some(Value::Integer(whole)) => Some(*whole as f64),
        Some(Value::Float(number)) => Some(*number),
        Some(_) => None,
    };
    let seconds = seconds.filter(|it| *it > 0.0 && *it <= max);
    let problem = || (key, format!("must be seconds, more than 0 and up to {max}"));
    seconds.map(Duration::from_secs_f64).ok_or_else(problem)
}

/// `NAME = "value"`; `"$OTHER"` is what Althing's own environment has there.
fn env(layers: &Layers, table: &Table) -> Result<Vec<(String, Secret)>, Wrong> {
    let wrong = |problem: String| ("env", problem);
    let table = match table.get("env") {
        None => return Ok(vec![]),
        Some(Value::Table(table)) => table,
        Some(_) => return Err(wrong("must be a table: { NAME = \"value\" }".into())),
    };
    let variable = |(name, value): (&String, &Value)| {
        let shown = shown(name, 40);
        if name.is_empty() || name.contains(['=', '\0']) || name.starts_with("COMLINK_") {
            return Err(wrong(format!("'{shown}' cannot be set")));
        }
        let value = value.as_str().filter(|value| !value.contains('\0'));
        let value = value.ok_or_else(|| wrong(format!("{shown} must be a text")))?;
        let value = match value.strip_prefix('$') {
            None => value.to_string(),
            Some(other) => {
                let found = layers.world.env.get(other).cloned();
                found.ok_or_else(|| wrong(format!("{shown} names a variable that is not set")))?
            }
        };
        Ok((name.clone(), Secret::new(value)))
    };
    table.iter().map(variable).collect()
}

fn only(table: &Table) -> Result<Option<Vec<String>>, Wrong> {
    let Some(value) = table.get("only") else { return Ok(None) };
    let list = value.as_array().and_then(|list| {
        list.iter().map(|it| it.as_str().map(String::from)).collect::<Option<Vec<String>>>()
    });
    list.map(Some).ok_or(("only", "must be a list of functions".into()))
}

fn tools(table: &Table) -> Result<Vec<Function>, Wrong> {
    let wrong = |problem: String| ("tools", problem);
    let list = match table.get("tools") {
        None => return Ok(vec![]),
        Some(Value::Array(list)) if list.len() <= TOOLS_MAX => list,
        Some(Value::Array(_)) => return Err(wrong(format!("at most {TOOLS_MAX}"))),
        Some(_) => return Err(wrong("must be a list of { name, description, parameters }".into())),
    };
    let tool = |(at, value): (usize, &Value)| {
        let value = serde_json::to_value(value).map_err(|e| wrong(format!("[{at}]: {e}")))?;
        read_function(&value).map_err(|why| wrong(format!("[{at}]: {why}")))
    };
    list.iter().enumerate().map(tool).collect()
}

fn text<'a>(table: &'a Table, key: &'static str) -> Result<Option<&'a str>, Wrong> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => Err((key, "must be a text that is not empty".into())),
    }
}
