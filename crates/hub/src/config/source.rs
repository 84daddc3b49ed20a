//! Where a value comes from, and how that is told.

use althing_stdx::redact::redact;
use althing_stdx::text::one_line;
use std::{fmt, ops::Deref, path::PathBuf};

/// Characters of a value that are shown; the rest is cut.
const SHOWN_CHARS_MAX: usize = 200;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    /// The TOML file.
    File(PathBuf),
    /// `.env` in the current folder, which may be anybody's: the variable's name.
    Local(String),
    /// `~/.quorum/.env`: the variable's name.
    Quorum(String),
    /// A variable of the process environment.
    Process(String),
    /// Added while programs ran; kept in the store.
    Stored,
}

impl Source {
    /// Which layer it is of, the highest first.
    pub(super) fn layer(&self) -> u8 {
        match self {
            Source::Process(_) => 0,
            Source::Local(_) | Source::Quorum(_) => 1,
            Source::File(_) => 2,
            Source::Stored => 3,
            Source::Default => 4,
        }
    }

    /// Whether it stands in the folder the person happens to be in, and not in one of their own.
    pub fn is_local(&self) -> bool {
        matches!(self, Source::Local(_))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Local(name) => write!(f, "{name} in ./.env"),
            Source::Quorum(name) => write!(f, "{name} in ~/.quorum/.env"),
            Source::Process(name) => write!(f, "environment variable {name}"),
            Source::Stored => f.write_str("added"),
        }
    }
}

/// A value that knows its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: Source,
}

impl<T> Sourced<T> {
    pub fn default(value: T) -> Sourced<T> {
        Sourced { value, source: Source::Default }
    }
}

impl<T> Deref for Sourced<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// Something set that cannot be used. It never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The variable, the TOML key, or the place in the file.
    pub name: String,
    pub source: Source,
    pub problem: String,
}

impl Warning {
    /// `name` is the TOML key; a variable names itself.
    pub(super) fn new(key: &str, source: &Source, problem: impl fmt::Display) -> Warning {
        let name = match source {
            Source::Local(name) | Source::Quorum(name) | Source::Process(name) => name.as_str(),
            Source::Default | Source::File(_) | Source::Stored => key,
        };
        Warning { name: name.into(), source: source.clone(), problem: problem.to_string() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Default | Source::Stored => write!(f, "{}: {}", self.name, self.problem),
            Source::File(path) => {
                write!(f, "{} in {}: {}", self.name, path.display(), self.problem)
            }
            source => write!(f, "{source}: {}", self.problem),
        }
    }
}

/// One effective value, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: String,
    pub value: String,
    pub source: String,
}

impl Row {
    pub(super) fn new(key: impl fmt::Display, value: impl fmt::Display, source: &Source) -> Row {
        let value = shown(&value.to_string(), SHOWN_CHARS_MAX);
        Row { key: key.to_string(), value, source: source.to_string() }
    }
}

/// A value as it may be shown: one line, nothing that looks like a key, at most `chars` long.
pub(super) fn shown(value: &str, chars: usize) -> String {
    one_line(&redact(value), chars)
}
