//! What can go wrong for a caller.

mod remote;

use std::fmt;
use std::time::Duration;

pub use remote::Remote;

/// Why a call, a start or a registration failed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The function ran and failed, or the child refused the call: its own words.
    Remote(Remote),
    /// No answer in time. One that comes later is dropped.
    TimedOut(Duration),
    /// The connection ended before the answer.
    Disconnected(String),
    /// The child's process is gone.
    Exited(Exit),
    /// The parent was stopped.
    Stopped,
    /// A message would be longer than is allowed.
    TooLarge {
        /// How long it would be.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// The arguments cannot be packed, or are no list.
    Arguments(String),
    /// The answer is not of the type that was asked for.
    Answer(String),
    /// There is no such service.
    NoService(String),
    /// Another live process offers the service.
    Taken {
        /// The service.
        service: String,
        /// The process.
        pid: u32,
    },
    /// The system refused.
    System(String),
}

/// How a child's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The status, as the system words it.
    pub status: String,
    /// Its last lines on standard error.
    pub stderr: Vec<String>,
}

impl Error {
    pub(crate) fn system(doing: &str, why: impl fmt::Display) -> Error {
        Error::System(format!("{doing}: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Remote(said) => said.fmt(f),
            Error::TimedOut(max) => write!(f, "no answer within {} s", max.as_secs_f64()),
            Error::Disconnected(why) => write!(f, "the connection to the worker ended: {why}"),
            Error::Exited(exit) => write!(f, "the worker ended: {exit}"),
            Error::Stopped => f.write_str("the worker was stopped"),
            Error::TooLarge { bytes, max } => {
                write!(f, "a message of {bytes} bytes, {max} at most")
            }
            Error::Arguments(why) => write!(f, "these arguments cannot be sent: {why}"),
            Error::Answer(why) => write!(f, "the answer is of another type: {why}"),
            Error::NoService(service) => write!(f, "no service '{service}' is running"),
            Error::Taken { service, pid } => {
                write!(f, "service '{service}' is already offered by process {pid}")
            }
            Error::System(why) => f.write_str(why),
        }
    }
}

/// As it is displayed, so that a `main` may end with it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.status)?;
        self.stderr.iter().try_for_each(|line| write!(f, "\n{line}"))
    }
}
