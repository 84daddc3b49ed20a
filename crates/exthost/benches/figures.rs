//! Figures of the extension host: frames through a pipe beside `lsp-server`, a patch of a long
//! message, and what idle extensions cost. Full size under `cargo bench`.
#![allow(clippy::print_stdout, reason = "a program that reports figures")]

use althing_exthost::desk::Nobody;
use althing_exthost::document::{Document, Form, Patch};
use althing_exthost::{Entry, Host, Setup};
use althing_jsonrpc::{
    ContentLength, Cx, Error, Frame, Framing, Handler, Incoming, Options, RawValue, Value, connect,
};
use bytes::BytesMut;
use std::io::{BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    for (bytes, frames) in [(1 << 10, 5_000), (1 << 20, 20)] {
        let frames = if full { frames } else { frames / 10 };
        pipe(bytes, frames, if full { 100 } else { 1 });
    }
    patch(if full { 10_000 } else { 10 });
    idle(if full { 20 } else { 2 });
}

/// The best of many short rounds each, taken in turns, so that what else the machine does counts
/// little and hits all alike.
fn pipe(bytes: usize, frames: usize, rounds: usize) {
    let [mut read, mut served, mut theirs] = [0.0_f64; 3];
    for _ in 0..rounds {
        read = read.max(reading(bytes, frames));
        served = served.max(serving(bytes, frames));
        theirs = theirs.max(lsp_server(bytes, frames));
    }
    println!("{bytes} bytes, frames per second: lsp-server read {theirs:.0}");
    println!("  ours read {read:.0}, {:.1} times", read / theirs);
    println!("  ours read and handled by a peer {served:.0}, {:.1} times", served / theirs);
}

/// Frames as an extension sends them: requests with a long text.
fn wire(bytes: usize) -> Vec<u8> {
    let body = |fill: &str| {
        let start = r#"{"jsonrpc":"2.0","method":"editor/setMessage","params":{"message":""#;
        format!(r#"{start}{fill}","format":"hl7"}}}}"#)
    };
    const LINE: &str = r"OBX|1|ST|CODE^Text^L||a value of some length|units|||||F|||20250101\r";
    let body = body(&LINE.repeat((bytes - body("").len()) / LINE.len()));
    let mut wire = vec![];
    ContentLength::default().encode(&body, &mut wire);
    wire
}

/// Writes so many frames into a pipe from a thread of its own.
fn fill(mut writer: std::io::PipeWriter, bytes: usize, frames: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let one = wire(bytes);
        let batch = one.repeat((64 << 10) / one.len() + 1);
        let mut left = frames;
        while left > 0 {
            let count = left.min(batch.len() / one.len());
            writer.write_all(&batch[..count * one.len()]).expect("the reader is there");
            left -= count;
        }
    })
}

struct Count(Arc<AtomicUsize>);

impl Handler for Count {
    async fn request(&self, _: Cx, _: &str, _: Box<RawValue>) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    async fn notification(&self, _: Cx, _: &str, params: Box<RawValue>) -> Result<(), Error> {
        assert!(params.get().len() > 100);
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Frames per second of our framing and envelope.
fn reading(bytes: usize, frames: usize) -> f64 {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let started = Instant::now();
        let filling = fill(writer, bytes, frames);
        let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into());
        let mut reader = reader.expect("a pipe");
        let mut framing = ContentLength::default();
        let mut buf = BytesMut::new();
        let mut count = 0;
        loop {
            buf.reserve(framing.wants(&buf).max(64 << 10));
            if reader.read_buf(&mut buf).await.expect("a read") == 0 {
                break;
            }
            while let Some(frame) = framing.decode(&mut buf) {
                let Frame::Body(body) = frame else { panic!("a message") };
                let message = althing_jsonrpc::message::parse(&body).expect("a message");
                assert!(matches!(message, Incoming::Notification { .. }));
                count += 1;
            }
        }
        filling.join().expect("no panic");
        assert_eq!(count, frames);
        frames as f64 / started.elapsed().as_secs_f64()
    })
}

/// Frames per second of a whole peer of ours: framing, envelope, handler.
fn serving(bytes: usize, frames: usize) -> f64 {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let started = Instant::now();
        let filling = fill(writer, bytes, frames);
        let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into());
        let count = Arc::new(AtomicUsize::new(0));
        let handler = Count(count.clone());
        let framing = ContentLength::default();
        let reader = reader.expect("a pipe");
        let (_peer, served) = connect(reader, tokio::io::sink(), framing, handler, Options::peer());
        served.await;
        filling.join().expect("no panic");
        assert_eq!(count.load(Ordering::Relaxed), frames);
        frames as f64 / started.elapsed().as_secs_f64()
    })
}

/// The same of `lsp-server`: its reading of messages on a thread.
fn lsp_server(bytes: usize, frames: usize) -> f64 {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let started = Instant::now();
    let filling = fill(writer, bytes, frames);
    let mut reader = BufReader::new(reader);
    let mut count = 0;
    while let Some(message) = lsp_server::Message::read(&mut reader).expect("a message") {
        assert!(matches!(message, lsp_server::Message::Notification(_)));
        count += 1;
    }
    filling.join().expect("no panic");
    assert_eq!(count, frames);
    frames as f64 / started.elapsed().as_secs_f64()
}

/// Changes of a field in the last segment of a message of 100 KB.
fn patch(rounds: usize) {
    let mut text = String::from("MSH|^~\\&|A|B\rPID|1||123\r");
    while text.len() < 100 << 10 {
        text += "OBX|1|ST|CODE^Text^L||a value of some length|units|||||F|||20250101\r";
    }
    let last = text.matches("OBX").count();
    let mut document = Document::new(Form::Hl7, text);
    let values = ["short", "a longer one"].map(|value| Patch {
        path: format!("OBX[{last}].5.2"),
        value: Some(value.into()),
        ..Patch::default()
    });
    // The best of many short batches: what else the machine does counts little.
    let mut best = f64::INFINITY;
    for _ in 0..rounds / BATCH {
        let started = Instant::now();
        for round in 0..BATCH {
            let report = document.patch(&values[round % 2..round % 2 + 1]).expect("a report");
            assert!(report.success);
        }
        best = best.min(started.elapsed().as_secs_f64() * 1e6 / BATCH as f64);
    }
    println!("patch of a message of {} bytes: {best:.1} microseconds", document.text().len());
}

/// Patches that are timed together.
const BATCH: usize = 10;

/// What this process holds more with so many extensions that wait.
fn idle(count: usize) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let echo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions/echo.py");
        let entry =
            Entry { args: vec![echo.to_string_lossy().into_owned()], ..Entry::new("python3") };
        let document = Document::new(Form::Hl7, "MSH|^~\\&|A\r");
        let before = memory();
        let entries = vec![entry; count];
        let host =
            Host::start(Setup::new(entries, document, Arc::new(Nobody), folder.path().into()));
        host.settled().await;
        host.quiet(Duration::from_millis(200)).await;
        let grown = memory().saturating_sub(before);
        println!("{count} idle extensions: {} KB of the host, {} each", grown, grown / count);
        host.stop().await;
    });
}

fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}
