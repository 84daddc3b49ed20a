//! The binary as a process: how soon its first call goes out, and how much memory it takes.

use crate::{Size, median_and_min, milliseconds, say};
use althing_testkit::{Options, Upstream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const THREE: &str = "openai:ada,openai:bob,openai:cyd";

pub fn measure(size: Size) {
    cold_start(size);
    memory();
}

fn althing(upstream: &Upstream, home: &std::path::Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_althing"))
        .args(["ask", "Hello?", "--models", THREE, "--json"])
        .env_clear()
        .env("HOME", home)
        .env("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        .env("OPENAI_BASE_URL", format!("{}/v1", upstream.url()))
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts")
}

fn cold_start(size: Size) {
    say("\n== cold start: from spawning the process to the first request at the upstream");
    let upstream = Upstream::start(Options::default());
    let home = tempfile::tempdir().expect("a folder");
    let mut ours = vec![];
    let mut reference = vec![];
    for _ in 0..size.runs {
        reference.push(milliseconds(|| {
            Command::new("true").status().expect("`true` runs");
        }));
        let before = upstream.requests().len();
        let mut child = None;
        ours.push(milliseconds(|| {
            child = Some(althing(&upstream, home.path()));
            upstream.wait_for_sync(|seen| seen.len() > before);
        }));
        child.expect("spawned").wait().expect("it ends");
    }
    let ((ours, best), (reference, _)) = (median_and_min(ours), median_and_min(reference));
    say(&format!(
        "althing: median {ours:.1} ms, best {best:.1} ms; a process that does nothing: median {reference:.1} ms; ratio {:.1}",
        ours / reference
    ));
}

fn memory() {
    say("\n== memory: peak of the resident set over a standard discussion of 3 models");
    let upstream =
        Upstream::start(Options::default().latency(Duration::from_millis(20)).chunks(50));
    let home = tempfile::tempdir().expect("a folder");
    let mut child = althing(&upstream, home.path());
    let mut peak_kb = 0;
    while child.try_wait().expect("a child").is_none() {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        peak_kb = peak_kb.max(kb.unwrap_or(0));
        std::thread::yield_now();
    }
    say(&format!("althing: {:.1} MB", peak_kb as f64 / 1024.0));
}
