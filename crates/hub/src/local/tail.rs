//! The last words of a process, kept for the case that they were its last.

use althing_stdx::text::{clip, printable};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Lines that are kept, and characters of each; older ones and what is longer is forgotten.
const LINES_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 300;
const LINE_BYTES_MAX: usize = 4 * LINE_CHARS_MAX;
/// How long the end of the words is waited for after the process has ended.
const END_WAIT: Duration = Duration::from_secs(1);

/// Reads a process's error output for as long as it has any, so that it never waits to write.
pub(super) struct Tail(JoinHandle<VecDeque<String>>);

impl Tail {
    pub(super) fn of(output: Option<impl AsyncRead + Unpin + Send + 'static>) -> Tail {
        Tail(tokio::spawn(async move {
            match output {
                Some(output) => read(output).await,
                None => VecDeque::new(),
            }
        }))
    }

    /// Why the process ended, in its own words.
    pub(super) async fn why(self) -> String {
        let lines = timeout(END_WAIT, self.0).await;
        let lines = lines.ok().and_then(Result::ok).unwrap_or_default();
        reason(lines.iter().map(String::as_str))
    }
}

async fn read(mut output: impl AsyncRead + Unpin) -> VecDeque<String> {
    let (mut lines, mut line, mut buffer) = (VecDeque::new(), Vec::new(), [0; 4096]);
    // Ends with the process; a broken pipe is an end too.
    while let Ok(size @ 1..) = output.read(&mut buffer).await {
        for byte in &buffer[..size] {
            match byte {
                b'\n' => keep(&mut lines, &mut line),
                _ if line.len() < LINE_BYTES_MAX => line.push(*byte),
                _ => {}
            }
        }
    }
    keep(&mut lines, &mut line);
    lines
}

fn keep(lines: &mut VecDeque<String>, line: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(line).trim().to_string();
    line.clear();
    if !text.is_empty() {
        lines.push_back(clip(&printable(&text), LINE_CHARS_MAX));
        lines.drain(..lines.len().saturating_sub(LINES_MAX));
    }
}

/// The first line that speaks of an error, since what follows are its consequences; else the last.
fn reason<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> String {
    let speaks = |line: &&str| line.to_ascii_lowercase().contains("error");
    let line = lines.clone().find(speaks).or_else(|| lines.last());
    line.unwrap_or("it ended without a word").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(output: &str, expected: &str) {
        let output = std::io::Cursor::new(output.as_bytes().to_vec());
        assert_eq!(Tail::of(Some(output)).why().await, expected);
    }

    #[tokio::test]
    async fn the_reason_is_the_first_error_or_the_last_line() {
        check("", "it ended without a word").await;
        check("loading\n\nstill loading\n", "still loading").await;
        check("loading\nload: error: cut off\nfailed\nerror: gone", "load: error: cut off").await;
        check(&"x".repeat(100_000), &clip(&"x".repeat(100_000), LINE_CHARS_MAX)).await;
        let many: String = (0..1_000).map(|at| format!("{at}\n")).collect();
        check(&format!("error: early\n{many}"), "999").await;
    }
}
