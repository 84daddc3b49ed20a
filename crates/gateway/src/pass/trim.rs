//! Takes out of a stream what came only because we asked for the count of its tokens: the chunk
//! that has it, and the `"usage":null` of all others. Everything else goes on as it is.

use crate::framing::EVENT_BYTES_MAX;
use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;

const KEY: &[u8] = b"\"usage\"";

/// Reads a stream of OpenAI's chunks event by event.
pub(super) struct Trim {
    key: Finder<'static>,
    /// An event whose end has not come.
    rest: BytesMut,
}

/// A chunk as far as it tells whether it says anything besides the count.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Vec<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Trim {
    pub(super) fn new() -> Trim {
        Trim { key: Finder::new(KEY), rest: BytesMut::new() }
    }

    /// What of these bytes goes on. An event that is cut waits for its end; one that is longer than
    /// any real one goes on unread.
    pub(super) fn feed(&mut self, bytes: Bytes) -> Bytes {
        if self.rest.is_empty() && events_end(&bytes) == bytes.len() {
            return self.trim(bytes);
        }
        self.rest.extend_from_slice(&bytes);
        let mut end = events_end(&self.rest);
        if self.rest.len() - end > EVENT_BYTES_MAX {
            end = self.rest.len();
        }
        let whole = self.rest.split_to(end).freeze();
        self.trim(whole)
    }

    /// What is left at the end of the body.
    pub(super) fn end(&mut self) -> Bytes {
        let rest = self.rest.split().freeze();
        self.trim(rest)
    }

    /// Whole events without the count.
    fn trim(&self, bytes: Bytes) -> Bytes {
        let cuts = self.cuts(&bytes);
        if cuts.is_empty() {
            return bytes;
        }
        let (mut kept, mut from) = (BytesMut::with_capacity(bytes.len()), 0);
        for cut in cuts {
            kept.extend_from_slice(&bytes[from..cut.start]);
            from = cut.end;
        }
        kept.extend_from_slice(&bytes[from..]);
        kept.freeze()
    }

    fn cuts(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let (mut cuts, mut from): (Vec<Range<usize>>, _) = (vec![], 0);
        while let Some(found) = self.key.find(&bytes[from..]) {
            let key = from + found..from + found + KEY.len();
            from = key.end;
            if let Some(cut) = cut(bytes, &key) {
                from = cut.end;
                cuts.push(cut);
            }
        }
        cuts
    }
}

/// What goes with the key at `key`: nothing, the key and its `null`, or the whole event.
fn cut(bytes: &[u8], key: &Range<usize>) -> Option<Range<usize>> {
    let before = bytes[..key.start].trim_ascii_end();
    let value = bytes[key.end..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    if let Some(after) = value.strip_prefix(b"null") {
        let comma = before.strip_suffix(b",")?;
        return Some(comma.len()..bytes.len() - after.len());
    }
    let event = event_around(bytes, key.start);
    (value.starts_with(b"{") && is_count_alone(&bytes[event.clone()])).then_some(event)
}

/// The event that has the byte at `at`, with the blank line behind it.
fn event_around(bytes: &[u8], at: usize) -> Range<usize> {
    let start = events_end(&bytes[..at]);
    let mut end = at;
    while let Some(line_end) = memchr::memchr(b'\n', &bytes[end..]) {
        end += line_end + 1;
        if let Some(behind) = blank_line(&bytes[end..]) {
            return start..end + behind;
        }
    }
    start..bytes.len()
}

/// The length of the blank line that `bytes` begin with.
fn blank_line(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

/// Where the last whole event ends.
fn events_end(bytes: &[u8]) -> usize {
    let mut until = bytes.len();
    while let Some(at) = memchr::memrchr(b'\n', &bytes[..until]) {
        let line = bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]);
        if line.last() == Some(&b'\n') {
            return at + 1;
        }
        until = at;
    }
    0
}

/// Tells whether an event has a count and no choice.
fn is_count_alone(event: &[u8]) -> bool {
    let data = event.trim_ascii().strip_prefix(b"data:");
    let chunk = data.and_then(|data| serde_json::from_slice::<Chunk<'_>>(data).ok());
    chunk.is_some_and(|chunk| chunk.choices.is_empty() && chunk.error.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wire: &str, want: &str) {
        for size in 1..=wire.len().max(1) {
            let (mut trim, mut got) = (Trim::new(), vec![]);
            for piece in wire.as_bytes().chunks(size) {
                got.extend_from_slice(&trim.feed(Bytes::copy_from_slice(piece)));
            }
            got.extend_from_slice(&trim.end());
            assert_eq!(String::from_utf8(got).unwrap(), want, "in pieces of {size}");
        }
    }

    #[test]
    fn the_count_is_taken_out_however_the_bytes_are_cut() {
        let said = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        let null = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n";
        let count = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7}}\n\n";
        let done = "data: [DONE]\n\n";
        check(&[null, null, count, done].concat(), &[said, said, done].concat());
        check(&[said, count, done].concat(), &[said, done].concat());
        check(count, "");
        check("", "");
        // Other line ends, other blanks, and an end without a blank line.
        let crlf = |text: &str| text.replace('\n', "\r\n");
        check(&crlf(&[null, count, done].concat()), &crlf(&[said, done].concat()));
        check("data: {\"choices\": [], \"usage\": {\"a\": 1}}", "");
        check("data: {\"x\": 1, \"usage\": null}\n\n", "data: {\"x\": 1}\n\n");
    }

    #[test]
    fn everything_else_goes_on_as_it_is() {
        for wire in [
            // A count beside words, as some servers send it.
            "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":7}}\n\n",
            // Words about it.
            "data: {\"choices\":[{\"delta\":{\"content\":\",\\\"usage\\\":null\"}}]}\n\n",
            "data: {\"error\":{\"message\":\"x\"},\"usage\":{}}\n\n",
            ": a comment\n\nevent: x\ndata: 1\n\n",
            "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}",
        ] {
            check(wire, wire);
        }
    }

    #[test]
    fn an_event_without_end_is_let_go() {
        let mut trim = Trim::new();
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let out: usize = (0..20).map(|_| trim.feed(piece.clone()).len()).sum();
        assert!(out > EVENT_BYTES_MAX && trim.rest.len() <= EVENT_BYTES_MAX);
    }
}
