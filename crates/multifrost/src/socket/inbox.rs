//! The reading half of a connection.

use std::hint::black_box;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{RecvFlags, recv};

use super::spin::{SPIN_MAX, Spin};
use super::{Link, Place, Terms};
use crate::envelope::Packet;
use crate::wait::now;
use crate::zmtp::{self, Event, Session};

/// What one read takes at most, unless it is the inside of a long message.
const READ_BYTES: usize = 32 << 10;

/// Of a block that is freed once, so that the allocator keeps as much as that for later: to get the
/// memory of every long message from the system anew, page by page, takes longer than to send it.
const KEPT_BYTES: usize = 4 << 20;

/// How to wait for a message, and until when, if there is an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Asleep.
    Asleep(Option<Instant>),
    /// Looking out for it as long as that pays, and then asleep.
    Awake(Option<Instant>),
    /// Looking out for it, and no longer; it is for the caller to count how that went.
    Look(Instant),
}

/// Reads messages. It belongs to one thread at a time, and can be passed on between any two reads:
/// what has come of a message is kept.
#[derive(Debug)]
pub(crate) struct Inbox {
    stream: TcpStream,
    session: Session,
    buffer: Box<[u8]>,
    /// What of the buffer is not yet fed.
    unread: std::ops::Range<usize>,
    has_read: bool,
    /// Of a listening socket's connections; taken as long as somebody may read.
    pub(super) place: Option<Place>,
}

/// Greets, and waits for READY, within a limit.
pub(super) fn shake_hands(
    stream: TcpStream,
    terms: Terms,
    max: Duration,
) -> io::Result<(Arc<Link>, Inbox)> {
    stream.set_nodelay(true)?;
    if stream.peer_addr()?.ip().is_loopback() {
        // Nothing is ever congested there, and this costs least. Every system has it; where it
        // cannot be set, its own choice is as good.
        let _ = set_tcp_congestion(&stream, "reno");
    }
    drop(black_box(Vec::<u8>::with_capacity(KEPT_BYTES)));
    let session = Session::new(terms.role, terms.message_bytes_max);
    let buffer = vec![0; READ_BYTES].into_boxed_slice();
    let stream_read = stream.try_clone()?;
    let mut inbox =
        Inbox { stream: stream_read, session, buffer, unread: 0..0, has_read: false, place: None };
    let deadline = now() + max;
    (&stream).write_all(&zmtp::GREETING)?;
    inbox.expect(&Event::Greeted, deadline)?;
    (&stream).write_all(&zmtp::ready(terms.role))?;
    inbox.expect(&Event::Ready, deadline)?;
    Ok((Arc::new(Link::new(stream)), inbox))
}

impl Inbox {
    fn expect(&mut self, wanted: &Event, deadline: Instant) -> io::Result<()> {
        let event = loop {
            if let Some(event) = self.fed()? {
                break event;
            }
            if !self.sleep(Some(deadline))? {
                return Err(io::ErrorKind::TimedOut.into());
            }
        };
        if event == *wanted { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// The payload of the next message, however long it takes.
    pub(crate) fn next(&mut self, link: &Arc<Link>) -> io::Result<Vec<u8>> {
        loop {
            if let Some(message) = self.next_within(link, Patience::Awake(None))? {
                return Ok(message);
            }
        }
    }

    /// The payload of the next message, or `None` when patience is at its end. An error is the end
    /// of the connection, and says why. What is held back on the link is sent before a wait.
    pub(crate) fn next_within(
        &mut self,
        link: &Arc<Link>,
        patience: Patience,
    ) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(message) = self.next_read(link)? {
                return Ok(Some(message));
            }
            link.flush();
            if !self.read(&link.spin, patience)? {
                return Ok(None);
            }
        }
    }

    /// The payload of the next message, if it was read along with the one before.
    pub(crate) fn next_read(&mut self, link: &Arc<Link>) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.fed()? {
                Some(Event::Message(payload)) => return Ok(Some(payload)),
                Some(Event::Ping(context)) => link.try_pong(Packet::raw(zmtp::pong(&context))),
                Some(Event::Greeted | Event::Ready) => {}
                None => return Ok(None),
            }
        }
    }

    /// Whether more was read than is taken.
    pub(crate) fn has_more(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Whether anything has come since this was asked, be it a part of a message.
    pub(crate) fn has_read(&mut self) -> bool {
        std::mem::take(&mut self.has_read)
    }

    /// What the bytes that are there say.
    fn fed(&mut self) -> io::Result<Option<Event>> {
        let mut input = &self.buffer[self.unread.clone()];
        let event = self.session.feed(&mut input);
        self.unread.start = self.unread.end - input.len();
        event.map_err(|refused| io::Error::new(io::ErrorKind::InvalidData, refused.0))
    }

    /// Reads once; false when nothing has come in time.
    fn read(&mut self, spin: &Spin, patience: Patience) -> io::Result<bool> {
        let until = match patience {
            Patience::Asleep(until) => {
                let start = now();
                let has_come = self.sleep(until)?;
                spin.slept(start.elapsed());
                return Ok(has_come);
            }
            Patience::Look(until) => return self.look(until),
            Patience::Awake(until) => until,
        };
        let is_due = spin.is_due();
        let start = now();
        let has_come = (is_due && self.look(start + SPIN_MAX)?) || self.sleep(until)?;
        if is_due {
            spin.spun(start.elapsed());
        } else {
            spin.slept(start.elapsed());
        }
        Ok(has_come)
    }

    fn sleep(&mut self, until: Option<Instant>) -> io::Result<bool> {
        let Some(deadline) = until else { return self.receive(RecvFlags::empty()) };
        if self.session.room(READ_BYTES).is_none() {
            return Ok(self.wait(deadline)? && self.receive(RecvFlags::DONTWAIT)?);
        }
        let left = deadline.saturating_duration_since(now());
        if left.is_zero() {
            return Ok(false);
        }
        self.stream.set_read_timeout(Some(left))?;
        let read = self.receive(RecvFlags::empty());
        self.stream.set_read_timeout(None)?;
        read
    }

    /// Looks for bytes once, and until a point in time again and again.
    fn look(&mut self, until: Instant) -> io::Result<bool> {
        loop {
            if self.receive(RecvFlags::DONTWAIT)? {
                return Ok(true);
            }
            if now() >= until {
                return Ok(false);
            }
        }
    }

    /// Sleeps until there are bytes.
    fn wait(&self, deadline: Instant) -> io::Result<bool> {
        loop {
            let left = deadline.saturating_duration_since(now());
            // A time beyond the system's clock is as good as for ever.
            let left = Timespec::try_from(left).ok();
            match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], left.as_ref()) {
                Err(Errno::INTR) => {}
                ready => return Ok(ready? > 0),
            }
        }
    }

    /// One read; false when it would have to wait and must not. The inside of a long message goes
    /// to where it stays, everything else through the buffer.
    fn receive(&mut self, flags: RecvFlags) -> io::Result<bool> {
        let count = loop {
            let read = match self.session.room(READ_BYTES) {
                // Who may sleep is not woken for every piece.
                Some(body) if flags.is_empty() => {
                    recv(&self.stream, spare_capacity(body), RecvFlags::WAITALL).map(|it| it.1)
                }
                Some(body) => recv(&self.stream, spare_capacity(body), flags).map(|it| it.1),
                None => {
                    let read = recv(&self.stream, &mut self.buffer[..], flags).map(|it| it.1);
                    self.unread = 0..read.unwrap_or(0);
                    read
                }
            };
            match read {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                read => break read?,
            }
        };
        self.has_read = true;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other side closed it"));
        }
        Ok(true)
    }
}
