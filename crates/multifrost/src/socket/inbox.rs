//! The reading half of a connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use super::{Link, Place, Terms};
use crate::envelope::Packet;
use crate::limits::HANDSHAKE_MAX;
use crate::wait::now;
use crate::zmtp::{self, Event, Session};

/// What one read takes at most.
const READ_BYTES: usize = 64 << 10;

/// Reads messages. It belongs to one thread at a time.
#[derive(Debug)]
pub(crate) struct Inbox {
    stream: TcpStream,
    session: Session,
    buffer: Box<[u8]>,
    /// What of the buffer is not yet fed.
    unread: std::ops::Range<usize>,
    /// Of a listening socket's connections; taken as long as somebody may read.
    pub(super) place: Option<Place>,
}

/// Greets, and waits for READY, within a limit.
pub(super) fn shake_hands(stream: TcpStream, terms: Terms) -> io::Result<(Arc<Link>, Inbox)> {
    stream.set_nodelay(true)?;
    let session = Session::new(terms.role, terms.message_bytes_max);
    let buffer = vec![0; READ_BYTES].into_boxed_slice();
    let stream_read = stream.try_clone()?;
    let mut inbox = Inbox { stream: stream_read, session, buffer, unread: 0..0, place: None };
    let deadline = now() + HANDSHAKE_MAX;
    (&stream).write_all(&zmtp::GREETING)?;
    inbox.expect(&Event::Greeted, deadline)?;
    (&stream).write_all(&zmtp::ready(terms.role))?;
    inbox.expect(&Event::Ready, deadline)?;
    stream.set_read_timeout(None)?;
    Ok((Arc::new(Link::new(stream)), inbox))
}

impl Inbox {
    fn expect(&mut self, wanted: &Event, deadline: Instant) -> io::Result<()> {
        let event = loop {
            if let Some(event) = self.fed()? {
                break event;
            }
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            self.read()?;
        };
        if event == *wanted { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// The payload of the next message. An error is the end of the connection, and says why.
    pub(crate) fn next(&mut self, link: &Arc<Link>) -> io::Result<Vec<u8>> {
        loop {
            match self.fed()? {
                Some(Event::Message(payload)) => return Ok(payload),
                Some(Event::Ping(context)) => link.try_pong(Packet::raw(zmtp::pong(&context))),
                Some(Event::Greeted | Event::Ready) => {}
                None => self.read()?,
            }
        }
    }

    /// What the bytes that are there say.
    fn fed(&mut self) -> io::Result<Option<Event>> {
        let mut input = &self.buffer[self.unread.clone()];
        let event = self.session.feed(&mut input);
        self.unread.start = self.unread.end - input.len();
        event.map_err(|refused| io::Error::new(io::ErrorKind::InvalidData, refused.0))
    }

    fn read(&mut self) -> io::Result<()> {
        let count = loop {
            match self.stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other side closed it"));
        }
        self.unread = 0..count;
        Ok(())
    }
}
