//! Runs Hermes extensions: child processes that read and change the message in the editor and talk
//! to the person.

#![warn(missing_docs)]

pub mod code;
pub mod document;
