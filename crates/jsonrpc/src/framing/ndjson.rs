//! One message per line.

use super::{Bad, ByteOrderMark, Frame, Framing, escape, trimmed};
use bytes::{Buf, BytesMut};
use memchr::memchr;

/// Bytes of a line unless told otherwise: what Quorum's protocol allows.
pub const NDJSON_BYTES_MAX: usize = 1_000_000;

/// Newline-delimited JSON: LF or CRLF, blanks around a message and blank lines ignored. The last
/// line needs no end. Writes raw UTF-8.
#[derive(Debug, Clone)]
pub struct Ndjson {
    line_bytes_max: usize,
    mark: ByteOrderMark,
    /// Bytes at the front of the buffer that hold no line end.
    scanned: usize,
    /// Bytes of the current line that are gone because it is too long.
    skipped: u64,
}

impl Ndjson {
    /// A longer line than `line_bytes_max` is `Bad::TooLong`, and none of it is kept.
    pub fn new(line_bytes_max: usize) -> Ndjson {
        let mark = ByteOrderMark::default();
        Ndjson { line_bytes_max, mark, scanned: 0, skipped: 0 }
    }

    /// A whole line, without its LF; `None` where it is blank.
    fn line(&mut self, mut line: BytesMut) -> Option<Frame> {
        line.truncate(line.strip_suffix(b"\r").unwrap_or(&line).len());
        let bytes = std::mem::take(&mut self.skipped) + line.len() as u64;
        if bytes > self.line_bytes_max as u64 {
            return Some(Bad::TooLong { bytes, limit: self.line_bytes_max }.into());
        }
        let body = trimmed(line);
        (!body.is_empty()).then_some(Frame::Body(body))
    }

    /// Lets go of a line that is too long, except for its last byte: that may be half a line end.
    fn skip(&mut self, buf: &mut BytesMut) {
        let gone = buf.len() - 1;
        self.skipped += gone as u64;
        buf.advance(gone);
        self.scanned = 1;
    }
}

impl Default for Ndjson {
    fn default() -> Ndjson {
        Ndjson::new(NDJSON_BYTES_MAX)
    }
}

impl Framing for Ndjson {
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Frame> {
        if !self.mark.skip(buf) {
            return None;
        }
        // Ends: every turn takes a line off `buf`.
        while let Some(at) = memchr(b'\n', &buf[self.scanned..]) {
            let line = buf.split_to(self.scanned + at);
            buf.advance(1);
            self.scanned = 0;
            if let Some(frame) = self.line(line) {
                return Some(frame);
            }
        }
        self.scanned = buf.len();
        if buf.len() > 1 && self.skipped + buf.len() as u64 > self.line_bytes_max as u64 + 1 {
            self.skip(buf);
        }
        None
    }

    fn finish(&mut self, buf: &mut BytesMut) -> Option<Frame> {
        self.scanned = 0;
        self.line(buf.split())
    }

    fn encode(&self, body: &str, out: &mut Vec<u8>) {
        escape::line(body, out);
        out.push(b'\n');
    }
}
