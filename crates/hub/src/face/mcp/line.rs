//! The two streams of a client. They tell when it has left, and while it takes no answers only so much
//! more is read of it.

use futures_util::task::AtomicWaker;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// Bytes of requests that are read of a client that takes no answers; the next wait in its own pipe.
/// Much, since a client may send all it has before it reads.
const READ_AHEAD_BYTES_MAX: usize = 4 << 20;

/// What both streams know.
#[derive(Default)]
struct Flow {
    /// An answer waits for the client.
    is_stuck: AtomicBool,
    /// Bytes read since then.
    read_bytes: AtomicUsize,
    reader: AtomicWaker,
}

pub(super) struct Requests<R> {
    reader: R,
    flow: Arc<Flow>,
    is_over: Arc<Notify>,
}

pub(super) struct Answers<W> {
    writer: W,
    flow: Arc<Flow>,
}

/// Joins the streams of one client; the last is notified once it has said all.
pub(super) fn join<R, W>(reader: R, writer: W) -> (Requests<R>, Answers<W>, Arc<Notify>) {
    let (flow, is_over) = (Arc::new(Flow::default()), Arc::new(Notify::new()));
    let requests = Requests { reader, flow: flow.clone(), is_over: is_over.clone() };
    (requests, Answers { writer, flow }, is_over)
}

impl Flow {
    fn is_full(&self) -> bool {
        self.is_stuck.load(SeqCst) && self.read_bytes.load(SeqCst) >= READ_AHEAD_BYTES_MAX
    }

    fn wrote<T>(&self, done: Poll<T>) -> Poll<T> {
        let was_stuck = self.is_stuck.swap(done.is_pending(), SeqCst);
        if was_stuck && done.is_ready() {
            self.read_bytes.store(0, SeqCst);
            self.reader.wake();
        }
        done
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Requests<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.flow.is_full() {
            self.flow.reader.register(cx.waker());
            // It may have gone on just before.
            if self.flow.is_full() {
                return Poll::Pending;
            }
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.reader).poll_read(cx, buf);
        let bytes = buf.filled().len() - before;
        if matches!(read, Poll::Ready(Ok(()))) && bytes == 0 {
            self.is_over.notify_one();
        }
        if self.flow.is_stuck.load(SeqCst) {
            self.flow.read_bytes.fetch_add(bytes, SeqCst);
        }
        read
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Answers<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.writer).poll_write(cx, bytes);
        self.flow.wrote(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.writer).poll_flush(cx);
        self.flow.wrote(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}
