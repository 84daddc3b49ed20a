//! The layers a value is looked up in, highest first: process environment, `.env`, TOML file.

use super::dotenv::{self, DotEnv};
use super::file::{self, TomlFile};
use super::source::{Source, Warning};
use super::world::World;
use std::path::{Path, PathBuf};

/// A longer `.env` is not read.
const DOTENV_BYTES_MAX: u64 = 64 * 1024;

/// A value as it was written, and where. It may be a key, so it cannot be printed.
#[derive(Clone)]
pub(super) struct Raw {
    pub text: String,
    pub source: Source,
}

/// Everything that was read.
pub(super) struct Layers<'a> {
    pub world: &'a World,
    pub file: TomlFile,
    dotenv: Option<Dot>,
}

struct Dot {
    path: PathBuf,
    /// Whether it is the one in the current folder.
    local: bool,
    found: DotEnv,
}

impl Dot {
    fn source(&self, name: &str) -> Source {
        if self.local { Source::Local(name.into()) } else { Source::Quorum(name.into()) }
    }
}

impl<'a> Layers<'a> {
    pub(super) fn read(world: &'a World, warnings: &mut Vec<Warning>) -> Layers<'a> {
        let file = TomlFile::read(world.config_file().value, warnings);
        Layers { world, file, dotenv: read_dotenv(world, warnings) }
    }

    pub(super) fn dotenv_path(&self) -> Option<PathBuf> {
        self.dotenv.as_ref().map(|dot| dot.path.clone())
    }

    /// Everything the variable `name` is set to, highest layer first.
    pub(super) fn variables(&self, name: &str) -> impl Iterator<Item = Raw> {
        let process = self.world.env.get(name).map(|text| Raw {
            text: text.trim().to_string(),
            source: Source::Process(name.into()),
        });
        let dotenv = self.dotenv.as_ref().and_then(|dot| {
            let text = dot.found.get(name)?.trim().to_string();
            Some(Raw { text, source: dot.source(name) })
        });
        process.into_iter().chain(dotenv)
    }

    /// What the variable `name` is set to; set to nothing is not set.
    pub(super) fn variable(&self, name: &str) -> Option<Raw> {
        self.variables(name).find(|raw| !raw.text.is_empty())
    }
}

/// `.env` in the current folder, and only it, if there is one; else the person's own.
fn read_dotenv(world: &World, warnings: &mut Vec<Warning>) -> Option<Dot> {
    let (local, own) = (world.cwd.join(".env"), world.home.join(".quorum/.env"));
    let global = world.var("QUORUM_GLOBAL_CONFIG").is_some();
    let is_local = !global && local != own && local.is_file();
    let path = if is_local { local } else { own };
    let dot = Dot { path: path.clone(), local: is_local, found: DotEnv::default() };
    let found = load(&path, &dot, world, warnings)?;
    Some(Dot { found, ..dot })
}

fn load(path: &Path, dot: &Dot, world: &World, warnings: &mut Vec<Warning>) -> Option<DotEnv> {
    let mut warn = |place: &str, problem: String| {
        warnings.push(Warning::new(place, &dot.source(place), problem));
    };
    let bytes = match file::read_bounded(path, DOTENV_BYTES_MAX) {
        Ok(bytes) => bytes?,
        Err(problem) => {
            warn("the file", problem);
            return Some(DotEnv::default());
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    if text.contains(char::REPLACEMENT_CHARACTER) {
        warn("the file", "is not UTF-8; what could not be read became \u{fffd}".into());
    }
    // Anybody's folder could read the person's keys otherwise.
    let outside = |name: &str| world.env.get(name).filter(|_| !dot.local).cloned();
    let found = dotenv::parse(&text, outside);
    if let Some((line, problem)) = found.bad.first() {
        let more = match found.bad.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more lines are wrong too"),
        };
        warn(&format!("line {line}"), format!("{problem}; it is ignored{more}"));
    }
    Some(found)
}
