//! Wip.
#![allow(dead_code)]
pub mod envelope;
mod id;
pub mod limits;
mod msgpack;
pub mod value;
pub mod zmtp;
