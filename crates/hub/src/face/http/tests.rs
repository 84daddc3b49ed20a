//! The face in this process, by raw sockets.

mod affinity;
mod discussing;
mod doors;
pub mod kit;
mod limits;
mod talking;
mod through;
mod translating;
mod vectors;
