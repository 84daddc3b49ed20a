//! Cuts the bytes of an answer into events, however they arrive: server-sent events, JSON lines,
//! or one whole body. Pure.

use althing_stdx::{Fault, Kind, Result};
use memchr::memchr;
use std::borrow::Cow;
use std::mem;

/// Bytes of one line, one event or one whole body. A longer one is an `Upstream` fault: no real
/// answer comes near, and no server may fill our memory.
pub(crate) const EVENT_BYTES_MAX: usize = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `text/event-stream`, with LF or CRLF (no provider ends lines with CR alone).
    Sse,
    /// One JSON value per line.
    Ndjson,
    /// The body is one event.
    Whole,
}

/// The events of one body.
pub(crate) struct Events {
    framing: Framing,
    /// Whether the first byte that is no white space has been seen.
    begun: bool,
    /// The line whose end has not come.
    line: Vec<u8>,
    /// The data of the event whose end has not come, or the whole body.
    data: Vec<u8>,
}

impl Events {
    pub(crate) fn new(framing: Framing) -> Events {
        Events { framing, begun: false, line: vec![], data: vec![] }
    }

    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// Hands every event that `bytes` complete to `each`; stops at the first fault.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let bytes = self.begin(bytes);
        let Events { framing, line, data, .. } = self;
        match framing {
            Framing::Whole => push(data, bytes),
            Framing::Ndjson => lines(line, bytes, |line| match line.trim_ascii() {
                b"" => Ok(()),
                line => each(&text(line)),
            }),
            Framing::Sse => lines(line, bytes, |line| sse_line(data, line, &mut each)),
        }
    }

    /// What came after the last whole event: a server may leave out the last line's end.
    pub(crate) fn rest(&mut self) -> Result<String> {
        let line = mem::take(&mut self.line);
        match self.framing {
            Framing::Whole => {}
            Framing::Ndjson => push(&mut self.data, &line)?,
            Framing::Sse => sse_line(&mut self.data, &line, &mut |_| Ok(()))?,
        }
        Ok(text(&mem::take(&mut self.data)).into_owned())
    }

    /// White space before the first event says nothing. A body that begins like JSON or a web page
    /// is no event stream: the server did not stream although it was asked to. It is taken whole.
    fn begin<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.begun {
            return bytes;
        }
        let bytes = bytes.trim_ascii_start();
        self.begun = !bytes.is_empty();
        if self.framing == Framing::Sse && matches!(bytes.first(), Some(b'{' | b'[' | b'<')) {
            self.framing = Framing::Whole;
        }
        bytes
    }
}

/// Calls `each` with every line, without its end. Only new bytes are searched, so a long line that
/// comes in small pieces costs no more than a short one; and only a cut line is copied.
fn lines(
    cut: &mut Vec<u8>,
    mut bytes: &[u8],
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    while let Some(end) = memchr(b'\n', bytes) {
        let line = &bytes[..end];
        bytes = &bytes[end + 1..];
        if cut.is_empty() {
            fits(line.len())?;
            each(without_cr(line))?;
        } else {
            push(cut, line)?;
            each(without_cr(cut))?;
            cut.clear();
        }
    }
    push(cut, bytes)
}

/// One line of an event stream. Of the fields only `data` matters: every dialect names its events
/// inside the data. Comments (`: PROCESSING`) keep the connection alive and say nothing.
fn sse_line(
    data: &mut Vec<u8>,
    line: &[u8],
    each: &mut impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    if line.is_empty() {
        if !data.is_empty() {
            each(&text(data))?;
            data.clear();
        }
        return Ok(());
    }
    let Some(value) = line.strip_prefix(b"data:") else { return Ok(()) };
    if !data.is_empty() {
        data.push(b'\n');
    }
    push(data, value.strip_prefix(b" ").unwrap_or(value))
}

fn push(into: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    fits(into.len() + bytes.len())?;
    into.extend_from_slice(bytes);
    Ok(())
}

fn fits(len: usize) -> Result<()> {
    if len <= EVENT_BYTES_MAX {
        return Ok(());
    }
    let mib = EVENT_BYTES_MAX >> 20;
    let text = format!("the provider sent more than {mib} MiB in one piece");
    Err(Fault::new(Kind::Upstream, text))
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Bytes that are no UTF-8 become `�` rather than the end of the answer.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly always it is, and then this look is ten times as fast.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(framing: Framing, pieces: &[&[u8]]) -> Vec<String> {
        let (mut events, mut seen) = (Events::new(framing), vec![]);
        for piece in pieces {
            let fed = events.feed(piece, |event| {
                seen.push(event.to_string());
                Ok(())
            });
            fed.expect("short events");
        }
        let rest = events.rest().expect("a short rest");
        if !rest.is_empty() {
            seen.push(format!("rest {rest}"));
        }
        seen
    }

    #[track_caller]
    fn check(framing: Framing, wire: &[u8], want: &[&str]) {
        for cut in 0..=wire.len() {
            let (head, tail) = wire.split_at(cut);
            assert_eq!(events(framing, &[head, tail]), want, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        assert_eq!(events(framing, &bytes), want, "byte by byte");
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        use Framing::{Ndjson, Sse, Whole};
        check(Sse, b"", &[]);
        check(Sse, b"data: a\n\ndata:b\r\n\r\ndata: c", &["a", "b", "rest c"]);
        check(Sse, b"event: x\nid: 1\n: hello\ndata: a\ndata:  b\n\n\n\n", &["a\n b"]);
        check(Sse, "data: né€🙂\n\n".as_bytes(), &["né€🙂"]);
        check(Sse, b"data: \xff\xf0\x9f\n\n", &["\u{fffd}\u{fffd}"]);
        check(Sse, b" \n{\n \"a\": 1}\n", &["rest {\n \"a\": 1}\n"]);
        check(Sse, b"<html>\n\ndata: a\n\n", &["rest <html>\n\ndata: a\n\n"]);
        check(Ndjson, b"{\"a\":1}\r\n\n{}\n[", &["{\"a\":1}", "{}", "rest ["]);
        check(Whole, b"data: {\n\n}", &["rest data: {\n\n}"]);
    }

    #[test]
    fn what_is_too_long_is_a_fault_and_costs_no_more_than_its_length() {
        for (framing, head) in [
            (Framing::Sse, "data: "),
            (Framing::Sse, "{"),
            (Framing::Ndjson, ""),
            (Framing::Whole, ""),
        ] {
            let mut events = Events::new(framing);
            events.feed(head.as_bytes(), |_| Ok(())).expect("short");
            let piece = [b'x'; 1024];
            let kept = (0..).take_while(|_| events.feed(&piece, |_| Ok(())).is_ok()).count();
            assert!(kept * piece.len() <= EVENT_BYTES_MAX, "{framing:?}");
            assert!((kept + 1) * piece.len() + head.len() > EVENT_BYTES_MAX, "{framing:?}");
        }
    }

    #[test]
    fn many_lines_of_one_event_have_the_limit_of_one() {
        let mut events = Events::new(Framing::Sse);
        let line = [b"data: ", "x".repeat(1 << 20).as_bytes(), b"\n"].concat();
        let fed = (0..16).try_for_each(|_| events.feed(&line, |_| Ok(())));
        assert_eq!(fed.expect_err("too much").kind, Kind::Upstream);
    }
}
