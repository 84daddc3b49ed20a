//! The HTTP face: models for editors, SDKs and curl on this machine, in OpenAI's words and in
//! Anthropic's. It listens on loopback only, wants a token, and translates; it holds no logic.

mod body;
mod dialect;
mod discussion;
mod embeddings;
mod guard;
mod ignored;
mod listen;
mod models;
mod pass;
mod patience;
mod reply;
mod router;
mod shape;
mod talk;
#[cfg(test)]
mod tests;
mod token;
mod web;
mod wire;

pub use listen::{Bound, serve};
pub use token::Token;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Where the face listens unless somebody says otherwise.
pub const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 11535);

/// How the face listens.
#[derive(Debug, Clone)]
pub struct Options {
    /// Loopback; port 0 takes a free one.
    pub address: SocketAddr,
    pub token: Token,
    pub limits: Limits,
}

/// How long and how much a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; more wait until one ends.
    pub connections_max: usize,
    /// Between two requests, and before the first; then the connection is closed.
    pub idle: Duration,
    /// From the first byte of a request to the end of its head; then the connection is cut.
    pub head: Duration,
    /// The whole body of a request; then a 408.
    pub body: Duration,
    /// The longest body; a longer one is a 413.
    pub body_bytes_max: usize,
    /// How long a client may take nothing of what is sent to it; then it is cut off.
    pub stall: Duration,
    /// What is under way when the face stops may take so long; then it is cut.
    pub grace: Duration,
}

impl Default for Limits {
    /// 2048 connections; 75 s between requests, longer than the pools of the SDKs keep theirs; 10 s
    /// for a head, 30 s for a body of at most 32 MiB; 30 s of stalling; 5 s of grace.
    fn default() -> Limits {
        Limits {
            connections_max: 2048,
            idle: Duration::from_secs(75),
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            body_bytes_max: 32 * 1024 * 1024,
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}
