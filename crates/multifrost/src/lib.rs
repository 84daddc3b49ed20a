//! Functions in other languages: parent and child of the protocol `comlink_ipc_v4` ("Multifrost
//! 4"), which is msgpack over ZeroMQ.
#![warn(missing_docs)]

pub mod child;
pub mod envelope;
mod error;
mod id;
pub mod limits;
mod msgpack;
pub mod parent;
pub mod process;
pub mod registry;
mod socket;
pub mod value;
mod wait;
pub mod zmtp;

pub use child::Child;
pub use error::{Error, Exit};
pub use msgpack::Malformed;
pub use parent::Parent;
pub use process::Program;
pub use value::Value;
