//! JSON text made safe for readers that cut it in the wrong places. Both functions keep its value:
//! what they change stands either in strings, where an escape means the same, or between tokens.

use memchr::memchr3;

const LINE_SEPARATOR: &[u8] = "\u{2028}".as_bytes();
const PARAGRAPH_SEPARATOR: &[u8] = "\u{2029}".as_bytes();

/// Appends `json` as one line. Line ends between its tokens become blanks; the two separators that
/// Node's `readline` takes for line ends are escaped.
pub(super) fn line(json: &str, out: &mut Vec<u8>) {
    let mut rest = json.as_bytes();
    while let Some(at) = memchr3(b'\n', b'\r', LINE_SEPARATOR[0], rest) {
        out.extend_from_slice(&rest[..at]);
        let (length, text): (usize, &[u8]) = match &rest[at..] {
            [b'\n' | b'\r', ..] => (1, b" "),
            found if found.starts_with(LINE_SEPARATOR) => (3, br"\u2028"),
            found if found.starts_with(PARAGRAPH_SEPARATOR) => (3, br"\u2029"),
            found => (1, &found[..1]),
        };
        out.extend_from_slice(text);
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
}

/// Appends `json` with `\uXXXX` for all that is not ASCII, so that its bytes are its characters.
pub(super) fn ascii(json: &str, out: &mut Vec<u8>) {
    let mut rest = json;
    while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii()) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let mut chars = tail.chars();
        for unit in chars.next().expect("a character begins here").encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
        rest = chars.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// How many bytes `ascii` appends.
pub(super) fn ascii_len(json: &str) -> usize {
    const ESCAPE: usize = r"\uXXXX".len();
    if json.is_ascii() {
        return json.len();
    }
    json.chars().map(|c| if c.is_ascii() { 1 } else { ESCAPE * c.len_utf16() }).sum()
}
