//! Faces: thin translations between a protocol and the runs. They hold no logic of their own.

pub mod dbus;
pub mod http;
pub mod mcp;
pub mod quorum;
