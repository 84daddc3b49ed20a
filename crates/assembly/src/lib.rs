//! Several models around one table. A method is an async function over a [`Floor`]; what happens is
//! a sequence of [`Event`]s. No network, no files, no processes: models and the log are given.

pub mod council;
pub mod demo;
pub mod event;
pub mod fence;
pub mod fit;
pub mod floor;
pub mod measure;
pub mod methods;
mod number;
pub mod parse;
pub mod past;
pub mod prompt;
pub mod repetition;
pub mod run;
pub mod tokens;
pub mod transcript;

pub use event::{Event, What};
pub use floor::{Floor, Log, Rules, Seat};
pub use methods::{ALL, Method, method};
