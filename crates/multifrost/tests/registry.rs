//! The registry under twenty processes of three languages that register, unregister and die. The
//! foreign ones lock as their libraries do: Python a file, JavaScript a folder, and neither knows of
//! the other's lock; or they take both, as the workers in `examples/workers` do.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

#[path = "support/peer.rs"]
mod peer;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use multifrost::registry::Registry;
use peer::{Language, Node, Peer, Python, RUST, Running};

const PROCESSES: usize = 20;
const ROUNDS: usize = 2;
const ROUNDS_SOAK: usize = 40;

/// Which processes there are; none of a language is Rust.
type Mix = &'static [Option<Language>];

/// How a process ends.
const ENDS: [&str; 3] = ["leave", "stay", "die"];

struct One {
    name: String,
    language: Option<Language>,
    end: &'static str,
    process: Running,
    /// Whether it went as it should: nothing was lost, nothing came back.
    is_well: bool,
}

/// What the foreign ones take.
type Locks = &'static str;
const OWN: Locks = "own";
const ALL: Locks = "all";

fn start(peer: &Peer, folder: &Path, n: usize, language: Option<Language>, locks: Locks) -> One {
    let is_soak = std::env::var_os("ALTHING_SOAK").is_some();
    let rounds = if is_soak { ROUNDS_SOAK } else { ROUNDS }.to_string();
    let (name, end) = (format!("service-{n}"), ENDS[n % ENDS.len()]);
    let mut command = match language {
        None => {
            let mut command = Command::new(RUST);
            command.arg("registry");
            command
        }
        Some(Python) => peer.command("registry.py"),
        Some(Node) => peer.command("registry.mjs"),
    };
    command.arg(folder).args([&name, &rounds, end, locks]);
    let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    One { name, language, end, process: Running(process), is_well: false }
}

impl One {
    /// Waits until it is registered for good, or has ended.
    fn settle(&mut self) {
        let mut line = String::new();
        let out = self.process.0.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        self.is_well = match self.end {
            "leave" => self.process.0.wait().unwrap().success(),
            "die" => self.process.0.wait().unwrap().code().is_none() && line == "registered\n",
            _ => line == "registered\n",
        };
    }
}

/// Runs them all at once. Where `is_strict` says so of a language, its processes went well and what
/// the registry says of them is true; in any case the file is whole.
fn check(peer: &Peer, mix: Mix, locks: Locks, is_strict: fn(Option<Language>) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::at(folder.path());
    let language = |n: usize| mix[n % mix.len()];
    let mut all: Vec<_> =
        (0..PROCESSES).map(|n| start(peer, folder.path(), n, language(n), locks)).collect();
    all.iter_mut().for_each(One::settle);
    let text = std::fs::read_to_string(folder.path().join("services.json")).unwrap();
    let entries: serde_json::Map<_, _> = serde_json::from_str(&text).unwrap();
    for one in all.iter().filter(|one| is_strict(one.language)) {
        let who = format!("{} {:?} {}", one.name, one.language, one.end);
        assert!(one.is_well, "{who}: {text}");
        assert_eq!(entries.contains_key(&one.name), one.end != "leave", "{who}: {text}");
        let found = registry.find(&one.name).map(|found| found.pid);
        assert_eq!(found, (one.end == "stay").then(|| one.process.0.id()), "{who}: {text}");
        // The dead are replaced.
        assert_eq!(registry.register(&one.name, 5555).is_ok(), one.end != "stay", "{who}");
    }
    let files = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
    let left: Vec<_> = files.filter(|name| name != "services.json").collect();
    assert!(left.is_empty(), "no lock, no draft and no broken file is left: {left:?}");
}

#[test]
fn soak_s10_2_3_s11_8_rust_and_python_share_a_registry() {
    let Some(peer) = Peer::of(Python) else { return };
    check(&peer, &[None, Some(Python)], OWN, |_| true);
}

#[test]
fn soak_s10_2_3_s11_9_rust_and_javascript_share_a_registry() {
    let Some(peer) = Peer::of(Node) else { return };
    check(&peer, &[None, Some(Node)], OWN, |_| true);
}

#[test]
fn soak_s10_2_3_s11_4_all_three_share_a_registry() {
    let Some(peer) = Peer::of(Python) else { return };
    check(&peer, &[None, Some(Python), Some(Node)], ALL, |_| true);
}

/// Python's and JavaScript's libraries take away each other's entries, with or without us. Ours are
/// never lost to either, and nothing breaks.
#[test]
fn soak_s10_2_3_ours_are_safe_between_those_that_do_not_know_each_other() {
    let Some(peer) = Peer::of(Python) else { return };
    check(&peer, &[None, Some(Python), None, Some(Node)], OWN, |language| language.is_none());
}
