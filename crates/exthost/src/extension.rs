//! One extension, as all parts of the host see it.

use crate::config::Entry;
use crate::gate::Gate;
use crate::lifecycle::{Input, Phase, Then};
use crate::log::{Log, LogLine};
use crate::manifest::Manifest;
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

/// Messages of the host that wait for the extension to read; one more is dropped and told of.
pub(crate) const FEED_MAX: usize = 64;

/// Where an extension is in its life, for people and pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its process is being started.
    Starting,
    /// It was asked what it is.
    Initializing,
    /// It can be used.
    Running,
    /// It was asked to end.
    ShuttingDown,
    /// It crashed and will be started again.
    Restarting,
    /// It is not there.
    Stopped,
    /// It is not there, and this is why.
    Failed(String),
}

impl State {
    /// Whether nothing happens to it any more by itself.
    pub fn is_over(&self) -> bool {
        matches!(self, State::Stopped | State::Failed(_))
    }
}

impl std::convert::From<&Phase> for State {
    fn from(phase: &Phase) -> State {
        match phase {
            Phase::Starting => State::Starting,
            Phase::Initializing { .. } => State::Initializing,
            Phase::Running => State::Running,
            Phase::Stopping { .. } => State::ShuttingDown,
            Phase::Waiting { .. } => State::Restarting,
            Phase::Stopped => State::Stopped,
            Phase::Failed { reason } => State::Failed(reason.clone()),
        }
    }
}

/// What waits to be said to an extension.
pub(crate) enum Notice {
    /// A notification.
    Tell(&'static str, Value),
    /// Says when all before it is said.
    Reached(oneshot::Sender<()>),
}

pub(crate) struct Extension {
    pub(crate) id: String,
    pub(crate) entry: Entry,
    /// What the supervisor is told to do.
    pub(crate) control: mpsc::Sender<Input>,
    /// The gate may have opened.
    pub(crate) poke: Notify,
    /// Its requests that read or change the message have it one after the other, as they came: what
    /// takes long is done elsewhere, and a flood of it would need a thread and a copy for each.
    pub(crate) at_message: tokio::sync::Mutex<()>,
    status: Mutex<Status>,
}

/// What changes.
pub(crate) struct Status {
    pub(crate) state: State,
    /// Its answer to `initialize` could not be taken.
    pub(crate) is_refused: bool,
    pub(crate) manifest: Option<Arc<Manifest>>,
    pub(crate) gate: Gate,
    pub(crate) log: Log,
    pub(crate) feed: Option<mpsc::Sender<Notice>>,
    crashes: usize,
}

impl Extension {
    pub(crate) fn new(id: String, entry: Entry, control: mpsc::Sender<Input>) -> Extension {
        let status = Status {
            state: State::Stopped,
            is_refused: false,
            manifest: None,
            gate: Gate::default(),
            log: Log::new(Instant::now()),
            feed: None,
            crashes: 0,
        };
        let (poke, at_message) = (Notify::new(), tokio::sync::Mutex::new(()));
        Extension { id, entry, control, poke, at_message, status: Mutex::new(status) }
    }

    pub(crate) fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the person called it: what it calls itself is its own choice, and may be another's name.
    pub(crate) fn name(&self) -> &str {
        if self.entry.name.is_empty() { &self.entry.path } else { &self.entry.name }
    }

    /// Puts a notification in line; false if there is no room or nobody to read it.
    pub(crate) fn tell(&self, method: &'static str, params: Value) -> bool {
        let feed = self.status().feed.clone();
        feed.is_some_and(|feed| feed.try_send(Notice::Tell(method, params)).is_ok())
    }

    /// What it is in its present life; nothing before it has said so, and when it is to end.
    pub(crate) fn running(&self) -> Option<Arc<Manifest>> {
        let status = self.status();
        status.manifest.clone().filter(|_| status.state == State::Running)
    }

    /// Gives back the commands that it will not be sent any more.
    pub(crate) fn entered(&self, phase: &Phase) -> VecDeque<String> {
        let mut status = self.status();
        status.state = phase.into();
        status.crashes += matches!(phase, Phase::Waiting { .. } | Phase::Failed { .. }) as usize;
        status.is_refused = matches!(phase, Phase::Stopping { then: Then::Fail(_), .. });
        if status.state == State::Running {
            return VecDeque::new();
        }
        let dropped = status.gate.drop_waiting();
        if status.state.is_over() || status.state == State::Restarting {
            status.feed = None;
            status.gate = Gate::default();
        }
        dropped
    }

    /// All that is to be shown of it.
    pub(crate) fn info(&self) -> ExtensionInfo {
        let status = self.status();
        ExtensionInfo {
            id: self.id.clone(),
            name: self.name().to_string(),
            path: self.entry.path.clone(),
            state: status.state.clone(),
            manifest: status.manifest.as_deref().cloned(),
            open_requests: status.gate.open_requests(),
            crashes: status.crashes,
        }
    }

    pub(crate) fn log(&self) -> Vec<LogLine> {
        self.status().log.lines()
    }
}

impl Status {
    /// Puts a command in line; whether there was room, and nothing if it is not running or does not
    /// have it.
    pub(crate) fn offer(&mut self, command: &str) -> Option<bool> {
        let manifest = self.manifest.as_ref().filter(|_| self.state == State::Running)?;
        let buttons = manifest.toolbar_buttons.iter().map(|button| &button.command);
        let has = manifest.commands.iter().chain(buttons).any(|it| it == command);
        has.then(|| self.gate.push(command.to_string()))
    }
}

/// An extension, to be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExtensionInfo {
    /// Its name for programs.
    pub id: String,
    /// What the person called it.
    pub name: String,
    /// As configured.
    pub path: String,
    /// Where it is in its life.
    pub state: State,
    /// What it said of itself; kept until it says something else.
    pub manifest: Option<Manifest>,
    /// Its requests that wait for an answer.
    pub open_requests: usize,
    /// How often it ended although nobody wanted that.
    pub crashes: usize,
}
