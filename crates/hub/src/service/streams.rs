//! Pull streams: one conversation each, whose replies are fetched piece by piece.

use super::Service;
use super::words::{Caller, Received};
use althing_chat::{Message, Tool};
use althing_stdx::{Fault, Result};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The open streams.
#[derive(Default)]
pub struct Streams {}

impl Service {
    pub async fn create_stream(&self, _caller: &Caller, _model_id: &str) -> Result<String> {
        Err(Fault::internal("create_stream"))
    }

    /// Says something; the reply begins to arrive. Refused while one is under way.
    pub async fn send_message(
        &self,
        _caller: &Caller,
        _stream_id: &str,
        _message: Message,
        _tools: Vec<Tool>,
    ) -> Result<()> {
        Err(Fault::internal("send_message"))
    }

    /// The next pieces of the reply. Nothing within `wait` is no error and no chunk.
    pub async fn receive_stream(
        &self,
        _caller: &Caller,
        _stream_id: &str,
        _wait: Option<Duration>,
        _max_chunks: usize,
    ) -> Result<Received> {
        Err(Fault::internal("receive_stream"))
    }

    /// The bulk lane: replies as JSON lines on a pipe, from now on.
    pub async fn open_stream_fd(&self, _caller: &Caller, _stream_id: &str) -> Result<OwnedFd> {
        Err(Fault::internal("open_stream_fd"))
    }

    pub async fn close_stream(&self, _caller: &Caller, _stream_id: &str) -> Result<()> {
        Err(Fault::internal("close_stream"))
    }

    /// Frees everything a client held that is gone.
    pub fn caller_left(&self, _connection: &str) {}
}
