//! The host with real extensions: processes of other languages, good ones and bad ones.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

mod bad;
mod draft;
mod good;
mod kit;
mod peers;
mod rules;
