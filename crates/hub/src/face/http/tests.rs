//! The face in this process, by raw sockets.

mod affinity;
mod answered;
mod circles;
mod discussing;
mod doors;
pub mod kit;
mod limits;
mod pages;
mod talking;
mod through;
mod translating;
mod vectors;
