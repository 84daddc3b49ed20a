//! The TOML file: read, checked for names nobody knows, and written once as a template.

use super::layers::Raw;
use super::nearest::nearest;
use super::settings::SETTINGS;
use super::source::{Source, Warning, shown};
use althing_stdx::{Fault, Kind, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The whole file as `althing config --init` writes it. `# ` begins an explanation, `#` right
/// before a key one that stands at its default.
pub const TEMPLATE: &str = include_str!("template.toml");

/// A longer file is not read.
pub(super) const FILE_BYTES_MAX: u64 = 256 * 1024;

/// The keys of `[providers.<id>]`.
const PROVIDER_KEYS: &[&str] =
    &["provider", "api_key", "api_key_env", "base_url", "models", "parallel", "context_tokens"];
/// The sections that are no settings.
const SECTIONS: &[&str] =
    &["providers", "prices", "model_context_tokens", "logins", "agents", "workers", "extensions"];

/// What the file says; empty where there is none. It holds keys, so it cannot be printed.
pub(super) struct TomlFile {
    path: PathBuf,
    table: Table,
}

impl TomlFile {
    /// Reads `path`. A broken file is a warning, and as if it were not there.
    pub(super) fn read(path: PathBuf, warnings: &mut Vec<Warning>) -> TomlFile {
        let source = Source::File(path.clone());
        let mut warn = |place: &str, problem: &str| {
            warnings.push(Warning::new(place, &source, problem));
        };
        let mut table = Table::new();
        match read_bounded(&path, FILE_BYTES_MAX) {
            Ok(None) => {}
            Err(problem) => warn("the file", &problem),
            Ok(Some(bytes)) => match parse(&bytes) {
                Ok(parsed) => table = parsed,
                Err((place, problem)) => warn(&place, &problem),
            },
        }
        let file = TomlFile { path, table };
        if file.holds_keys() && others_can_read(&file.path) {
            warn("api_key", "other users of this machine can read this file; chmod 600 helps");
        }
        file
    }

    /// The top-level setting `key`; set to nothing is not set.
    pub(super) fn setting(&self, key: &str) -> Option<Result<Raw, Warning>> {
        self.raw(key, self.table.get(key)?)
    }

    /// `key` of `[providers.<id>]`.
    pub(super) fn of_provider(&self, id: &str, key: &str) -> Option<Result<Raw, Warning>> {
        self.raw(&format!("providers.{id}.{key}"), self.providers()?.get(id)?.get(key)?)
    }

    /// `key` of `[logins.<provider>]`.
    pub(super) fn of_login(&self, provider: &str, key: &str) -> Option<Result<Raw, Warning>> {
        let value = self.logins()?.get(provider)?.get(key)?;
        self.raw(&format!("logins.{provider}.{key}"), value)
    }

    /// What is below `agents`, whatever it is.
    pub(super) fn agents(&self) -> Option<&Value> {
        self.table.get("agents")
    }

    /// What is below `logins`, whatever it is.
    pub(super) fn logins(&self) -> Option<&Value> {
        self.table.get("logins")
    }

    /// What is below `workers`, whatever it is.
    pub(super) fn workers(&self) -> Option<&Value> {
        self.table.get("workers")
    }

    /// What is below `extensions`, whatever it is.
    pub(super) fn extensions(&self) -> Option<&Value> {
        self.table.get("extensions")
    }

    /// The folder it is in.
    pub(super) fn folder(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("/")).to_path_buf()
    }

    /// The ids below `[providers]`.
    pub(super) fn provider_ids(&self) -> impl Iterator<Item = &str> {
        let all = self.providers().into_iter().flat_map(Table::iter);
        all.filter(|(_, value)| value.is_table()).map(|(id, _)| id.as_str())
    }

    /// What `[prices]` says, in the order of the file.
    pub(super) fn prices(&self) -> impl Iterator<Item = (&str, &Value)> {
        let table = self.table.get("prices").and_then(Value::as_table);
        table.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// What `[model_context_tokens]` says, in the order of the file.
    pub(super) fn model_windows(&self) -> impl Iterator<Item = (&str, &Value)> {
        let table = self.table.get(super::windows::SECTION).and_then(Value::as_table);
        table.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn source(&self) -> Source {
        Source::File(self.path.clone())
    }

    fn providers(&self) -> Option<&Table> {
        self.table.get("providers")?.as_table()
    }

    fn holds_keys(&self) -> bool {
        self.provider_ids().any(|id| self.of_provider(id, "api_key").is_some())
    }

    /// All values are text here, as they are in the environment: one way to read each setting.
    fn raw(&self, key: &str, value: &Value) -> Option<Result<Raw, Warning>> {
        match text(value) {
            Some(text) if text.is_empty() => None,
            Some(text) => Some(Ok(Raw { text, source: self.source() })),
            None => {
                let problem = "must be a text, a number or a list of texts";
                Some(Err(Warning::new(key, &self.source(), problem)))
            }
        }
    }

    /// Warns of every name that nothing reads.
    pub(super) fn check_names(&self, warnings: &mut Vec<Warning>) {
        let settings = SETTINGS.iter().map(|setting| setting.key).chain(SECTIONS.iter().copied());
        self.check("", &self.table, &settings.collect::<Vec<_>>(), warnings);
        for (id, value) in
            self.table.get("providers").and_then(Value::as_table).into_iter().flatten()
        {
            let place = format!("providers.{}", shown(id, 40));
            match value.as_table() {
                Some(table) => self.check(&format!("{place}."), table, PROVIDER_KEYS, warnings),
                None => {
                    let problem = format!("must be a section: [{place}]");
                    warnings.push(Warning::new(&place, &self.source(), problem));
                }
            }
        }
        if self.table.get("providers").is_some_and(|value| !value.is_table()) {
            let problem = "must be sections: [providers.openai], …";
            warnings.push(Warning::new("providers", &self.source(), problem));
        }
        super::logins::check(self, warnings);
        for section in ["prices", super::windows::SECTION] {
            if self.table.get(section).is_some_and(|value| !value.is_table()) {
                let problem = format!("must be a section: [{section}]");
                warnings.push(Warning::new(section, &self.source(), problem));
            }
        }
    }

    pub(super) fn check(
        &self,
        place: &str,
        table: &Table,
        known: &[&str],
        warnings: &mut Vec<Warning>,
    ) {
        for name in table.keys().filter(|name| !known.contains(&name.as_str())) {
            let problem = match nearest(name, known.iter().copied(), 1).first() {
                Some(near) => format!("is not known; did you mean {near}?"),
                None => format!("is not known; there are {}", known.join(", ")),
            };
            let name = format!("{place}{}", shown(name, 40));
            warnings.push(Warning::new(&name, &self.source(), problem));
        }
    }
}

/// The table, or where it breaks and why. The parser's own rendering would quote the line, which
/// may hold a key; its message alone never does.
fn parse(bytes: &[u8]) -> std::result::Result<Table, (String, String)> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ("the file".to_string(), "is not UTF-8, so it is not used".to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = &text.as_bytes()[..at];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column =
            String::from_utf8_lossy(before).chars().rev().take_while(|c| *c != '\n').count();
        let place = format!("line {line}, column {}", column + 1);
        (place, format!("is not TOML ({}), so the file is not used", shown(error.message(), 100)))
    })
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_string()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Array(all) => {
            let texts: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
            Some(texts?.join(","))
        }
        Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// The bytes of the file; none where there is no file; a problem where it cannot be used.
pub(super) fn read_bounded(
    path: &Path,
    bytes_max: u64,
) -> std::result::Result<Option<Vec<u8>>, String> {
    let opened = fs::metadata(path).and_then(|found| match found.is_file() {
        true => File::open(path).map(Some),
        // To open a pipe, or to read from a terminal, may never end.
        false => Ok(None),
    });
    let file = match opened {
        Ok(Some(file)) => file,
        Ok(None) if is_nothing(path) => return Ok(None),
        Ok(None) => return Err("is no regular file, so it is not used".into()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let mut bytes = Vec::new();
    let read = file.take(bytes_max + 1).read_to_end(&mut bytes);
    match read {
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(length) if length as u64 > bytes_max => {
            Err(format!("is longer than {bytes_max} bytes, so it is not used"))
        }
        Ok(_) => Ok(Some(bytes)),
    }
}

/// Whether a person says by `path` that there is no file.
fn is_nothing(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|real| real == Path::new("/dev/null"))
}

#[cfg(unix)]
fn others_can_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_can_read(_path: &Path) -> bool {
    false
}

/// Writes the template to `path`, for the person's eyes only. A file that is there stays as it is.
pub fn init(path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Fault::new(Kind::NotFound, format!("{} cannot be written: {error}", path.display()))
    };
    private_folder().create(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let mut file = private_file().open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Fault::invalid(format!("{} is there already; nothing was changed", path.display()))
        }
        _ => failed(error),
    })?;
    file.write_all(TEMPLATE.as_bytes()).map_err(failed)
}

pub(super) fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
