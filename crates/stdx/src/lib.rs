//! What every crate shares: the one error table, redaction of secrets, safe handling of untrusted
//! text, and the end of stray processes, which is all the I/O there is.

pub mod fault;
pub mod redact;
pub mod strays;
pub mod text;

pub use fault::{Fault, Kind, Result};
