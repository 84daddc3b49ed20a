//! What an extension and the host say about it, the last lines of it.

use althing_stdx::{redact, text};
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Lines that are kept; older ones go.
pub const LOG_LINES_MAX: usize = 1000;
/// Bytes of a line; the rest of a longer one is dropped.
pub const LINE_BYTES_MAX: usize = 8 << 10;
/// Lines of an extension within a second that are taken. The others are counted.
const LINES_PER_SECOND_MAX: usize = 500;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is odd.
    Warning,
    /// Something does not work.
    Error,
}

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The host, about the extension.
    Host,
    /// The extension, on its standard error.
    Stderr,
    /// The extension, between its messages.
    Stdout,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Since the host started, in milliseconds.
    pub at_ms: u64,
    /// How much it matters.
    pub level: Level,
    /// Who said it.
    pub source: Source,
    /// What was said: one line that cannot drive a terminal, and without keys.
    pub text: String,
}

/// The last lines about one extension, over all its restarts.
#[derive(Debug)]
pub(crate) struct Log {
    lines: VecDeque<LogLine>,
    second: Instant,
    in_second: usize,
    dropped: u64,
}

impl Log {
    pub(crate) fn new(now: Instant) -> Log {
        Log { lines: VecDeque::new(), second: now, in_second: 0, dropped: 0 }
    }

    /// Takes a line; gives back what was kept of it, and of those that were not.
    pub(crate) fn add(
        &mut self,
        (source, level, said): (Source, Level, &str),
        now: Instant,
        at_ms: u64,
    ) -> Vec<LogLine> {
        let mut kept = vec![];
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.in_second) = (now, 0);
            let dropped = std::mem::take(&mut self.dropped);
            if dropped > 0 {
                let text = format!("{dropped} lines in one second were too many and are gone");
                let level = Level::Warning;
                kept.push(LogLine { at_ms, level, source: Source::Host, text });
            }
        }
        self.in_second += usize::from(source != Source::Host);
        if source != Source::Host && self.in_second > LINES_PER_SECOND_MAX {
            self.dropped += 1;
        } else {
            let text = text::printable(&redact::redact(said)).replace('\n', " ");
            kept.push(LogLine { at_ms, level, source, text });
        }
        self.lines.extend(kept.iter().cloned());
        self.lines.drain(..self.lines.len().saturating_sub(LOG_LINES_MAX));
        kept
    }

    pub(crate) fn lines(&self) -> Vec<LogLine> {
        self.lines.iter().cloned().collect()
    }

    /// The last words of an extension, to say why it ended.
    pub(crate) fn last_words(&self, count: usize) -> Vec<String> {
        let said = self.lines.iter().rev().filter(|line| line.source == Source::Stderr);
        let mut last: Vec<_> = said.take(count).map(|line| line.text.clone()).collect();
        last.reverse();
        last
    }
}

/// A line of standard error: its level from its first word, which is left out then.
pub(crate) fn tagged(line: &str) -> (Level, &str) {
    let line = line.trim();
    for (word, level) in WORDS {
        for word in [word.to_string(), word.to_lowercase()] {
            let bracketed = line.strip_prefix(&format!("[{word}]"));
            if let Some(rest) = bracketed.or_else(|| line.strip_prefix(&format!("{word}:"))) {
                return (*level, rest.trim_start());
            }
        }
    }
    (Level::Info, line)
}

const WORDS: &[(&str, Level)] = &[
    ("ERROR", Level::Error),
    ("WARNING", Level::Warning),
    ("WARN", Level::Warning),
    ("INFO", Level::Info),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_from_the_first_word() {
        #[rustfmt::skip]
        let cases = [
            ("[ERROR] no", Level::Error, "no"), ("error: no", Level::Error, "no"),
            ("[warn]x", Level::Warning, "x"), ("WARNING: x", Level::Warning, "x"),
            (" INFO:  x ", Level::Info, "x"), ("Error: x", Level::Info, "Error: x"),
            ("errors", Level::Info, "errors"), ("", Level::Info, ""),
        ];
        cases.iter().for_each(|(line, level, rest)| assert_eq!(tagged(line), (*level, *rest)));
    }

    #[test]
    fn a_flood_is_counted_and_old_lines_go() {
        let start = Instant::now();
        let mut log = Log::new(start);
        for at in 0..3 * LINES_PER_SECOND_MAX {
            log.add((Source::Stderr, Level::Info, &format!("line {at}")), start, 0);
        }
        assert_eq!(log.lines().len(), LINES_PER_SECOND_MAX);
        log.add((Source::Host, Level::Info, "still here"), start, 0);
        let later = start + Duration::from_secs(1);
        let kept = log.add(
            (Source::Stderr, Level::Error, "a\x1b[31m\nsk-proj-abcdefghijklmnop"),
            later,
            7,
        );
        let texts: Vec<_> = kept.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            texts,
            ["1000 lines in one second were too many and are gone", "a\\u{1b}[31m [secret]"]
        );
        for _ in 0..2 * LOG_LINES_MAX {
            log.add((Source::Host, Level::Info, "x"), later, 0);
        }
        assert_eq!(log.lines().len(), LOG_LINES_MAX);
    }
}
