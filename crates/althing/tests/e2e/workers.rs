//! Functions in other languages: as tools of models, as models, and from the command line. The
//! workers are those that `althing workers new` writes.

mod commands;
mod discussions;
pub mod kit;
mod life;
mod mishaps;
mod others;
mod session;
