//! For tests and benches only: scripted voices on a paused clock, and a loopback server that speaks
//! every provider's dialect and fails in every provider's way.

pub mod downloads;
mod loopback;
pub mod scripted;
pub mod upstream;

pub use downloads::{Downloads, Mishap, StockFile};
pub use scripted::{Scripted, Stage, Step};
pub use upstream::{Dialect, Options, Seen, Upstream};
