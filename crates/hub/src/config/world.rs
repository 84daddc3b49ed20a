//! The world a configuration is read from. Given, so that tests need no process environment.

use super::source::{Source, Sourced};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The environment, the current folder and the person's home.
#[derive(Clone)]
pub struct World {
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub home: PathBuf,
}

impl World {
    /// This process's world.
    pub fn real() -> World {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        World {
            env: std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| ".".into()),
            home: std::env::home_dir().unwrap_or_else(|| ".".into()),
        }
    }

    /// A variable that is set to something.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// `$ALTHING_CONFIG`, or `althing/config.toml` where configurations are.
    pub(super) fn config_file(&self) -> Sourced<PathBuf> {
        self.place("ALTHING_CONFIG", "XDG_CONFIG_HOME", ".config", "althing/config.toml")
    }

    /// `$ALTHING_DATA`, or `althing` where programs keep their data.
    pub(super) fn data_dir(&self) -> Sourced<PathBuf> {
        self.place("ALTHING_DATA", "XDG_DATA_HOME", ".local/share", "althing")
    }

    fn place(&self, own: &str, xdg: &str, fallback: &str, below: &str) -> Sourced<PathBuf> {
        if let Some(path) = self.var(own) {
            return Sourced { value: self.path(path), source: Source::Process(own.into()) };
        }
        // A relative path there is invalid and to be ignored, says the XDG specification.
        match self.var(xdg).map(Path::new).filter(|path| path.is_absolute()) {
            Some(base) => Sourced { value: base.join(below), source: Source::Process(xdg.into()) },
            None => Sourced::default(self.home.join(fallback).join(below)),
        }
    }

    /// A path as people write it: `~/` is the home, the rest stands in the current folder.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None if text == "~" => self.home.clone(),
            None => self.cwd.join(text),
        }
    }
}

impl fmt::Debug for World {
    /// The environment holds keys, so only its size is told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("env", &self.env.len())
            .field("cwd", &self.cwd)
            .field("home", &self.home)
            .finish()
    }
}
