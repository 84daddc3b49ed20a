//! What goes wrong: on the wire, in a call of ours, and with the whole connection.

use althing_stdx::{Fault, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, io};

/// The code of a frame that is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The code of JSON that is no request.
pub const INVALID_REQUEST: i32 = -32600;

/// The error of an answer, as it stands on the wire. Codes that belong to a kind of fault come
/// from the one table of the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// What a program may branch on.
    pub code: i32,
    /// What a person reads.
    pub message: String,
    /// Whatever else is known.
    #[serde(default)]
    pub data: Option<Value>,
}

impl Error {
    /// An error without data.
    pub fn new(code: i32, message: impl fmt::Display) -> Error {
        Error { code, message: message.to_string(), data: None }
    }

    /// An error with the code of `kind`.
    pub fn of(kind: Kind, message: impl fmt::Display) -> Error {
        Error::new(kind.codes().jsonrpc, message)
    }

    /// What a handler says to a method it does not have.
    pub fn method_not_found(method: &str) -> Error {
        Error::of(Kind::UnknownMethod, format_args!("Method not found: {method}"))
    }

    /// What a handler says to parameters it cannot read.
    pub fn invalid_params(detail: impl fmt::Display) -> Error {
        Error::of(Kind::InvalidParams, format_args!("Invalid params: {detail}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Error {}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::of(fault.kind, fault.message)
    }
}

/// Why a call or a notification of ours came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The other side answered with an error.
    Remote(Error),
    /// The other side answered, but not with JSON that can be read.
    Malformed(String),
    /// No answer in the given time. A later one is dropped.
    TimedOut,
    /// As many calls as allowed wait for their answers already.
    TooMany {
        /// How many may wait.
        limit: usize,
    },
    /// The parameters cannot be written as JSON.
    Params(String),
    /// The connection is over.
    Closed,
}

impl CallError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            CallError::Remote(_) | CallError::Malformed(_) => Kind::Upstream,
            CallError::TimedOut => Kind::TimedOut,
            CallError::TooMany { .. } => Kind::Busy,
            CallError::Params(_) => Kind::Internal,
            CallError::Closed => Kind::Network,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Remote(error) => error.fmt(f),
            CallError::Malformed(detail) => write!(f, "the answer cannot be read: {detail}"),
            CallError::TimedOut => f.write_str("no answer in time"),
            CallError::TooMany { limit } => write!(f, "{limit} calls wait for answers already"),
            CallError::Params(detail) => write!(f, "the parameters cannot be written: {detail}"),
            CallError::Closed => f.write_str("the connection is closed"),
        }
    }
}

impl std::error::Error for CallError {}

/// Why a connection is over.
#[derive(Debug)]
pub enum Ended {
    /// The other side has nothing more to say, and everything we owed it was written.
    Eof,
    /// `Peer::close`, and everything said before was written.
    Closed,
    /// Reading failed.
    Read(io::Error),
    /// Writing failed; a broken pipe is the usual way for a client to leave.
    Write(io::Error),
    /// The other side asks but does not read: what it is owed outgrew the hard limit.
    OutboxFull {
        /// How many bytes were waiting to be written.
        bytes: usize,
    },
    /// Too much in a row that was no message; see `Limits::broken_max`.
    Broken {
        /// How many frames.
        frames: usize,
    },
    /// The other side has left but does not read what it is owed; `Limits::flush_max` has passed.
    Unread {
        /// How many bytes were lost with that.
        bytes: usize,
    },
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Eof => f.write_str("the other side closed the connection"),
            Ended::Closed => f.write_str("the connection was closed"),
            Ended::Read(error) => write!(f, "reading failed: {error}"),
            Ended::Write(error) => write!(f, "writing failed: {error}"),
            Ended::OutboxFull { bytes } => {
                write!(f, "the other side does not read: {bytes} bytes wait for it")
            }
            Ended::Broken { frames } => write!(f, "{frames} frames in a row are no messages"),
            Ended::Unread { bytes } => {
                write!(f, "the other side left {bytes} bytes unread")
            }
        }
    }
}
