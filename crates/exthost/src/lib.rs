//! Runs Hermes extensions: child processes that read and change the message in the editor and talk
//! to the person. They cannot hurt the host: whatever they send, keep, refuse or leave behind has a
//! limit, and all their processes end with them.
//!
//! [`Host::start`] runs them around a [`Document`](document::Document); a [`Desk`](desk::Desk) is
//! the person.

#![warn(missing_docs)]

pub mod code;
mod config;
mod debounce;
pub mod desk;
pub mod document;
mod draft;
mod editor;
mod extension;
mod gate;
mod grant;
mod history;
mod host;
mod lifecycle;
mod log;
mod manifest;
mod models;
pub mod record;
mod schema;
mod serve;
mod shared;
mod supervisor;
mod windows;

pub use althing_jsonrpc::Error;
pub use config::Entry;
pub use draft::Draft;
pub use extension::{ExtensionInfo, State};
pub use grant::Grant;
pub use host::{Host, Setup};
pub use lifecycle::{Reason, Restart};
pub use log::{LINE_BYTES_MAX, LOG_LINES_MAX, Level, LogLine, Source};
pub use manifest::{Button, Manifest};
pub use models::Models;
pub use shared::{Event, LogSink};
pub use windows::{Closed, WINDOWS_MAX, Window};
