//! From the bytes of tokens to text: a character may be spread over several tokens, and so may a
//! stop sequence.

/// Text that is not told yet.
pub struct Pieces {
    bytes: Vec<u8>,
    stops: Vec<String>,
}

impl Pieces {
    pub fn new(stops: Vec<String>) -> Pieces {
        Pieces { bytes: Vec::new(), stops }
    }

    /// The text that is certain now, and whether a stop sequence ended it.
    pub fn push(&mut self, bytes: &[u8]) -> (String, bool) {
        self.bytes.extend_from_slice(bytes);
        let whole = self.bytes.len() - unfinished(&self.bytes);
        let text = String::from_utf8_lossy(&self.bytes[..whole]).into_owned();
        if let Some(at) = self.stops.iter().filter_map(|stop| text.find(stop.as_str())).min() {
            self.bytes.clear();
            return (text[..at].to_string(), true);
        }
        let kept = self.stops.iter().map(|stop| begun(&text, stop)).max().unwrap_or(0);
        let told = text.len() - kept;
        let rest = text.as_bytes()[told..].iter().chain(&self.bytes[whole..]).copied().collect();
        self.bytes = rest;
        (text[..told].to_string(), false)
    }

    /// What is left at the end; a character that never came whole is shown as such.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Bytes at the end that may still become a character.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => 0,
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        // Something broken before the end: look behind it.
        Err(error) => {
            let next = error.valid_up_to() + error.error_len().unwrap_or(1);
            unfinished(&bytes[next..])
        }
    }
}

/// Bytes at the end of `text` with which `stop` begins.
pub fn begun(text: &str, stop: &str) -> usize {
    let longest = stop.len().saturating_sub(1).min(text.len());
    let at = |size: &usize| stop.is_char_boundary(*size) && text.ends_with(&stop[..*size]);
    (1..=longest).rev().find(at).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are cut, the same text comes out, and no piece has half a character.
    fn check(bytes: &[u8], stops: &[&str], expected: &str) {
        for size in 1..=bytes.len() {
            let stops = stops.iter().map(ToString::to_string).collect();
            let (mut pieces, mut text, mut stopped) = (Pieces::new(stops), String::new(), false);
            for piece in bytes.chunks(size) {
                let (told, ended) = pieces.push(piece);
                text += &told;
                stopped = ended;
                if ended {
                    break;
                }
            }
            if !stopped {
                text += &pieces.finish();
            }
            assert_eq!(text, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn characters_come_whole() {
        check("né — 🦙 ok".as_bytes(), &[], "né — 🦙 ok");
        check(b"a\xffb\xe2\x80", &[], "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_stop_sequence_ends_the_text_and_is_not_told() {
        check(b"one END two", &["END"], "one ");
        check(b"one EN two", &["END"], "one EN two");
        check("un — deux".as_bytes(), &["deux", "—"], "un ");
        check(b"aab", &["ab"], "a");
        check(b"tail E", &["END"], "tail E");
    }
}
