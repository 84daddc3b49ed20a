//! How messages stand in a stream of bytes. A framing is a value: bytes in, frames out, no I/O.

mod content_length;
mod escape;
mod ndjson;
#[cfg(test)]
mod tests;

pub use content_length::{CONTENT_LENGTH_BYTES_MAX, ContentLength, HEADER_BYTES_MAX};
pub use ndjson::{NDJSON_BYTES_MAX, Ndjson};

use bytes::{Buf, BytesMut};
use std::fmt;

/// Finds messages in the bytes that come in, and wraps those that go out. It remembers how far it
/// has looked, so a long frame that comes in small pieces is looked at once.
pub trait Framing: Send + Sync + 'static {
    /// Takes the next frame off the front of `buf`; `None` means "feed me more bytes". What `buf`
    /// still holds is left as it is for the next call.
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Frame>;

    /// What the end of the stream makes of the last bytes. Call it after `decode` said `None`.
    fn finish(&mut self, buf: &mut BytesMut) -> Option<Frame>;

    /// How many bytes the frame that has begun still takes, where that is known; 0 where it is not.
    fn wants(&self, buf: &BytesMut) -> usize {
        let _ = buf;
        0
    }

    /// Appends `body`, which is one JSON value, as one frame.
    fn encode(&self, body: &str, out: &mut Vec<u8>);
}

/// What a framing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message, whatever its bytes are.
    Body(BytesMut),
    /// A frame that cannot be had. It is skipped, and the stream goes on.
    Bad {
        /// What is wrong with it.
        what: Bad,
        /// How its body begins, where that is known: enough to find an id.
        start: BytesMut,
    },
    /// Text between frames, such as a stray `print`: one line, or the start of a very long one.
    Noise(BytesMut),
}

impl From<Bad> for Frame {
    fn from(what: Bad) -> Frame {
        Frame::Bad { what, start: BytesMut::new() }
    }
}

/// What is wrong with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// It is longer than allowed; none of it was kept.
    TooLong {
        /// How long it is, without its line end or header.
        bytes: u64,
        /// How long it may be.
        limit: usize,
    },
    /// Its header goes on for longer than allowed.
    HeaderTooLong {
        /// How long a header may be.
        limit: usize,
    },
    /// Its `Content-Length` is not a number of bytes.
    NoLength,
    /// The stream ended before it did.
    Cut,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bad::TooLong { bytes, limit } => {
                write!(f, "Request too large ({bytes} bytes, max {limit})")
            }
            Bad::HeaderTooLong { limit } => write!(f, "Header too large (max {limit} bytes)"),
            Bad::NoLength => f.write_str("Content-Length is not a number of bytes"),
            Bad::Cut => f.write_str("the stream ended in the middle of a frame"),
        }
    }
}

/// Skips the mark that some programs put before their first byte.
#[derive(Debug, Clone, Default)]
struct ByteOrderMark {
    is_past: bool,
}

impl ByteOrderMark {
    const BYTES: &[u8] = b"\xef\xbb\xbf";

    /// Takes the mark off a message: there are programs that put it before each.
    fn trim(body: &mut BytesMut) {
        if body.starts_with(Self::BYTES) {
            body.advance(Self::BYTES.len());
        }
    }

    /// Whether the stream is past its mark; `false` means "feed me more bytes".
    fn skip(&mut self, buf: &mut BytesMut) -> bool {
        if self.is_past {
            return true;
        }
        if Self::BYTES.starts_with(buf) && buf.len() < Self::BYTES.len() {
            return false;
        }
        if buf.starts_with(Self::BYTES) {
            buf.advance(Self::BYTES.len());
        }
        self.is_past = true;
        true
    }
}

/// `bytes` without the white space around it, uncopied.
fn trimmed(mut bytes: BytesMut) -> BytesMut {
    bytes.truncate(bytes.trim_ascii_end().len());
    bytes.advance(bytes.len() - bytes.trim_ascii_start().len());
    bytes
}
