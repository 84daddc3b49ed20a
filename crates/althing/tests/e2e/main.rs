//! End to end: the real binary against real sockets, real files and a real peer. One binary, so
//! that it is linked once.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

mod agents;
mod ask;
mod crowd;
mod dbus;
mod extensions;
mod faults;
mod frontend;
mod harness;
mod ipc;
mod itself;
mod keyring;
mod kill;
mod litellm;
mod local;
mod marks;
mod mcp;
mod person;
mod pictures;
mod plan;
mod pull;
mod real_discussions;
mod resume;
mod sdk;
mod unread;
mod windows;
mod workers;
