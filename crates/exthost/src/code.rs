//! The error codes of the protocol. Those of JSON-RPC itself are in `althing_jsonrpc`; -32010 is
//! reserved, and -32050 to -32099 belong to extensions.

use althing_jsonrpc::Error;
use std::fmt::Display;

/// Nothing more exact fits: not granted, or too much at a time.
pub const GENERAL: i32 = -32000;
/// The extension's own initialisation failed; it is about to be ended.
pub const NOT_INITIALIZED: i32 = -32001;
/// An extension tried to initialise the host.
pub const ALREADY_INITIALIZED: i32 = -32002;
/// There is no message in the editor.
pub const NO_MESSAGE: i32 = -32003;
/// The message given is none.
pub const INVALID_MESSAGE: i32 = -32004;
/// A path that cannot be read, or names what must not change.
pub const INVALID_PATH: i32 = -32005;
/// A path to what is not there.
pub const PATH_NOT_FOUND: i32 = -32006;
/// An address that is none, or neither http nor https.
pub const INVALID_URL: i32 = -32007;
/// A window that is not there, not theirs, or cannot be opened.
pub const WINDOW: i32 = -32008;
/// No extension has this command.
pub const COMMAND_NOT_FOUND: i32 = -32009;
/// Parameters of the right shape that are beyond a limit.
pub const VALIDATION: i32 = -32011;
/// A dialogue that could not be shown.
pub const DIALOGUE: i32 = -32012;
/// The host failed: a view that the message does not have.
pub const INTERNAL: i32 = -32603;

pub(crate) fn no_message() -> Error {
    Error::new(NO_MESSAGE, "no message is open")
}

pub(crate) fn invalid_message(what: impl Display) -> Error {
    Error::new(INVALID_MESSAGE, what)
}

pub(crate) fn invalid_path(what: impl Display) -> Error {
    Error::new(INVALID_PATH, what)
}

pub(crate) fn path_not_found(what: impl Display) -> Error {
    Error::new(PATH_NOT_FOUND, what)
}

pub(crate) fn validation(what: impl Display) -> Error {
    Error::new(VALIDATION, what)
}
