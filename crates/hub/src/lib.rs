//! What the other crates do not know of each other: configuration, store, runs, and how they come
//! together.

pub mod agents;
pub mod attach;
pub mod book;
pub mod config;
pub mod council;
pub mod discover;
pub mod export;
pub mod extensions;
pub mod face;
pub mod lineup;
pub mod local;
pub mod log;
pub mod pull;
pub mod runs;
pub mod secrets;
pub mod service;
pub mod store;
pub mod windows;
pub mod workers;
