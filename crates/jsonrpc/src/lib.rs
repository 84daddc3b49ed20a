//! A JSON-RPC 2.0 peer over any byte stream. Both sides may call; many requests are in flight at
//! once; everything that goes out keeps one order; every queue has a limit.
//!
//! [`connect`] gives a [`Peer`] to call through and a future that does the work:
//!
//! ```
//! use althing_jsonrpc::{Cx, Error, Handler, Ndjson, Options, RawValue, Value, connect};
//!
//! struct Echo;
//! impl Handler for Echo {
//!     async fn request(
//!         &self,
//!         _: Cx,
//!         method: &str,
//!         params: Box<RawValue>,
//!     ) -> Result<Value, Error> {
//!         match method {
//!             "echo" => serde_json::from_str(params.get()).map_err(Error::invalid_params),
//!             _ => Err(Error::method_not_found(method)),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let (here, there) = tokio::io::duplex(1024);
//! let (reader, writer) = tokio::io::split(here);
//! let (_server, serving) = connect(reader, writer, Ndjson::default(), Echo, Options::server());
//! let (reader, writer) = tokio::io::split(there);
//! let (client, calling) = connect(reader, writer, Ndjson::default(), (), Options::peer());
//! let said = async {
//!     let said = client.call("echo", ["hello"]).await;
//!     client.close();
//!     said
//! };
//! let (said, _, ended) = tokio::join!(said, calling, serving);
//! assert_eq!(said.unwrap(), serde_json::json!(["hello"]));
//! assert!(matches!(ended, althing_jsonrpc::Ended::Eof));
//! # }
//! ```

#![warn(missing_docs)]

mod batch;
mod calls;
mod desk;
mod driver;
mod error;
pub mod framing;
mod handler;
mod link;
pub mod message;
mod options;
mod outbox;
mod peer;

pub use driver::connect;
pub use error::{CallError, Ended, Error, INVALID_REQUEST, PARSE_ERROR};
pub use framing::{Bad, ContentLength, Frame, Framing, Ndjson};
pub use handler::{Canceller, Cx, Handler, Trouble};
pub use message::{Incoming, Invalid};
pub use options::{Limits, NullId, OnEof, Options, WhenFull};
pub use peer::Peer;
pub use serde_json::{Value, value::RawValue};
