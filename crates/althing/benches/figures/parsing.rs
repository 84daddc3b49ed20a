//! Parsing a stream, in MB/s, against a bare line splitter over the same bytes.

use crate::{Size, median_and_min, milliseconds, say};
use althing_gateway::dialect::{Dialect, anthropic, gemini, ollama, openai};
use std::fmt::Write;

/// Bytes handed over at once, as a socket would.
const READ_BYTES: usize = 16 * 1024;
const REPEATS: usize = 5;

/// A dialect and the n-th event of a stream in it.
type Case = (&'static Dialect, fn(usize) -> String);

pub fn measure(size: Size) {
    say("\n== stream parsing, 16 KiB per read");
    say("dialect    | bare line splitter MB/s | deltas MB/s | ratio");
    let cases: [Case; 4] = [
        (&openai::OPENAI, |n| {
            format!(
                "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word{n} \"}},\"finish_reason\":null}}]}}\n\n"
            )
        }),
        (&anthropic::ANTHROPIC, |n| {
            format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"word{n} \"}}}}\n\n"
            )
        }),
        (&gemini::GEMINI, |n| {
            format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"word{n} \"}}],\"role\":\"model\"}},\"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":5,\"candidatesTokenCount\":{n}}}}}\r\n\r\n"
            )
        }),
        (&ollama::OLLAMA, |n| {
            format!(
                "{{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{{\"role\":\"assistant\",\"content\":\"word{n} \"}},\"done\":false}}\n"
            )
        }),
    ];
    for (dialect, line) in cases {
        let mut bytes = String::new();
        for n in 0.. {
            if bytes.len() >= size.megabytes << 20 {
                break;
            }
            write!(bytes, "{}", line(n)).expect("a String takes everything");
        }
        let bare = rate(&bytes, || split(bytes.as_bytes()));
        let ours = rate(&bytes, || read(dialect, bytes.as_bytes()));
        say(&format!("{:10} | {bare:23.0} | {ours:11.0} | {:.2}", dialect.name, ours / bare));
    }
}

/// Megabytes a second, the median of a few.
fn rate(bytes: &str, work: impl Fn() -> usize) -> f64 {
    let times = (0..REPEATS).map(|_| milliseconds(|| assert!(std::hint::black_box(work()) > 0)));
    bytes.len() as f64 / 1e6 / (median_and_min(times.collect()).0 / 1e3)
}

fn split(bytes: &[u8]) -> usize {
    bytes
        .chunks(READ_BYTES)
        .map(|chunk| chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count())
        .sum()
}

fn read(dialect: &Dialect, bytes: &[u8]) -> usize {
    let mut reader = (dialect.reader)(true);
    bytes
        .chunks(READ_BYTES)
        .map(|chunk| reader.feed(chunk).into_iter().filter(Result::is_ok).count())
        .sum()
}
