//! ZMTP 3.x with the NULL mechanism, as far as a DEALER and a ROUTER need it, without a socket:
//! bytes go in, events come out.

mod greeting;
mod ready;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::limits::{COMMAND_BYTES_MAX, FRAMES_MAX};
pub(crate) use greeting::GREETING;
use ready::{Name, Properties};

/// Flags of a frame.
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// How much of a body is made room for before its bytes are there: a length is only a promise.
const ROOM_BYTES_MAX: usize = 1 << 20;

/// Which end of a connection a socket is: a parent is a DEALER, a child a ROUTER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The parent's end.
    Dealer,
    /// The child's end.
    Router,
}

/// What the other side has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Its greeting is fine: now is the time for our READY.
    Greeted,
    /// The handshake is done.
    Ready,
    /// The payload of a message, which is the frame after the delimiter.
    Message(Vec<u8>),
    /// It wants a PONG with this context.
    Ping(Vec<u8>),
}

/// Why a connection ends: the other side does not speak our protocol, or says too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(why.into()))
}

/// What has been heard of one connection.
#[derive(Debug)]
pub struct Session {
    role: Role,
    is_ready: bool,
    message_bytes_max: usize,
    /// The greeting or the head of a frame, until it is whole.
    head: Vec<u8>,
    state: State,
    message: Message,
}

#[derive(Debug)]
enum State {
    Greeting,
    Head,
    Body(Body),
}

#[derive(Debug)]
struct Body {
    flags: u8,
    left: usize,
    /// None for a frame that nobody reads.
    bytes: Option<Vec<u8>>,
}

/// The frames of a message so far.
#[derive(Debug, Default)]
struct Message {
    frames: usize,
    bytes: usize,
    payload: Option<Vec<u8>>,
}

impl Session {
    /// A session in which nothing has been heard yet. A message with more bytes ends it.
    pub fn new(role: Role, message_bytes_max: usize) -> Session {
        let head = Vec::with_capacity(GREETING.len());
        let message = Message::default();
        Session { role, is_ready: false, message_bytes_max, head, state: State::Greeting, message }
    }

    /// Takes bytes off the front of `input` until something is whole; `None` when all are taken.
    pub fn feed(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Refused> {
        loop {
            match &mut self.state {
                State::Greeting => {
                    let is_whole = fill(&mut self.head, input, GREETING.len());
                    greeting::check(&self.head)?;
                    if !is_whole {
                        return Ok(None);
                    }
                    self.head.clear();
                    self.state = State::Head;
                    return Ok(Some(Event::Greeted));
                }
                State::Head => {
                    let Some((flags, bytes)) = head(&mut self.head, input)? else {
                        return Ok(None);
                    };
                    self.head.clear();
                    self.state = State::Body(self.open(flags, bytes)?);
                }
                State::Body(body) => {
                    if !body.fill(input) {
                        return Ok(None);
                    }
                    let (flags, bytes) = (body.flags, body.bytes.take());
                    self.state = State::Head;
                    if let Some(event) = self.close(flags, bytes)? {
                        return Ok(Some(event));
                    }
                }
            }
        }
    }

    /// The head of a frame has been read: is there anything against its body?
    fn open(&mut self, flags: u8, bytes: u64) -> Result<Body, Refused> {
        let left = usize::try_from(bytes).unwrap_or(usize::MAX);
        if flags & COMMAND != 0 {
            if left > COMMAND_BYTES_MAX {
                return refused(format!("a command of {left} bytes, {COMMAND_BYTES_MAX} at most"));
            }
            return Ok(Body::new(flags, left, true));
        }
        if !self.is_ready {
            return refused("a message before READY");
        }
        let (message, max) = (&mut self.message, self.message_bytes_max);
        message.frames += 1;
        message.bytes = message.bytes.saturating_add(left);
        if message.bytes > max {
            return refused(format!("a message of {} bytes, {max} at most", message.bytes));
        }
        if message.frames > FRAMES_MAX {
            return refused(format!("a message of more than {FRAMES_MAX} frames"));
        }
        Ok(Body::new(flags, left, message.frames == 2))
    }

    /// A frame is whole.
    fn close(&mut self, flags: u8, bytes: Option<Vec<u8>>) -> Result<Option<Event>, Refused> {
        if flags & COMMAND != 0 {
            return self.command(&bytes.unwrap_or_default());
        }
        if bytes.is_some() {
            self.message.payload = bytes;
        }
        if flags & MORE != 0 {
            return Ok(None);
        }
        // A message without a delimiter has no second frame and is dropped, as everywhere.
        Ok(std::mem::take(&mut self.message).payload.map(Event::Message))
    }

    fn command(&mut self, body: &[u8]) -> Result<Option<Event>, Refused> {
        match ready::name(body)? {
            (Name::Ready, rest) if !self.is_ready => {
                Properties::read(rest)?.fits(self.role)?;
                self.is_ready = true;
                Ok(Some(Event::Ready))
            }
            (Name::Error, reason) => {
                let reason = String::from_utf8_lossy(reason.get(1..).unwrap_or_default());
                refused(format!("the other side refused: {reason}"))
            }
            _ if !self.is_ready => refused("a command before READY"),
            (Name::Ping, rest) => Ok(Some(Event::Ping(rest.get(2..).unwrap_or_default().to_vec()))),
            // Commands of other patterns mean nothing here, and a second READY nothing new.
            _ => Ok(None),
        }
    }
}

impl Body {
    fn new(flags: u8, left: usize, is_kept: bool) -> Body {
        let bytes = is_kept.then(|| Vec::with_capacity(left.min(ROOM_BYTES_MAX)));
        Body { flags, left, bytes }
    }

    /// Whether it is whole now.
    fn fill(&mut self, input: &mut &[u8]) -> bool {
        let (taken, rest) = input.split_at(self.left.min(input.len()));
        if let Some(bytes) = &mut self.bytes {
            bytes.extend_from_slice(taken);
        }
        self.left -= taken.len();
        *input = rest;
        self.left == 0
    }
}

/// Moves bytes until `into` has `wanted` of them, and says whether it has.
fn fill(into: &mut Vec<u8>, input: &mut &[u8], wanted: usize) -> bool {
    let (taken, rest) = input.split_at(wanted.saturating_sub(into.len()).min(input.len()));
    into.extend_from_slice(taken);
    *input = rest;
    into.len() >= wanted
}

/// Flags and length of a frame, once they are whole.
fn head(known: &mut Vec<u8>, input: &mut &[u8]) -> Result<Option<(u8, u64)>, Refused> {
    if !fill(known, input, 1) {
        return Ok(None);
    }
    let flags = known[0];
    if flags & !(MORE | LONG | COMMAND) != 0 || flags & (MORE | COMMAND) == MORE | COMMAND {
        return refused(format!("no frame begins with {flags:#04x}"));
    }
    let wanted = if flags & LONG == 0 { 2 } else { 9 };
    if !fill(known, input, wanted) {
        return Ok(None);
    }
    let bytes = known[1..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    Ok(Some((flags, bytes)))
}

/// Room that a payload leaves in front for [`frame`]: a delimiter and the longest head.
pub(crate) const HEAD_ROOM: usize = 2 + 9;

/// Writes the delimiter and the head of a payload into the room before it. Says where they begin.
pub(crate) fn frame(room_and_payload: &mut [u8]) -> usize {
    let bytes = room_and_payload.len() - HEAD_ROOM;
    match u8::try_from(bytes) {
        Ok(short) => {
            room_and_payload[HEAD_ROOM - 4..HEAD_ROOM].copy_from_slice(&[MORE, 0, 0, short]);
            HEAD_ROOM - 4
        }
        Err(_) => {
            room_and_payload[..3].copy_from_slice(&[MORE, 0, LONG]);
            room_and_payload[3..HEAD_ROOM].copy_from_slice(&(bytes as u64).to_be_bytes());
            0
        }
    }
}

/// Our READY.
pub(crate) fn ready(role: Role) -> Vec<u8> {
    command(&ready::body(role))
}

/// The answer to a PING.
pub(crate) fn pong(context: &[u8]) -> Vec<u8> {
    // The protocol knows contexts up to 16 bytes; more is not sent back.
    let context = &context[..context.len().min(16)];
    command(&[b"\x04PONG", context].concat())
}

fn command(body: &[u8]) -> Vec<u8> {
    let short = u8::try_from(body.len()).expect("our commands are short");
    [&[COMMAND, short], body].concat()
}
