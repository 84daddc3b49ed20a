//! A header with the length, then the message: the framing of language servers.

use super::{Bad, ByteOrderMark, Frame, Framing, escape, trimmed};
use bytes::{Buf, BytesMut};
use memchr::{memchr, memchr_iter, memchr2};
use std::ops::ControlFlow::{self, Break, Continue};

/// Bytes of a body unless told otherwise.
pub const CONTENT_LENGTH_BYTES_MAX: usize = 10 << 20;

/// Bytes of a header, all its lines together, and of what is reported of a line of noise. A longer
/// header is a bad frame; the rest of a longer line of noise is dropped.
pub const HEADER_BYTES_MAX: usize = 8 << 10;

/// What is kept of the start of a body that is too long: enough to find its id in.
const START_BYTES: usize = 1 << 10;

/// Bytes before a line end in which the line of a length is looked for within what is skipped.
const LENGTH_LINE_BYTES: usize = 64;

const NAME: &[u8] = b"Content-Length";
const TYPE: &[u8] = b"Content-Type";

/// `Content-Length: N`, an empty line, N bytes. Reads names in any case, LF for CRLF, and past
/// other headers; of two lengths the last counts. Whatever else stands between frames is noise: it
/// is reported and skipped, up to the next `Content-Length:` wherever that stands, since a body ends
/// without a line end. What is skipped because it is too long ends where the next header begins: no
/// JSON has such a line in it, so the length was a lie.
#[derive(Debug, Clone)]
pub struct ContentLength {
    body_bytes_max: usize,
    is_ascii: bool,
    mark: ByteOrderMark,
    /// Bytes at the front of the buffer that need no second look.
    scanned: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a header. `told`: what came of the current line so far was reported.
    Between { told: bool },
    /// Within a header of `bytes` so far.
    Header { length: Option<usize>, bytes: usize },
    /// Within a message.
    Body { length: usize },
    /// At the start of a message that is too long.
    Start { length: usize },
    /// Further within it.
    Skip { left: usize },
}

/// Go on, or stop with a frame or for want of bytes.
type Step = ControlFlow<Option<Frame>>;

impl ContentLength {
    /// A longer body than `body_bytes_max` is `Bad::TooLong`, and none of it is kept. With
    /// `is_ascii` everything written is ASCII, for readers that take the length for characters.
    pub fn new(body_bytes_max: usize, is_ascii: bool) -> ContentLength {
        let state = State::Between { told: false };
        let mark = ByteOrderMark::default();
        ContentLength { body_bytes_max, is_ascii, mark, scanned: 0, state }
    }

    fn step(&mut self, buf: &mut BytesMut) -> Step {
        match self.state {
            State::Between { told } => self.between(buf, told),
            State::Header { length, bytes } => self.header(buf, length, bytes),
            State::Body { length } if buf.len() < length => Break(None),
            State::Body { length } => {
                self.enter(State::Between { told: false });
                let mut body = buf.split_to(length);
                ByteOrderMark::trim(&mut body);
                Break(Some(Frame::Body(body)))
            }
            State::Start { length } => self.start(buf, length),
            State::Skip { left } => self.skip(buf, left),
        }
    }

    /// Reports a message that is too long, as soon as enough of it is there or the next one begins.
    fn start(&mut self, buf: &mut BytesMut, length: usize) -> Step {
        let wanted = length.min(START_BYTES);
        let here = &buf[..wanted.min(buf.len())];
        if let Some(next) = header_within(here) {
            let frame = self.too_long(length, &here[..next]);
            buf.advance(next);
            self.enter(State::Between { told: false });
            return Break(Some(frame));
        }
        if here.len() < wanted {
            return Break(None);
        }
        let frame = self.too_long(length, here);
        // What may be the start of the next header is looked at again with what follows.
        let gone = if length > wanted { wanted - LENGTH_LINE_BYTES } else { wanted };
        buf.advance(gone);
        self.enter(State::Skip { left: length - gone });
        Break(Some(frame))
    }

    fn too_long(&self, length: usize, start: &[u8]) -> Frame {
        // A copy: a piece of the buffer would keep all of it alive.
        let mut start = BytesMut::from(start);
        ByteOrderMark::trim(&mut start);
        Frame::Bad {
            what: Bad::TooLong { bytes: length as u64, limit: self.body_bytes_max },
            start,
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.scanned = 0;
    }

    /// Looks for the end of the line or the name of the header, whichever comes first.
    fn between(&mut self, buf: &mut BytesMut, told: bool) -> Step {
        if let Some((length, header)) = usual_header(&buf[..]).filter(|_| self.scanned == 0) {
            buf.advance(header);
            return self.body(length);
        }
        let Some(found) = memchr2(b':', b'\n', &buf[self.scanned..]) else {
            self.scanned = buf.len();
            return self.between_long(buf, told);
        };
        let at = self.scanned + found;
        self.scanned = at + 1;
        if buf[at] == b'\n' {
            let line = buf.split_to(at + 1);
            self.enter(State::Between { told: false });
            return noise(line, told);
        }
        match name_before(&buf[..at]) {
            Some(start) => {
                self.enter(State::Header { length: None, bytes: 0 });
                noise(buf.split_to(start), told)
            }
            None => Continue(()),
        }
    }

    /// Reports the start of a line that is too long and lets go of the rest, except for what may
    /// be the start of the name.
    fn between_long(&mut self, buf: &mut BytesMut, told: bool) -> Step {
        if told {
            buf.advance(buf.len().saturating_sub(NAME.len()));
            self.scanned = buf.len();
            return Break(None);
        }
        if buf.len() <= HEADER_BYTES_MAX + NAME.len() {
            return Break(None);
        }
        self.enter(State::Between { told: true });
        noise(buf.split_to(HEADER_BYTES_MAX), told)
    }

    /// One line of a header.
    fn header(&mut self, buf: &mut BytesMut, length: Option<usize>, before: usize) -> Step {
        let end = memchr(b'\n', &buf[self.scanned..]).map(|at| self.scanned + at + 1);
        let bytes = before + end.unwrap_or(buf.len());
        if bytes > HEADER_BYTES_MAX {
            // What is over the limit may be the next header.
            buf.advance(HEADER_BYTES_MAX - before);
            return self.bad(Bad::HeaderTooLong { limit: HEADER_BYTES_MAX });
        }
        let Some(end) = end else {
            self.scanned = buf.len();
            return Break(None);
        };
        let line = trimmed(buf.split_to(end));
        self.enter(State::Header { length, bytes });
        match (value(&line, NAME), length) {
            (Some(text), _) => match number(text) {
                Some(length) => {
                    self.enter(State::Header { length: Some(length), bytes });
                    Continue(())
                }
                None => self.bad(Bad::NoLength),
            },
            (None, Some(length)) if line.is_empty() => self.body(length),
            (None, _) if is_header(&line) => Continue(()),
            (None, _) => noise(line, false),
        }
    }

    fn bad(&mut self, bad: Bad) -> Step {
        self.enter(State::Between { told: false });
        Break(Some(bad.into()))
    }

    fn body(&mut self, length: usize) -> Step {
        let fits = length <= self.body_bytes_max;
        self.enter(if fits { State::Body { length } } else { State::Start { length } });
        Continue(())
    }

    fn skip(&mut self, buf: &mut BytesMut, left: usize) -> Step {
        let here = left.min(buf.len());
        let next = header_within(&buf[..here]);
        if next.is_none() && here < left {
            let gone = here.saturating_sub(LENGTH_LINE_BYTES);
            buf.advance(gone);
            self.enter(State::Skip { left: left - gone });
            return Break(None);
        }
        buf.advance(next.unwrap_or(here));
        self.enter(State::Between { told: false });
        Continue(())
    }
}

impl Default for ContentLength {
    fn default() -> ContentLength {
        ContentLength::new(CONTENT_LENGTH_BYTES_MAX, true)
    }
}

impl Framing for ContentLength {
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Frame> {
        if !self.mark.skip(buf) {
            return None;
        }
        // Ends: every step that goes on takes bytes off `buf` or looks at more of them.
        loop {
            if let Break(frame) = self.step(buf) {
                return frame;
            }
        }
    }

    fn finish(&mut self, buf: &mut BytesMut) -> Option<Frame> {
        let rest = buf.split();
        let state = self.state;
        self.enter(State::Between { told: false });
        match state {
            State::Between { told } => noise(rest, told).break_value().flatten(),
            State::Start { length } => Some(self.too_long(length, &rest)),
            State::Header { .. } | State::Body { .. } | State::Skip { .. } => Some(Bad::Cut.into()),
        }
    }

    fn wants(&self, buf: &BytesMut) -> usize {
        match self.state {
            State::Body { length } => length.saturating_sub(buf.len()),
            _ => 0,
        }
    }

    fn encode(&self, body: &str, out: &mut Vec<u8>) {
        let length = if self.is_ascii { escape::ascii_len(body) } else { body.len() };
        out.extend_from_slice(format!("Content-Length: {length}\r\n\r\n").as_bytes());
        if self.is_ascii {
            escape::ascii(body, out);
        } else {
            out.extend_from_slice(body.as_bytes());
        }
    }
}

/// Reports what stands between frames, unless it is blank or a header of its own.
fn noise(mut line: BytesMut, told: bool) -> Step {
    line.truncate(HEADER_BYTES_MAX);
    let line = trimmed(line);
    if told || line.is_empty() || value(&line, TYPE).is_some() {
        return Continue(());
    }
    Break(Some(Frame::Noise(line)))
}

/// What follows `name` and its colon.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = line.split_at_checked(name.len())?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    start.eq_ignore_ascii_case(name).then_some(rest)
}

/// The length in a header that is whole and as everybody writes it, and how long that header is:
/// what most frames have, in a fraction of the time.
fn usual_header(buf: &[u8]) -> Option<(usize, usize)> {
    let rest = buf.strip_prefix(b"Content-Length: ")?;
    let digits = rest.iter().take(DIGITS_MAX).take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0 && rest[digits..].starts_with(b"\r\n\r\n")).then_some(())?;
    let length = rest[..digits].iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
    Some((length, buf.len() - rest.len() + digits + 4))
}

/// No sum of so many digits is too long for a number.
const DIGITS_MAX: usize = 9;

/// Where the name of the header begins that ends here, before its colon.
fn name_before(line: &[u8]) -> Option<usize> {
    let end = line.trim_ascii_end().len();
    let start = end.checked_sub(NAME.len())?;
    line[start..end].eq_ignore_ascii_case(NAME).then_some(start)
}

/// Where a whole line of a length begins.
fn header_within(bytes: &[u8]) -> Option<usize> {
    memchr_iter(b'\n', bytes).find_map(|end| {
        let from = end.saturating_sub(LENGTH_LINE_BYTES);
        let line = bytes[from..end].trim_ascii_end();
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let name = line[..line.len() - digits].trim_ascii_end().strip_suffix(b":")?;
        name_before(name).filter(|_| digits > 0).map(|start| from + start)
    })
}

fn number(text: &[u8]) -> Option<usize> {
    str::from_utf8(text).ok()?.trim().parse().ok()
}

/// `Name: value`, where the name is one word.
fn is_header(line: &[u8]) -> bool {
    let colon = memchr(b':', line).unwrap_or(0);
    colon > 0 && line[..colon].trim_ascii_end().iter().all(u8::is_ascii_graphic)
}
