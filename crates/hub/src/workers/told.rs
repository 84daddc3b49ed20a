//! What went wrong with a worker, in words: for the log, for whoever asked, and for the person.

use super::worker::Worker;
use crate::config::Start;
use althing_stdx::redact::{Secret, redact};
use althing_stdx::{Fault, Kind};
use multifrost::{Error, Remote};
use std::fmt;

/// A shorter value of a variable is no key.
const SECRET_BYTES_MIN: usize = 8;

/// Words of a worker that lacks what the protocol needs, and what brings it.
const LACKING: &[(&[&str], &str)] = &[
    (&["No module named 'zmq'", "No module named 'msgpack'"], "pip install pyzmq msgpack"),
    (
        &["Cannot find package 'zeromq'", "Cannot find package 'msgpackr'"],
        "npm install zeromq msgpackr",
    ),
];

/// Why a worker cannot be asked, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl Worker {
    /// A failure of this worker as a person reads it, without the name.
    pub fn trouble(&self, fault: &Fault) -> Trouble {
        let what = brief(fault.message.strip_prefix(&self.prefix()).unwrap_or(&fault.message));
        let section = format!("[workers.{}]", self.name());
        let is_lacking =
            |(words, _): &&(&[&str], &str)| words.iter().any(|word| fault.message.contains(word));
        let advice = match self.start() {
            Start::Service(service) if fault.kind == Kind::NotFound => {
                format!("start '{service}', or change `service` in {section}")
            }
            Start::Run { .. } if fault.message.contains(NOT_STARTED) => {
                format!("change `run` in {section}")
            }
            _ => match LACKING.iter().find(is_lacking) {
                Some((_, advice)) => (*advice).into(),
                None if fault.kind == Kind::InvalidParams => format!("change {section}"),
                None => format!("see `althing workers logs {}`", self.name()),
            },
        };
        Trouble { what, advice }
    }

    /// Why it could not be started or found.
    pub(super) fn not_started(&self, error: &Error) -> Fault {
        self.told("", error)
    }

    /// Why a call failed.
    pub(super) fn told(&self, function: &str, error: &Error) -> Fault {
        let text = match error {
            Error::Remote(said) if is_not_found(said, function) => {
                format!("Function '{function}' not found")
            }
            // The traceback is in the log.
            Error::Remote(said) => match said.kind() {
                Some(kind) => format!("{function} failed: {kind}: {}", said.message()),
                None => format!("{function} failed: {}", said.message()),
            },
            error => error.to_string(),
        };
        let kind = match error {
            Error::Remote(said) if is_not_found(said, function) => Kind::NotFound,
            Error::NoService(_) => Kind::NotFound,
            Error::TimedOut(_) => Kind::TimedOut,
            Error::Arguments(_) | Error::TooLarge { .. } => Kind::InvalidParams,
            _ => Kind::Upstream,
        };
        self.fault(kind, text)
    }

    pub(super) fn fault(&self, kind: Kind, text: impl fmt::Display) -> Fault {
        let text = redact(&veiled(&self.config.env, &text.to_string()));
        Fault::new(kind, format!("{}{text}", self.prefix()))
    }

    fn prefix(&self) -> String {
        format!("worker '{}': ", self.name())
    }
}

/// As the protocol's crate begins it.
const NOT_STARTED: &str = "cannot start the worker";

/// Whether the worker is gone with this.
pub(super) fn is_over(error: &Error) -> bool {
    use Error::{Disconnected, Exited, NoService, Stopped, System};
    matches!(error, Exited(_) | Disconnected(_) | NoService(_) | Stopped | System(_))
}

/// The first line and the last, which tells most where a program broke off. Node's last is its
/// version, so there it is the last that names an error.
fn brief(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let is_error = |line: &&str| line.split(':').next().is_some_and(|name| name.contains("Error"));
    let last = match lines.next_back() {
        Some(version) if version.starts_with("Node.js v") => lines.rfind(is_error),
        last => last,
    };
    last.map_or_else(|| first.into(), |last| format!("{first}: {last}"))
}

/// The text without the values that were given to the worker and may be keys.
pub(super) fn veiled(env: &[(String, Secret)], text: &str) -> String {
    let values = env.iter().map(|(_, value)| value.expose());
    let long = values.filter(|value| value.len() >= SECRET_BYTES_MIN);
    long.fold(text.to_string(), |text, value| text.replace(value, "…"))
}

/// Whether the words say that there is no such function, in any of the languages.
fn is_not_found(said: &Remote, function: &str) -> bool {
    let first = said.text().lines().next().unwrap_or_default();
    first.contains(&format!("Function '{function}' not found"))
        || first.contains(&format!("Function not found: {function}"))
}

#[cfg(test)]
#[test]
fn the_first_and_the_last_line_tell() {
    assert_eq!(brief("one line"), "one line");
    let crash = "it ended: exit status: 1\nTraceback:\n  File x\nModuleNotFoundError: no 'zmq'\n";
    assert_eq!(brief(crash), "it ended: exit status: 1: ModuleNotFoundError: no 'zmq'");
    let node = "it ended: exit status: 1\nfile:///x.mjs:2\nthrow new Odd()\n^\n\nTypeError: no luck\n    \
                at x.mjs:2\n\nNode.js v20.20.2\n";
    assert_eq!(brief(node), "it ended: exit status: 1: TypeError: no luck");
    assert_eq!(brief("it ended\nNode.js v20.20.2\n"), "it ended");
    assert_eq!(brief(""), "");
}
