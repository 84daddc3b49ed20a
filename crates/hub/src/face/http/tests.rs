//! The face in this process, by raw sockets.

mod doors;
mod kit;
mod limits;
mod talking;
mod through;
