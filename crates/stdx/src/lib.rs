//! What every crate shares: the one error table, redaction of secrets, and safe handling of
//! untrusted text. No I/O.

pub mod fault;
pub mod redact;
pub mod text;

pub use fault::{Fault, Kind, Result};
