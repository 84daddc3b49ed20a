//! The two ends of a byte stream. Both may be dropped at any await and picked up again: what was
//! read is in the buffer, and what was written is counted, before the next await.

use crate::{
    error::Ended,
    framing::{Frame, Framing},
    outbox::Outbox,
};
use bytes::BytesMut;
use std::{future::pending, io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

/// Room for one read. A frame that is longer takes several.
const READ_BYTES: usize = 64 << 10;
/// Room that is made at once for a frame that has begun, however long it says it is.
const ROOM_BYTES_MAX: usize = 1 << 20;
/// Bytes read in search of the end while no frame is taken. Behind more of them the end is not seen
/// before frames are taken again.
const AHEAD_BYTES_MAX: usize = 1 << 20;

pub(crate) struct Inbox<R, F> {
    reader: R,
    framing: F,
    buf: BytesMut,
    is_at_end: bool,
}

impl<R: AsyncRead + Unpin, F: Framing> Inbox<R, F> {
    pub(crate) fn new(reader: R, framing: F) -> Inbox<R, F> {
        Inbox { reader, framing, buf: BytesMut::new(), is_at_end: false }
    }

    /// The next frame; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.framing.decode(&mut self.buf) {
                return Ok(Some(frame));
            }
            if self.is_at_end {
                return Ok(self.framing.finish(&mut self.buf));
            }
            self.read().await?;
        }
    }

    /// Waits for the end of the stream and takes no frame; those before it are still to be had.
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        while !self.is_at_end {
            if self.buf.len() >= AHEAD_BYTES_MAX {
                pending::<()>().await;
            }
            self.read().await?;
        }
        Ok(())
    }

    /// Whether the end has been seen.
    pub(crate) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    async fn read(&mut self) -> io::Result<()> {
        let wants = self.framing.wants(&self.buf).min(ROOM_BYTES_MAX);
        self.buf.reserve(wants.max(READ_BYTES));
        self.is_at_end = self.reader.read_buf(&mut self.buf).await? == 0;
        Ok(())
    }
}

pub(crate) struct Writer<W> {
    writer: W,
    batch: Vec<u8>,
    written: usize,
    is_flushed: bool,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(crate) fn new(writer: W) -> Writer<W> {
        Writer { writer, batch: Vec::new(), written: 0, is_flushed: true }
    }

    /// Writes whatever is in the outbox, all at once, until that fails or, where there is a
    /// `stall_max`, a single write takes longer.
    pub(crate) async fn run(&mut self, outbox: &Outbox, stall_max: Option<Duration>) -> Ended {
        loop {
            if !self.has_work(outbox) {
                outbox.filled().await;
                continue;
            }
            let step = self.step();
            let stepped = match stall_max {
                None => Ok(step.await),
                Some(max) => timeout(max, step).await,
            };
            match stepped {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Ended::Write(error),
                Err(_) => return Ended::Unread { bytes: outbox.bytes() },
            }
        }
    }

    /// Writes what is left in the outbox.
    pub(crate) async fn drain(&mut self, outbox: &Outbox) -> io::Result<()> {
        while self.has_work(outbox) {
            self.step().await?;
        }
        Ok(())
    }

    fn has_work(&mut self, outbox: &Outbox) -> bool {
        if self.written == self.batch.len() {
            outbox.next_batch(&mut self.batch);
            self.written = 0;
        }
        !self.batch.is_empty() || !self.is_flushed
    }

    async fn step(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            self.writer.flush().await?;
            self.is_flushed = true;
            return Ok(());
        }
        let written = self.writer.write(&self.batch[self.written..]).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += written;
        self.is_flushed = false;
        Ok(())
    }
}
