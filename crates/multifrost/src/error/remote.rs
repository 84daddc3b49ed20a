//! What a worker says of a call that failed. It is one text on the wire, which every library makes
//! up in its own way: `ValueError: too small`, and below it where that happened.

use std::fmt;

/// How a traceback begins: in Python and Rust, and the frames of JavaScript.
const TRACES: [&str; 2] = ["Traceback", "    at "];

/// The words of a worker.
#[derive(Clone, PartialEq, Eq)]
pub struct Remote {
    text: String,
}

impl Remote {
    /// All of it, as it came.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What kind of error it is, where the worker says: `ValueError`.
    pub fn kind(&self) -> Option<&str> {
        self.parts().0
    }

    /// What went wrong, in words.
    pub fn message(&self) -> &str {
        self.parts().1
    }

    /// Where it went wrong, if the worker says.
    pub fn trace(&self) -> Option<&str> {
        self.split().1
    }

    fn parts(&self) -> (Option<&str>, &str) {
        let words = self.split().0;
        match words.split_once(": ") {
            Some((kind, message)) if is_kind(kind) => (Some(kind), message),
            _ => (None, words),
        }
    }

    /// The words, and the trace below them.
    fn split(&self) -> (&str, Option<&str>) {
        let text = self.text.trim_end();
        if text.starts_with(TRACES[0]) {
            // A traceback of Python alone says at its end what it is of.
            return (text.lines().next_back().unwrap_or(text), Some(text));
        }
        let ends = text.match_indices('\n').map(|(at, _)| at);
        let mut ends = ends.filter(|at| TRACES.iter().any(|it| text[at + 1..].starts_with(it)));
        match ends.next() {
            Some(at) => (text[..at].trim_end(), Some(&text[at + 1..])),
            None => (text, None),
        }
    }
}

/// A name as errors have it: `KeyError`, `zmq.error.ZMQError`.
fn is_kind(name: &str) -> bool {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
    last.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_of_name)
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl From<String> for Remote {
    fn from(text: String) -> Remote {
        Remote { text }
    }
}

impl From<&str> for Remote {
    fn from(text: &str) -> Remote {
        Remote { text: text.into() }
    }
}

#[cfg(test)]
#[test]
fn s13_2_s13_3_errors_of_all_libraries_have_a_kind_a_message_and_a_trace() {
    #[track_caller]
    fn check(text: &str, kind: Option<&str>, message: &str, trace: Option<&str>) {
        let said = Remote::from(text);
        assert_eq!((said.kind(), said.message(), said.trace()), (kind, message, trace));
    }
    check("no", None, "no", None);
    check("Function 'x' not found", None, "Function 'x' not found", None);
    check("open: no such file", None, "open: no such file", None);
    let ours = "ValueError: a: b\nCaused by: c\nTraceback:\n  at main.rs:1:2";
    let trace = Some("Traceback:\n  at main.rs:1:2");
    check(ours, Some("ValueError"), "a: b\nCaused by: c", trace);
    let js = "TypeError: no\n    at f (x.js:1)\n    at g (x.js:2)";
    check(js, Some("TypeError"), "no", Some("    at f (x.js:1)\n    at g (x.js:2)"));
    let python = "Traceback (most recent call last):\n  File x\nzmq.error.ZMQError: busy\n";
    check(python, Some("zmq.error.ZMQError"), "busy", Some(python.trim_end()));
}
