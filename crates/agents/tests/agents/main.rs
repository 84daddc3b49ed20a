//! Agents as processes: fake ones that behave badly in every way, and the real ones. One binary, so
//! that it is linked once.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

mod fake;
mod harness;
mod real;
mod runner;
