//! The writing half of a connection. Whoever sends writes straight to the socket; only what the
//! socket does not take at once waits in a queue that a thread writes off. The queue is bounded, and
//! senders wait or see to it that no more is asked for: nothing is ever dropped in silence. Who is
//! about to send more may hold a message back, so that one write sends them all.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use tokio::sync::Notify;

use super::spin::Spin;
use crate::envelope::Packet;
use crate::limits::{LINGER_MAX, QUEUE_BYTES_MAX};
use crate::wait::now;

/// What is held back at most; more is sent. So the other side begins before all is there, and a
/// write still sends some dozens of short messages.
const HELD_BYTES_MAX: usize = 8 << 10;

/// How much of a long value is sent first, on its own: the other side is reading by the time the rest
/// comes.
const FIRST_BYTES: usize = 8 << 10;

/// A connection that can be sent to from any thread or task.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TcpStream,
    outbox: Mutex<Outbox>,
    /// Told to the writing thread, and to whoever waits for it to be done.
    changed: Condvar,
    /// Told to senders.
    room: Notify,
    /// Whether its readers spin.
    pub(crate) spin: Spin,
    /// Only ever set, and under the lock; whoever reads it without is told in time.
    is_closed: AtomicBool,
    /// Whether more waits than is allowed. Changed under the lock too.
    is_full: AtomicBool,
    when_free: OnceLock<WhenFree>,
}

/// What is done when there is room again, and at the end. It may be under the lock, so it sends
/// nothing.
struct WhenFree(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for WhenFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WhenFree")
    }
}

#[derive(Debug, Default)]
struct Outbox {
    /// What is held back; it goes before anything else.
    held: Vec<u8>,
    queue: VecDeque<Packet>,
    /// Of the queue, and of what is being written.
    bytes: usize,
    has_writer: bool,
}

/// Why a packet was not sent.
#[derive(Debug)]
pub(crate) enum SendError {
    /// The queue is full: here it is again.
    Full(Packet),
    /// The connection is at its end.
    Closed,
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> Link {
        Link {
            stream,
            outbox: Mutex::default(),
            changed: Condvar::new(),
            room: Notify::new(),
            spin: Spin::new(),
            is_closed: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            when_free: OnceLock::new(),
        }
    }

    /// Has something done whenever there is room again, and at the end.
    pub(crate) fn when_free(&self, run: impl Fn() + Send + Sync + 'static) {
        // The first one counts; nobody says two.
        let _ = self.when_free.set(WhenFree(Box::new(run)));
    }

    /// Whoever reads nothing for so long is cut off.
    pub(crate) fn limit_writes(&self, max: Duration) {
        // Where it cannot be set a reader is waited for without a limit, and holds up nobody else.
        let _ = self.stream.set_write_timeout(Some(max));
    }

    /// This end and the other.
    pub(crate) fn ends(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.stream.local_addr()?, self.stream.peer_addr()?))
    }

    /// Sends, and waits for room first. It needs no runtime, and may be dropped while it waits.
    pub(crate) async fn send(self: &Arc<Link>, packet: Packet) -> Result<(), SendError> {
        let mut sent = self.try_send(packet);
        while let Err(SendError::Full(packet)) = sent {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            // There may be room since.
            sent = self.try_send(packet);
            if matches!(sent, Err(SendError::Full(_))) {
                room.await;
            }
        }
        sent
    }

    /// Sends unless it would have to wait.
    pub(crate) fn try_send(self: &Arc<Link>, packet: Packet) -> Result<(), SendError> {
        let mut outbox = self.lock();
        let packet = self.check(&outbox, packet)?;
        self.put_behind(&mut outbox, packet)
    }

    /// Sends, however much waits, and never waits itself. For those who ask no more of whom this is
    /// for while [`Link::is_full`].
    pub(crate) fn post(self: &Arc<Link>, packet: Packet) -> Result<(), SendError> {
        let mut outbox = self.lock();
        if self.is_closed() {
            return Err(SendError::Closed);
        }
        self.put_behind(&mut outbox, packet)
    }

    /// Whether so much waits that no more should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::SeqCst)
    }

    /// Waits until it is not full, or at its end.
    pub(crate) async fn wait_for_room(&self) {
        while self.is_full() {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            if self.is_full() {
                room.await;
            }
        }
    }

    /// Sends what was held back, and then this.
    fn put_behind(self: &Arc<Link>, outbox: &mut Outbox, packet: Packet) -> Result<(), SendError> {
        if outbox.fits(&packet) && !outbox.held.is_empty() {
            outbox.hold(&packet);
            return self.put_held(outbox);
        }
        self.put_held(outbox)?;
        self.put(outbox, packet)
    }

    /// Holds a message back until the next [`Link::flush`], or sends it.
    pub(crate) fn hold(self: &Arc<Link>, packet: Packet) -> Result<(), SendError> {
        let mut outbox = self.lock();
        let packet = self.check(&outbox, packet)?;
        if !outbox.fits(&packet) {
            self.put_held(&mut outbox)?;
        }
        if !outbox.fits(&packet) {
            return self.put(&mut outbox, packet);
        }
        outbox.hold(&packet);
        Ok(())
    }

    /// Sends what was held back. Nobody waits for that; a connection at its end is noticed by those
    /// who read it.
    pub(crate) fn flush(self: &Arc<Link>) {
        // As said.
        let _ = self.put_held(&mut self.lock());
    }

    fn put_held(self: &Arc<Link>, outbox: &mut Outbox) -> Result<(), SendError> {
        if outbox.held.is_empty() {
            return Ok(());
        }
        // Its room is kept, unless it has to wait.
        let mut packet = Packet::raw(std::mem::take(&mut outbox.held));
        if outbox.bytes == 0 && self.write_now(outbox, &mut packet)? {
            outbox.held = packet.into_room();
            return Ok(());
        }
        self.queue(outbox, packet)
    }

    fn put(self: &Arc<Link>, outbox: &mut Outbox, mut packet: Packet) -> Result<(), SendError> {
        if outbox.bytes == 0 && self.write_now(outbox, &mut packet)? {
            return Ok(());
        }
        self.queue(outbox, packet)
    }

    /// Writes what the socket takes at once, and says whether that was all.
    fn write_now(&self, outbox: &mut Outbox, packet: &mut Packet) -> Result<bool, SendError> {
        self.write(packet, SendFlags::DONTWAIT).map_err(|_| self.fail(outbox))
    }

    /// The writing thread sends it when it can.
    fn queue(self: &Arc<Link>, outbox: &mut Outbox, packet: Packet) -> Result<(), SendError> {
        outbox.bytes += packet.len();
        outbox.queue.push_back(packet);
        self.is_full.store(outbox.bytes > QUEUE_BYTES_MAX, Ordering::SeqCst);
        if outbox.has_writer {
            self.changed.notify_all();
            return Ok(());
        }
        let link = self.clone();
        let writer = thread::Builder::new().name("multifrost-write".into());
        outbox.has_writer = writer.spawn(move || link.write_off()).is_ok();
        if outbox.has_writer { Ok(()) } else { Err(self.fail(outbox)) }
    }

    fn fail(&self, outbox: &mut Outbox) -> SendError {
        self.end(outbox);
        SendError::Closed
    }

    /// A PONG is worth no wait.
    pub(super) fn try_pong(self: &Arc<Link>, packet: Packet) {
        // A peer that does not read needs no sign of life.
        let _ = self.try_send(packet);
    }

    /// Writes what the socket takes, and says whether that was all.
    fn write(&self, packet: &mut Packet, flags: SendFlags) -> io::Result<bool> {
        while packet.len() > 0 {
            let flags = flags | SendFlags::NOSIGNAL;
            let sent = match packet.rest() {
                [short, [], []] => send(&self.stream, short, flags),
                [head, value, end] => {
                    let is_first = packet.is_long_whole();
                    let part = if is_first { &value[..FIRST_BYTES] } else { value };
                    let end = if is_first { &[] } else { end };
                    let parts = [head, part, end].map(IoSlice::new);
                    sendmsg(&self.stream, &parts, &mut SendAncillaryBuffer::default(), flags)
                }
            };
            match sent {
                Ok(written) => packet.advance(written),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// The writing thread: until the connection ends, it writes what waits.
    fn write_off(&self) {
        loop {
            let mut outbox = self.lock();
            while outbox.queue.is_empty() && !self.is_closed() {
                outbox = self.changed.wait(outbox).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(mut packet) = outbox.queue.pop_front() else { return };
            drop(outbox);
            let bytes = packet.len();
            let written = self.write(&mut packet, SendFlags::empty());
            let mut outbox = self.lock();
            outbox.bytes -= bytes;
            // What was not written whole was not read in time.
            if !written.is_ok_and(|is_whole| is_whole) {
                return self.end(&mut outbox);
            }
            let is_full = outbox.bytes > QUEUE_BYTES_MAX;
            let was_full = self.is_full.swap(is_full, Ordering::SeqCst);
            drop(outbox);
            self.changed.notify_all();
            self.room.notify_waiters();
            if was_full && !is_full {
                self.tell_free();
            }
        }
    }

    /// Sends what waits, within a limit, and then ends the connection.
    pub(crate) fn close(self: &Arc<Link>) {
        self.close_by(now() + LINGER_MAX);
    }

    /// The same until a point in time, which may be that of several.
    pub(crate) fn close_by(self: &Arc<Link>, deadline: Instant) {
        self.flush();
        let (outbox, max) = (self.lock(), deadline.saturating_duration_since(now()));
        let flushed = self
            .changed
            .wait_timeout_while(outbox, max, |outbox| outbox.bytes > 0 && !self.is_closed());
        let (mut outbox, _) = flushed.unwrap_or_else(PoisonError::into_inner);
        self.end(&mut outbox);
    }

    /// Ends the connection at once: readers, writers and waiting senders notice.
    pub(crate) fn cut(&self) {
        self.end(&mut self.lock());
    }

    fn end(&self, outbox: &mut Outbox) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.is_full.store(false, Ordering::SeqCst);
        outbox.queue.clear();
        outbox.held.clear();
        // It may be gone already, which is what is wanted.
        let _ = self.stream.shutdown(Shutdown::Both);
        self.changed.notify_all();
        self.room.notify_waiters();
        self.tell_free();
    }

    fn tell_free(&self) {
        if let Some(WhenFree(run)) = self.when_free.get() {
            run();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Whether more may be sent; a packet that may not is given back.
    fn check(&self, outbox: &Outbox, packet: Packet) -> Result<Packet, SendError> {
        if self.is_closed() {
            return Err(SendError::Closed);
        }
        if outbox.bytes > QUEUE_BYTES_MAX { Err(SendError::Full(packet)) } else { Ok(packet) }
    }

    /// A panic of another thread leaves a queue that is whole.
    fn lock(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox {
    /// Whether it can be held back with what is.
    fn fits(&self, packet: &Packet) -> bool {
        self.held.len() + packet.len() <= HELD_BYTES_MAX
    }

    fn hold(&mut self, packet: &Packet) {
        packet.rest().iter().for_each(|part| self.held.extend_from_slice(part));
    }
}
