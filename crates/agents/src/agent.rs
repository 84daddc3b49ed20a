//! An agent as a model.

use crate::call::Call;
use crate::custom::Custom;
use crate::reader::Format;
use crate::row::{self, Row};
use althing_chat::{Ask, Model, Speaking};
use futures_util::stream::{self, StreamExt};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How an agent is called and understood.
#[derive(Debug, Clone)]
pub enum Adapter {
    Known(&'static Row),
    Custom(Custom),
}

impl Adapter {
    /// A known agent by its name or id, with the model that may stand behind it:
    /// `claude`, `claude-cli`, `claude-cli:opus`.
    pub fn find(id: &str) -> Option<(Adapter, Option<String>)> {
        let (name, model) = match id.split_once(':') {
            Some((name, model)) => (name, Some(model.to_string())),
            None => (id, None),
        };
        Some((Adapter::Known(row::find(name)?), model.filter(|model| !model.is_empty())))
    }

    /// As a person knows it.
    pub fn name(&self) -> &str {
        match self {
            Adapter::Known(row) => row.name,
            Adapter::Custom(custom) => &custom.name,
        }
    }

    pub(crate) fn format(&self) -> Format {
        match self {
            Adapter::Known(row) => row.format,
            Adapter::Custom(custom) => custom.format,
        }
    }
}

/// The time an agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Without a word of progress.
    pub idle: Duration,
    /// From its start to its end.
    pub total: Duration,
}

/// What pays for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// Whatever it finds.
    #[default]
    Any,
    /// Its own login: keys of the environment are kept from it.
    Login,
    /// A key of the environment; without one it is not started.
    Key,
}

/// What an agent is called with.
#[derive(Clone)]
pub struct Options {
    pub model: Option<String>,
    /// Models that are asked in turn where the one before gave nothing.
    pub fallbacks: Vec<String>,
    pub auth: Auth,
    /// How hard to think, where the request does not say.
    pub effort: Option<String>,
    /// Its program, where that is not the command of its name on the path.
    pub program: Option<String>,
    /// Arguments beside those of its row.
    pub arguments: Vec<String>,
    /// An absolute folder it may read. Without one it works without tools in an empty folder.
    pub repo: Option<PathBuf>,
    /// A folder for its configuration, where it shall not use the person's.
    pub config: Option<PathBuf>,
    /// The person's environment. The agent gets what is on the list, and `variables`.
    pub environment: BTreeMap<String, String>,
    pub variables: Vec<String>,
    pub limits: Limits,
    /// Where the living processes are noted, so that `sweep` finds them after a crash.
    pub ledger: PathBuf,
    /// A folder for `stdout.txt` and `stderr.txt`, if they shall be kept: each start has a
    /// numbered folder of its own below it.
    pub raw: Option<PathBuf>,
}

impl fmt::Debug for Options {
    /// The environment holds keys, so only its size is told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("model", &self.model)
            .field("program", &self.program)
            .field("repo", &self.repo)
            .field("environment", &self.environment.len())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A CLI agent that can be asked.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) adapter: Arc<Adapter>,
    pub(crate) options: Arc<Options>,
    id: String,
}

impl Agent {
    pub fn new(adapter: Adapter, options: Options) -> Agent {
        let id = match (&adapter, &options.model) {
            (Adapter::Known(row), Some(model)) => format!("{}:{model}", row.id),
            (Adapter::Known(row), None) => row.id.to_string(),
            (Adapter::Custom(custom), _) => custom.name.clone(),
        };
        Agent { adapter: Arc::new(adapter), options: Arc::new(options), id }
    }
}

impl Model for Agent {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_noisy(&self) -> bool {
        true
    }

    /// Nothing is started before the stream is polled, and everything ends with it.
    fn speak(&self, ask: Ask) -> Speaking {
        if let Err(fault) = ask.check_text_only(&self.id) {
            return stream::iter([Err(fault)]).boxed();
        }
        let ignored = ask.ignored_by_text();
        stream::iter(ignored.map(Ok)).chain(Call::new(self.clone(), ask).speaking()).boxed()
    }
}
