//! Functions in other languages: parent and child of the protocol `comlink_ipc_v4` ("Multifrost
//! 4"), which is msgpack over ZeroMQ. It speaks with the libraries of Python, JavaScript, Go and
//! Rust byte for byte, and needs none of them, nor libzmq.
//!
//! A *parent* starts a worker and calls its functions. The worker's process and all that it starts
//! end with the last handle:
//!
//! ```no_run
//! # async fn example() -> Result<(), multifrost::Error> {
//! use multifrost::{Parent, Program, parent::Options};
//!
//! let calc = Parent::spawn(Program::script("python3", "calc.py"), Options::default())?;
//! let sum: i64 = calc.call("add", (1, 2)).await?;
//! assert_eq!(sum, 3);
//! // The same on a thread without a runtime.
//! let sum: i64 = calc.blocking().call("add", (3, 4))?;
//! # Ok(())
//! # }
//! ```
//!
//! A *child* is a table of functions. It serves the parent that started its process; where there
//! is none, it can be a service that parents find by its name with [`Parent::connect`]:
//!
//! ```no_run
//! use multifrost::{Child, child::Service};
//!
//! fn main() -> Result<(), multifrost::Error> {
//!     let child = Child::new()
//!         .function("add", |(a, b): (i64, i64)| Ok(a + b))
//!         .async_function("later", |(text,): (String,)| async move { Ok(text) })
//!         .service(Service::new("math-service"));
//!     child.run().map(drop)
//! }
//! ```
//!
//! Between two peers of this crate a call that is given up ends its function, a function may give
//! its answer item by item ([`Parent::stream`], [`Child::stream_function`]), and a child knows its
//! callers by a [`Token`]. Old peers see nothing of that but three names.
//!
//! What holds here and not everywhere: nothing is dropped in silence when a peer reads slowly, and
//! nobody waits for another's reader; a call has a time limit, what is too long or cannot be packed is
//! an error, a worker's end is noticed at once and says how it ended, a child ends with its parent
//! however that ends, and all listen on the loopback address only. Every limit is in [`limits`].
//!
//! What is `async` here needs a tokio runtime with its clock; [`parent::Blocking`] and [`Child::run`]
//! need none. A worker that is started is watched by a small process of `/bin/sh`. The README has more
//! of what the crate needs, and of how types become values.
#![warn(missing_docs)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod child;
pub mod envelope;
mod error;
mod ext;
mod id;
pub mod limits;
mod msgpack;
mod pack;
pub mod parent;
pub mod process;
pub mod registry;
mod socket;
#[cfg(test)]
mod tests;
mod token;
mod unpack;
pub mod value;
mod wait;
pub mod zmtp;

pub use child::Child;
pub use error::{Error, Exit, Remote};
pub use msgpack::Malformed;
pub use parent::Parent;
pub use process::Program;
pub use token::Token;
pub use value::{Blob, Value};
