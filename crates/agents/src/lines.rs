//! Lines out of the bytes of a pipe, however they are cut: lossy UTF-8, without the escapes that
//! drive terminals.

use std::mem;

/// The longest line; a longer one comes in pieces of this size.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// Bytes that are no whole line yet.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Takes in bytes and tells every line that they complete, without its end.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut tell: impl FnMut(&str)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.take(&bytes[..end], &mut tell);
            tell(&clean(&mem::take(&mut self.rest)));
            bytes = &bytes[end + 1..];
        }
        self.take(bytes, &mut tell);
    }

    /// The last line, where nothing ended it.
    pub(crate) fn end(&mut self, tell: impl FnOnce(&str)) {
        if !self.rest.is_empty() {
            tell(&clean(&mem::take(&mut self.rest)));
        }
    }

    fn take(&mut self, mut bytes: &[u8], tell: &mut impl FnMut(&str)) {
        while self.rest.len() + bytes.len() > LINE_BYTES_MAX {
            let (now, later) = bytes.split_at(LINE_BYTES_MAX - self.rest.len());
            self.rest.extend_from_slice(now);
            tell(&clean(&mem::take(&mut self.rest)));
            bytes = later;
        }
        self.rest.extend_from_slice(bytes);
    }
}

/// One line as text.
fn clean(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix('\r').unwrap_or(&text);
    match text.contains(['\x1b', '\u{9b}', '\u{feff}']) {
        true => plain(text),
        false => text.to_string(),
    }
}

/// `text` without terminal escapes and byte order marks.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => match chars.next() {
                Some('[') => control(&mut chars),
                Some(']' | 'P' | '_' | '^' | 'X') => command(&mut chars),
                // A letter of two: what it says is said.
                _ => {}
            },
            '\u{9b}' => control(&mut chars),
            '\u{feff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// To the letter that ends a control sequence.
fn control(chars: &mut std::str::Chars<'_>) {
    chars.find(|c| ('@'..='~').contains(c));
}

/// To the bell or the terminator that ends a command.
fn command(chars: &mut std::str::Chars<'_>) {
    while let Some(c) = chars.next() {
        if c == '\x07' || (c == '\x1b' && chars.next() == Some('\\')) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same lines come out wherever the bytes are cut.
    #[track_caller]
    fn check(bytes: &[u8], expected: &[&str]) {
        for cut in 0..=bytes.len() {
            let (mut lines, mut told) = (Lines::default(), Vec::new());
            lines.feed(&bytes[..cut], |line| told.push(line.to_string()));
            lines.feed(&bytes[cut..], |line| told.push(line.to_string()));
            lines.end(|line| told.push(line.to_string()));
            assert_eq!(told, expected, "cut at {cut}");
        }
    }

    #[test]
    fn lines_are_whole_clean_and_lossy() {
        check(b"", &[]);
        check(b"a\r\n\nb", &["a", "", "b"]);
        check("é\n東京\n".as_bytes(), &["é", "東京"]);
        check(b"\xff\xfe{\n", &["\u{fffd}\u{fffd}{"]);
        check("\u{feff}{}\n".as_bytes(), &["{}"]);
        check(b"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;u\x1b\\y\x1b(B\n", &["red xyB"]);
        check(b"cut \x1b[31\n\x1b\n", &["cut ", ""]);
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces() {
        let (mut lines, mut sizes) = (Lines::default(), Vec::new());
        let flood = vec![b'x'; 2 * LINE_BYTES_MAX + 10];
        flood.chunks(60_000).for_each(|bytes| lines.feed(bytes, |line| sizes.push(line.len())));
        lines.feed(b"\nshort\n", |line| sizes.push(line.len()));
        assert_eq!(sizes, [LINE_BYTES_MAX, LINE_BYTES_MAX, 10, 5]);
    }
}
