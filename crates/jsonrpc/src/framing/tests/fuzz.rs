//! Random streams, the same ones for the same seed: whatever comes, however it is cut, a framing
//! finds the same. Under `ALTHING_SOAK` it goes on for so many seconds, each time with another seed.

use super::*;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

const ROUNDS: u64 = 150;
/// What `ALTHING_SOAK=1` means.
const SOAK: Duration = Duration::from_secs(10 * 60);

/// Cut at every byte and byte by byte it is the same; and a good frame behind whatever came is
/// found unless it was part of what came before.
fn check_stream(wire: &[u8]) {
    for make in [ndjson, content_length] {
        let whole = decode(make(), &[wire]);
        let want: Vec<&str> = whole.iter().map(String::as_str).collect();
        check(make, wire, &want);
    }
    // More than any header and body that was begun may swallow, with line ends to end any line.
    let after = "\n".repeat(MAX + HEADER_BYTES_MAX);
    let last = b"Content-Length: 4\r\n\r\ntrue";
    let found = decode(content_length(), &[wire, after.as_bytes(), last]);
    let swallowed = found.iter().any(|found| found.contains("too large"));
    assert!(swallowed || found.last().is_some_and(|found| found == "true"), "{found:?}");
}

const BITS: &[&[u8]] = &[
    b"Content-Length: 2\r\n\r\n{}",
    b"content-length:",
    b"Content-Length",
    b": 5",
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b"Content-Type: x",
    b" ",
    b"\t",
    b"99",
    b"-1",
    b"0",
    b"+3",
    b"99999999999999999999",
    b"{}",
    b"[1]",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\0",
    b":",
    b"noise",
    b"X-Y: z\r\n",
];

fn stream(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut wire = vec![];
    for _ in 0..random.usize(..12) {
        match random.u8(..10) {
            0 => wire.push(random.u8(..)),
            1 => {
                let body = "x".repeat(random.usize(..2 * MAX));
                wire.extend_from_slice(
                    format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes(),
                );
            }
            _ => wire.extend_from_slice(BITS[random.usize(..BITS.len())]),
        }
    }
    wire
}

#[test]
fn what_went_wrong_once_stays_right() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fuzz/frames");
    let mut count = 0;
    for entry in std::fs::read_dir(kept).unwrap() {
        check_stream(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "there are kept cases");
}

#[test]
fn soak_frames() {
    let soak = soak();
    let started = Instant::now();
    let mut seed = if soak.is_some() { fastrand::u64(..) } else { 0 };
    let mut rounds = 0;
    while soak.map_or(rounds < ROUNDS, |soak| started.elapsed() < soak) {
        let wire = stream(&mut fastrand::Rng::with_seed(seed));
        if let Err(panic) = std::panic::catch_unwind(|| check_stream(&wire)) {
            eprintln!("keep it in testdata/fuzz/frames: {}", wire.escape_ascii());
            std::panic::resume_unwind(panic);
        }
        seed = seed.wrapping_add(1);
        rounds += 1;
    }
    println!("{rounds} streams");
}

/// How long to go on, if so.
fn soak() -> Option<Duration> {
    let told = std::env::var("ALTHING_SOAK").ok()?;
    let seconds = told.parse().ok().filter(|seconds| *seconds > 1);
    Some(seconds.map_or(SOAK, Duration::from_secs))
}
