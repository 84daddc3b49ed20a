//! The socket of a client that may not dawdle: what is sent to it has to go somewhere.

use super::patience::Begun;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Sleep, sleep};

/// A socket whose writes fail once the other side has taken nothing for `stall`.
pub(super) struct Wire<S> {
    socket: TokioIo<S>,
    /// Told of what the client writes.
    begun: Begun,
    stall: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Wire<S> {
    pub(super) fn new(socket: S, begun: Begun, stall: Duration) -> Wire<S> {
        Wire { socket: TokioIo::new(socket), begun, stall, waiting: None }
    }

    /// `done` as it is, unless it has been waiting for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, done: Poll<Result<T>>) -> Poll<Result<T>> {
        if done.is_ready() {
            self.waiting = None;
            return done;
        }
        let stall = self.stall;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(stall)));
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "a slow client"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> Read for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        let read = Pin::new(&mut self.socket).poll_read(cx, buffer);
        if read.is_ready() {
            self.begun.note();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> Write for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.watch(cx, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.socket).poll_write_vectored(cx, bytes);
        self.watch(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let done = Pin::new(&mut self.socket).poll_flush(cx);
        self.watch(cx, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
