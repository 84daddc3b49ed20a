//! How a frontend leaves. Its end of the stream is watched: what it asked before is still answered,
//! but a discussion is not held to its end for nobody.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

/// A reader that tells when there is nothing more to read.
pub(super) struct Watched<R> {
    reader: R,
    is_over: Arc<Notify>,
}

impl<R> Watched<R> {
    pub fn new(reader: R) -> (Watched<R>, Arc<Notify>) {
        let is_over = Arc::new(Notify::new());
        (Watched { reader, is_over: is_over.clone() }, is_over)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.reader).poll_read(cx, buf);
        if matches!(read, Poll::Ready(Ok(()))) && buf.filled().len() == before {
            self.is_over.notify_one();
        }
        read
    }
}
