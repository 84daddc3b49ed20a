//! `[extensions.<name>]`: programs that read and change the message in the editor. Only the person's
//! own file has a say: what it names is started. A section with anything wrong in it is told of and
//! not used.

use super::layers::Layers;
use super::source::{Row, Source, Warning, shown};
use althing_exthost::{Entry, Grant, Restart};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::{Table, Value};

/// Extensions there may be; the rest is reported.
const EXTENSIONS_MAX: usize = 64;
/// Characters of an extension's name: it is a file's, too.
const NAME_CHARS_MAX: usize = 32;
/// Variables that one extension inherits beside the usual ones.
const INHERIT_MAX: usize = 64;
/// Folders of one extension.
const FOLDERS_MAX: usize = 32;
/// The most that a restart policy may say: crashes, and seconds for the rest.
const RESTARTS_MAX: usize = 100;
const RESTART_S_MAX: u64 = 86_400;

/// What may be said of the longest message of an extension.
const FRAME_BYTES: std::ops::RangeInclusive<usize> = 1 << 10..=64 << 20;

const KEYS: &[&str] = &[
    "path",
    "args",
    "env",
    "inherit",
    "enabled",
    "grants",
    "restart",
    "private_data",
    "frame_bytes_max",
    "folders",
];

/// An extension as it is configured.
#[derive(Debug, Clone)]
pub struct ExtensionConfig {
    pub name: String,
    pub entry: Entry,
    /// Where files may be picked for it.
    pub folders: Vec<PathBuf>,
    pub source: Source,
}

impl ExtensionConfig {
    /// One that nobody configured, by its command line.
    pub fn of_command(line: &str, home: PathBuf) -> ExtensionConfig {
        ExtensionConfig {
            name: line.into(),
            entry: Entry::new(line),
            folders: vec![home],
            source: Source::Default,
        }
    }

    /// Its program and arguments, for a person to read.
    pub fn command(&self) -> String {
        [std::slice::from_ref(&self.entry.path), &self.entry.args].concat().join(" ")
    }

    /// What it may do, for a person to read.
    pub fn grants(&self) -> String {
        let names: Vec<&str> = self.entry.grants.iter().map(|grant| grant.name()).collect();
        if names.is_empty() { "nothing".into() } else { names.join(", ") }
    }

    /// What is in force; of variables only the names.
    pub(super) fn rows(&self) -> Vec<Row> {
        let row = |key: &str, value: String| {
            Row::new(format!("extensions.{}.{key}", self.name), value, &self.source)
        };
        let mut rows = vec![row("path", self.command())];
        let names: Vec<&str> = self.entry.env.keys().map(String::as_str).collect();
        rows.extend((!names.is_empty()).then(|| row("env", names.join(", "))));
        rows.extend(
            (!self.entry.inherit.is_empty()).then(|| row("inherit", self.entry.inherit.join(", "))),
        );
        rows.push(row("enabled", self.entry.enabled.to_string()));
        rows.push(row("grants", self.grants()));
        rows.extend(
            self.entry
                .restart
                .map(|it| row("restart", format!("{} times in {} s", it.times_max, it.window_s))),
        );
        rows.extend(self.entry.private_data.then(|| row("private_data", "true".into())));
        rows.push(row("frame_bytes_max", self.entry.frame_bytes_max.to_string()));
        let folders: Vec<String> = self.folders.iter().map(|it| it.display().to_string()).collect();
        rows.push(row("folders", folders.join(", ")));
        rows
    }
}

/// What is wrong, and with which key of the section.
type Wrong = (&'static str, String);

/// All extensions, in the order of the file.
pub(super) fn read(layers: &Layers, warnings: &mut Vec<Warning>) -> Vec<ExtensionConfig> {
    let source = layers.file.source();
    let mut warn = |place: &str, problem: String| {
        warnings.push(Warning::new(place, &source, problem));
    };
    let empty = Table::new();
    let sections = match layers.file.extensions() {
        None => &empty,
        Some(Value::Table(sections)) => sections,
        Some(_) => {
            warn("extensions", "must be sections: [extensions.echo], …".into());
            &empty
        }
    };
    let mut all = Vec::new();
    for (at, (name, section)) in sections.iter().enumerate() {
        let place = format!("extensions.{}", shown(name, 40));
        if at >= EXTENSIONS_MAX {
            warn(&place, format!("is one extension too many; there may be {EXTENSIONS_MAX}"));
            break;
        }
        match extension(layers, name, section) {
            Ok(extension) => all.push(extension),
            Err(("", problem)) => warn(&place, problem),
            Err((key, problem)) => {
                warn(&format!("{place}.{key}"), format!("{problem}; this extension is not used"));
            }
        }
    }
    all
}

/// What is wrong with a name; nothing where it can be one.
pub fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let is_name = name.len() <= NAME_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(fits);
    match is_name {
        true => Ok(()),
        false => Err(format!(
            "cannot be an extension's name: a lower-case letter, and then lower-case letters, \
             digits, - and _, {NAME_CHARS_MAX} at most"
        )),
    }
}

fn extension(layers: &Layers, name: &str, section: &Value) -> Result<ExtensionConfig, Wrong> {
    check_name(name).map_err(|problem| ("", problem))?;
    let Some(table) = section.as_table() else {
        return Err(("", format!("must be a section: [extensions.{name}]")));
    };
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let (key, known) = (shown(key, 40), KEYS.join(", "));
        let problem = format!("has '{key}', which is not known; there are {known}");
        return Err(("", format!("{problem}; this extension is not used")));
    }
    let path: Option<String> = value(table, "path", "a text")?;
    let path = path.filter(|path| !path.trim().is_empty());
    let usual = Entry::new("").frame_bytes_max;
    let entry = Entry {
        // What it is shown under is a matter of whoever starts it.
        name: String::new(),
        path: home_of(layers, path.ok_or(("path", "is missing".to_string()))?),
        args: value(table, "args", "a list of texts")?.unwrap_or_default(),
        env: env(layers, table)?,
        inherit: inherit(table)?,
        enabled: value(table, "enabled", "true or false")?.unwrap_or(true),
        grants: grants(table)?,
        restart: restart(table)?,
        private_data: value(table, "private_data", "true or false")?.unwrap_or(false),
        frame_bytes_max: frame_bytes_max(table)?.unwrap_or(usual),
    };
    let args = entry.args.iter().map(|word| home_of(layers, word.clone())).collect();
    let entry = Entry { args, ..entry };
    let source = layers.file.source();
    Ok(ExtensionConfig { name: name.into(), entry, folders: folders(layers, table)?, source })
}

fn value<T: DeserializeOwned>(
    table: &Table,
    key: &'static str,
    expected: &str,
) -> Result<Option<T>, Wrong> {
    let Some(value) = table.get(key) else { return Ok(None) };
    // The parser's own words may quote the value, which may be a key.
    value.clone().try_into().map(Some).map_err(|_| (key, format!("must be {expected}")))
}

fn home_of(layers: &Layers, word: String) -> String {
    match word.strip_prefix("~/") {
        Some(below) => layers.world.home.join(below).to_string_lossy().into_owned(),
        None => word,
    }
}

/// `NAME = "value"`; `"$OTHER"` is what Althing's own environment has there.
fn env(layers: &Layers, table: &Table) -> Result<BTreeMap<String, String>, Wrong> {
    let all: BTreeMap<String, String> =
        value(table, "env", "a table of texts: { NAME = \"value\" }")?.unwrap_or_default();
    let variable =
        |(name, value): (String, String)| {
            let shown = shown(&name, 40);
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(("env", format!("'{shown}' cannot be set")));
            }
            let value =
                match value.strip_prefix('$') {
                    None => value,
                    Some(other) => layers.world.env.get(other).cloned().ok_or_else(|| {
                        ("env", format!("{shown} names a variable that is not set"))
                    })?,
                };
            Ok((name, value))
        };
    all.into_iter().map(variable).collect()
}

/// Variables of our environment that it gets beside the usual ones.
fn inherit(table: &Table) -> Result<Vec<String>, Wrong> {
    let expected = "a list of names of variables; a * at the end stands for the rest of a name";
    let names: Vec<String> = value(table, "inherit", expected)?.unwrap_or_default();
    if names.len() > INHERIT_MAX {
        return Err(("inherit", format!("must be at most {INHERIT_MAX}")));
    }
    let is_start = |name: &str| !name.is_empty() && !name.contains(['=', '\0', '*']);
    match names.iter().all(|name| is_start(name.strip_suffix('*').unwrap_or(name))) {
        true => Ok(names),
        // A star alone would be everything there is.
        false => Err(("inherit", format!("must be {expected}"))),
    }
}

fn grants(table: &Table) -> Result<Vec<Grant>, Wrong> {
    let expected = "a list of read, change, windows, dialogues, files and models";
    Ok(value(table, "grants", expected)?.unwrap_or_else(Grant::usual))
}

fn restart(table: &Table) -> Result<Option<Restart>, Wrong> {
    let expected = "a table: { times_max, window_s, first_ms, wait_ms_max }";
    let restart: Option<Restart> = value(table, "restart", expected)?;
    let waits_ms_max = RESTART_S_MAX * 1000;
    let problem = match restart {
        Some(it) if !(1..=RESTARTS_MAX).contains(&it.times_max) => {
            format!("times_max must be 1 to {RESTARTS_MAX}")
        }
        Some(it) if !(1..=RESTART_S_MAX).contains(&it.window_s) => {
            format!("window_s must be 1 to {RESTART_S_MAX}")
        }
        Some(it) if it.first_ms.max(it.wait_ms_max) > waits_ms_max => {
            format!("first_ms and wait_ms_max must be at most {waits_ms_max}")
        }
        _ => return Ok(restart),
    };
    Err(("restart", problem))
}

fn frame_bytes_max(table: &Table) -> Result<Option<usize>, Wrong> {
    let expected = format!("a number from {} to {}", FRAME_BYTES.start(), FRAME_BYTES.end());
    let given: Option<usize> = value(table, "frame_bytes_max", &expected)?;
    match given.is_none_or(|bytes| FRAME_BYTES.contains(&bytes)) {
        true => Ok(given),
        false => Err(("frame_bytes_max", format!("must be {expected}"))),
    }
}

/// Where files may be picked; the home where nothing is said.
fn folders(layers: &Layers, table: &Table) -> Result<Vec<PathBuf>, Wrong> {
    let named: Option<Vec<String>> = value(table, "folders", "a list of folders")?;
    let Some(named) = named else { return Ok(vec![layers.world.home.clone()]) };
    if named.len() > FOLDERS_MAX {
        return Err(("folders", format!("must be at most {FOLDERS_MAX}")));
    }
    let base = layers.file.folder();
    Ok(named.into_iter().map(|folder| base.join(home_of(layers, folder))).collect())
}
