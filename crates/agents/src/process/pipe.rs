//! The pipes of an agent.

use super::raw::Raw;
use crate::lines::Lines;
use std::future::pending;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;

/// Bytes of one read, as many as a pipe holds.
const READ_BYTES: usize = 64 << 10;

/// Lines from a process.
pub(super) struct Pipe<P> {
    pipe: Option<P>,
    buffer: Vec<u8>,
    lines: Lines,
    raw: Option<Raw>,
}

impl<P: AsyncRead + Unpin> Pipe<P> {
    pub(super) fn new(pipe: P, raw: Option<Raw>) -> Pipe<P> {
        Pipe { pipe: Some(pipe), buffer: vec![0; READ_BYTES], lines: Lines::default(), raw }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    /// The next lines; none may be whole yet. Cancelled, it loses nothing.
    pub(super) async fn lines(&mut self) -> Vec<String> {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        match pipe.read(&mut self.buffer).await {
            // A broken pipe is an end too.
            Ok(0) | Err(_) => self.close(),
            Ok(size) => {
                let (mut told, raw) = (Vec::new(), &mut self.raw);
                self.lines.feed(&self.buffer[..size], |line| {
                    raw.iter_mut().for_each(|raw| raw.line(line));
                    told.push(line.to_string());
                });
                told
            }
        }
    }

    /// Reads no more, and gives the line that nothing ended.
    pub(super) fn close(&mut self) -> Vec<String> {
        self.pipe = None;
        let (mut told, raw) = (Vec::new(), &mut self.raw);
        self.lines.end(|line| {
            raw.iter_mut().for_each(|raw| raw.line(line));
            told.push(line.to_string());
        });
        told
    }
}

/// The prompt on its way into a process.
pub(super) struct Feed<P> {
    pipe: Option<P>,
    bytes: Vec<u8>,
    written: usize,
}

impl Feed<ChildStdin> {
    pub(super) fn new(
        pipe: Option<std::process::ChildStdin>,
        bytes: Vec<u8>,
    ) -> io::Result<Feed<ChildStdin>> {
        let pipe = pipe.map(ChildStdin::from_std).transpose()?;
        Ok(Feed { pipe, bytes, written: 0 })
    }

    /// Writes on, and closes the pipe after the last byte. Cancelled, it loses nothing.
    pub(super) async fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        match pipe.write(&self.bytes[self.written..]).await {
            Ok(size) if size > 0 => self.written += size,
            // Who does not read its prompt to the end may still have an answer.
            Ok(_) | Err(_) => return self.close(),
        }
        if self.written == self.bytes.len() {
            self.close();
        }
    }

    pub(super) fn close(&mut self) {
        self.pipe = None;
        self.bytes = vec![];
    }
}
