//! What is still looked for in a stream that goes by: the counts, and an error after the answer has
//! begun. A key stands in the bytes as `"usage"`, with quotes that no text inside a value can have:
//! there they are escaped.

use crate::dialect::{Dialect, anthropic, in_stream, openai};
use althing_chat::Usage;
use althing_stdx::Fault;
use memchr::memmem::Finder;
use serde_json::value::RawValue;

/// What is looked for. llama-server tells in its timings what its cache had.
const KEYS: [&[u8]; 3] = [b"\"usage\"", b"\"error\"", b"\"timings\""];
const ERROR: usize = 1;
const TIMINGS: usize = 2;
/// Bytes of a value that comes in pieces; a longer one is not looked at.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Reads the counts of a `usage` object.
pub(super) type Count = fn(&RawValue) -> Option<Usage>;

/// How the dialect counts.
pub(super) fn count(dialect: &Dialect) -> Count {
    if dialect.name == anthropic::ANTHROPIC.name { anthropic::usage } else { openai::usage }
}

/// What was found so far.
pub(super) struct Tail {
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<Fault>,
    count: Count,
    keys: [Finder<'static>; 3],
    /// The end of what came, where a key or its value is not complete.
    rest: Vec<u8>,
}

/// What follows a key.
enum Value<'a> {
    Whole(&'a RawValue),
    Cut,
    None,
}

impl Tail {
    pub(super) fn new(dialect: &Dialect) -> Tail {
        let keys = KEYS.map(Finder::new);
        Tail { usage: None, error: None, count: count(dialect), keys, rest: vec![] }
    }

    /// The next bytes. They are copied only where a key or its value is cut.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.rest.is_empty() {
            let cut = &bytes[self.scan(bytes)..];
            if cut.len() <= VALUE_BYTES_MAX {
                self.rest.extend_from_slice(cut);
            }
            return;
        }
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let keep = self.scan(&all);
        if all.len() - keep <= VALUE_BYTES_MAX {
            all.drain(..keep);
            self.rest = all;
        }
    }

    /// Takes in every value that is whole; says from where on the bytes are needed again.
    fn scan(&mut self, bytes: &[u8]) -> usize {
        let mut keep = cut_key(bytes);
        for (key, text) in KEYS.iter().enumerate() {
            let mut from = 0;
            while let Some(found) = self.keys[key].find(&bytes[from..]) {
                let at = from + found;
                from = at + text.len();
                match value(&bytes[from..]) {
                    Value::Whole(object) => self.take(key, object),
                    Value::Cut => {
                        keep = keep.min(at);
                        break;
                    }
                    Value::None => {}
                }
            }
        }
        keep
    }

    fn take(&mut self, key: usize, object: &RawValue) {
        if key == ERROR {
            self.error.get_or_insert_with(|| in_stream(object));
            return;
        }
        let later = match key {
            TIMINGS => openai::cached_in_timings(object),
            _ => (self.count)(object),
        };
        if let Some(later) = later {
            self.usage.get_or_insert_default().update(later);
        }
    }
}

/// The object behind a key. Other values, `null` above all, say nothing.
fn value(bytes: &[u8]) -> Value<'_> {
    let bytes = bytes.trim_ascii_start();
    let Some(bytes) = bytes.strip_prefix(b":") else {
        return if bytes.is_empty() { Value::Cut } else { Value::None };
    };
    match bytes.trim_ascii_start() {
        [] => Value::Cut,
        object @ [b'{', ..] => {
            match serde_json::Deserializer::from_slice(object).into_iter::<&RawValue>().next() {
                Some(Ok(object)) => Value::Whole(object),
                // A number that is cut behind its point passes for a wrong one.
                Some(Err(error)) if error.is_eof() || ends_in_number(object) => Value::Cut,
                _ => Value::None,
            }
        }
        _ => Value::None,
    }
}

/// Tells whether `bytes` may end in the middle of a number.
fn ends_in_number(bytes: &[u8]) -> bool {
    matches!(bytes.last(), Some(b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// Where a key begins that the end of `bytes` cuts; their length where there is none.
fn cut_key(bytes: &[u8]) -> usize {
    let longest = KEYS.iter().map(|key| key.len()).max().unwrap_or(0);
    let first = bytes.len().saturating_sub(longest - 1);
    let cut = |at: &usize| KEYS.iter().any(|key| key.starts_with(&bytes[*at..]));
    (first..bytes.len()).find(cut).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::anthropic::ANTHROPIC;
    use crate::dialect::openai::OPENAI;

    #[track_caller]
    fn check(dialect: &'static Dialect, wire: &str, want: Option<Usage>, error: bool) {
        let wire = wire.as_bytes();
        for cut in 0..=wire.len() {
            let mut tail = Tail::new(dialect);
            let (head, end) = wire.split_at(cut);
            tail.feed(head);
            tail.feed(end);
            assert_eq!((tail.usage, tail.error.is_some()), (want, error), "cut at {cut}");
        }
        let mut tail = Tail::new(dialect);
        wire.chunks(1).for_each(|byte| tail.feed(byte));
        assert_eq!((tail.usage, tail.error.is_some()), (want, error), "byte by byte");
    }

    fn usage(input: u64, output: u64, cached: Option<u64>) -> Option<Usage> {
        Some(Usage { input: Some(input), output: Some(output), cached, ..Usage::default() })
    }

    #[test]
    fn counts_are_found_however_the_bytes_are_cut() {
        let chat = "data: {\"choices\":[],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\" : \
                    {\"prompt_tokens\":7,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";
        check(&OPENAI, chat, usage(7, 5, None), false);
        let responses = r#"{"response":{"error":null,"usage":{"input_tokens":7,"output_tokens":5,
            "input_tokens_details":{"cached_tokens":3}}}}"#;
        check(&OPENAI, responses, usage(7, 5, Some(3)), false);
        let messages = r#"{"message":{"usage":{"input_tokens":4,"cache_read_input_tokens":3,
            "output_tokens":1}}} {"usage":{"output_tokens":5}}"#;
        check(&ANTHROPIC, messages, usage(7, 5, Some(3)), false);
        let written = r#"{"message":{"usage":{"input_tokens":4,"cache_read_input_tokens":3,
            "cache_creation_input_tokens":9,"output_tokens":1}}} {"usage":{"output_tokens":5}}"#;
        let want = usage(16, 5, Some(3)).map(|it| Usage { cache_written: Some(9), ..it });
        check(&ANTHROPIC, written, want, false);
        let llama = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5},
            "timings":{"cache_n":6,"prompt_n":1,"prompt_ms":4.5}}"#;
        check(&OPENAI, llama, usage(7, 5, Some(6)), false);
    }

    #[test]
    fn words_of_the_model_are_no_counts() {
        check(&OPENAI, r#"{"content":"{\"usage\":{\"prompt_tokens\":1}}"}"#, None, false);
        check(&OPENAI, r#"{"usage":"auto","x":["usage"],"error":null,"y":"error"}"#, None, false);
        check(&OPENAI, "", None, false);
    }

    #[test]
    fn an_error_in_the_middle_is_noticed() {
        check(&OPENAI, r#"{"error":{"message":"down"}}"#, None, true);
        check(&ANTHROPIC, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, None, true);
    }

    #[test]
    fn a_value_without_end_is_given_up() {
        let mut tail = Tail::new(&OPENAI);
        tail.feed(b"\"usage\":{\"x\":\"");
        for _ in 0..1000 {
            tail.feed(&[b'x'; 1024]);
        }
        assert!(tail.rest.len() <= VALUE_BYTES_MAX);
    }
}
