//! Runs a connection from its first byte to its last.

use crate::{
    desk::Desk,
    error::Ended,
    framing::Framing,
    handler::Handler,
    link::{Inbox, Writer},
    options::{OnEof, Options},
    peer::Peer,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    select,
    time::timeout,
};

/// Makes a connection of two streams: a peer to call, and a future that serves it until it ends.
/// Dropping the future ends the connection at once. Needs a tokio runtime with time.
pub fn connect<R, W, F, H>(
    reader: R,
    writer: W,
    framing: F,
    handler: H,
    options: Options,
) -> (Peer, impl Future<Output = Ended> + Send)
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    F: Framing + Clone,
    H: Handler,
{
    let peer = Peer::new(Box::new(framing.clone()), options);
    let driver = Driver {
        inbox: Inbox::new(reader, framing),
        writer: Writer::new(writer),
        handler,
        end: End(peer.clone()),
    };
    (peer, driver.run())
}

struct Driver<R, W, F, H> {
    inbox: Inbox<R, F>,
    writer: Writer<W>,
    handler: H,
    end: End,
}

impl<R, W, F, H> Driver<R, W, F, H>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    F: Framing,
    H: Handler,
{
    async fn run(mut self) -> Ended {
        let peer = &self.end.0;
        let shared = peer.shared();
        let flush_max = shared.options.limits.flush_max;
        let mut desk = Desk::new(&self.handler, peer);
        let mut ended = select! {
            biased;
            () = shared.closing.notified() => Ended::Closed,
            ended = desk.open(&mut self.inbox) => ended,
            ended = self.writer.run(&shared.outbox, None) => ended,
        };
        shared.calls.end();
        if matches!(ended, Ended::Eof) && shared.options.on_eof == OnEof::FinishRequests {
            ended = select! {
                biased;
                () = shared.closing.notified() => Ended::Closed,
                ended = desk.finish(&mut self.inbox) => ended,
                ended = self.writer.run(&shared.outbox, Some(flush_max)) => ended,
            };
        }
        drop(desk);
        shared.outbox.close();
        match ended {
            Ended::Write(_) | Ended::OutboxFull { .. } | Ended::Unread { .. } => ended,
            ended => match timeout(flush_max, self.writer.drain(&shared.outbox)).await {
                Ok(Ok(())) => ended,
                Ok(Err(error)) => Ended::Write(error),
                Err(_) => Ended::Unread { bytes: shared.outbox.bytes() },
            },
        }
    }
}

/// Whoever still has the peer learns of the end, also when the future is dropped before it.
struct End(Peer);

impl Drop for End {
    fn drop(&mut self) {
        self.0.shared().calls.end();
        self.0.shared().outbox.close();
    }
}
