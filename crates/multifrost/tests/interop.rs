//! Peers whose sockets we did not write: Python with pyzmq and msgpack, Node with zeromq and
//! msgpackr, as they stand in `examples/workers`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use multifrost::parent::{CallOptions, Options};
use multifrost::registry::Registry;
use multifrost::{Error, Parent, Program, Value};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Language {
    Python,
    Node,
}

use Language::{Node, Python};

/// What a test needs of a peer: its interpreter, and its scripts where they find their packages.
struct Peer {
    language: Language,
    interpreter: PathBuf,
    /// A home of the test's own: the registry is there.
    home: tempfile::TempDir,
}

impl Peer {
    /// None where the peers are not installed and need not be.
    fn of(language: Language) -> Option<Peer> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let peers = std::env::var_os("ALTHING_PEERS_DIR");
        let peers = peers.map_or(root.join("target/peers"), PathBuf::from).join("frost");
        if !peers.join("bin/python").is_file() || !peers.join("node_modules").is_dir() {
            let is_required = std::env::var_os("ALTHING_PEERS").is_some_and(|it| it == "required");
            assert!(!is_required, "the peer frost is missing; cargo xtask peers installs it");
            println!("skipped: no peer frost; cargo xtask peers installs it");
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        for file in ["worker.py", "parent.py", "worker.mjs", "parent.mjs"] {
            let from = root.join("examples/workers").join(file);
            std::fs::copy(from, home.path().join(file)).unwrap();
        }
        // Node looks for packages beside the script.
        symlink(peers.join("node_modules"), home.path().join("node_modules")).unwrap();
        let interpreter =
            if language == Python { peers.join("bin/python") } else { PathBuf::from("node") };
        Some(Peer { language, interpreter, home })
    }

    fn script(&self, name: &str) -> PathBuf {
        let ending = if self.language == Python { "py" } else { "mjs" };
        self.home.path().join(format!("{name}.{ending}"))
    }

    fn registry(&self) -> Registry {
        Registry::at(self.home.path().join(".multifrost"))
    }

    fn options(&self) -> Options {
        let connect_max = Duration::from_secs(60);
        Options { registry: Some(self.registry()), connect_max, ..Options::default() }
    }

    fn worker(&self) -> Program {
        Program::script(&self.interpreter, self.script("worker"))
    }

    /// A process in the home of this test.
    fn start(&self, program: &Path, arguments: &[&str]) -> Running {
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", self.home.path()).env_remove("COMLINK_ZMQ_PORT");
        Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn run_script(&self, name: &str, arguments: &[&str]) -> Running {
        let script = self.script(name);
        let script = script.to_str().unwrap();
        self.start(&self.interpreter, &[&[script], arguments].concat())
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Running {
    /// Its standard output, when it ends well.
    #[track_caller]
    fn says(&mut self) -> String {
        let text = std::io::read_to_string(self.0.stdout.take().unwrap()).unwrap();
        assert!(self.0.wait().unwrap().success(), "{text}");
        text
    }
}

const RUST: &str = env!("CARGO_BIN_EXE_frost-worker");

async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it never came to be");
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// What a Rust parent finds in a foreign worker.
async fn check(parent: &Parent) {
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let values: Vec<Value> = vec![
        Value::Nil,
        true.into(),
        (-1_i64).into(),
        i64::MIN.into(),
        ((1_i64 << 53) + 1).into(),
        u64::MAX.into(),
        1.5.into(),
        4_294_967_296.0.into(),
        f64::INFINITY.into(),
        "žluť 🌊".into(),
        b"\xff\0"[..].into(),
        Value::Array(vec![Value::Array(vec![Value::Nil])]),
        Value::Map(vec![("a".into(), Value::Map(vec![]))]),
    ];
    for value in values {
        let reply = parent.call_values("echo", std::slice::from_ref(&value)).await.unwrap();
        assert_eq!(reply.value(), Ok(value));
    }
    assert!(parent.call::<f64>("echo", (f64::NAN,)).await.unwrap().is_nan());
    let big = "x".repeat(10_000_000);
    assert!(parent.call::<String>("echo", (&big,)).await == Ok(big));
    for (function, args, words) in [
        ("fail", vec!["no luck"], "no luck"),
        ("nope", vec![], "Function 'nope' not found"),
        ("_secret", vec![], "Cannot call private method '_secret'"),
        ("", vec![], "Message missing 'function'"),
    ] {
        let Err(Error::Remote(text)) = parent.call::<()>(function, args).await else {
            panic!("{function} did not fail");
        };
        assert!(text.contains(words) && text.contains('\n'), "with a traceback: {text}");
    }
    let short = Some(Duration::from_millis(200));
    let other = CallOptions { namespace: Some("other".into()), timeout: short, client_name: None };
    let error = parent.call_with(&other, "add", (1, 2)).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error}");
    let calls = (0..1000).map(|n| {
        let parent = parent.clone();
        tokio::spawn(async move { parent.call::<i64>("add", (n, 1)).await })
    });
    for (n, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), Ok(n as i64 + 1));
    }
}

#[tokio::test]
async fn s26_2_a_rust_parent_spawns_foreign_workers() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = heard.clone();
        let mut options = peer.options();
        options.output = Arc::new(move |it| hear.lock().unwrap().push(it.to_string()));
        let parent = Parent::spawn(peer.worker(), options).unwrap();
        check(&parent).await;
        assert_eq!(parent.call("say", ("hello",)).await, Ok(()));
        let name = peer.script("worker").file_name().unwrap().to_string_lossy().into_owned();
        let hello = |stream| format!("[{name} {stream}]: hello");
        assert_eq!(*heard.lock().unwrap(), [hello("STDOUT"), hello("STDERR")]);
        let pid = parent.process_id().unwrap();
        parent.stop().await;
        assert!(!is_alive(pid));
    }
}

#[tokio::test]
async fn s26_5_a_rust_parent_finds_foreign_services() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let service = peer.run_script("worker", &["--service", "math"]);
        let parent = Parent::connect("math", peer.options()).await.unwrap();
        check(&parent).await;
        drop(service);
        until(|| !parent.is_connected()).await;
        assert_eq!(peer.registry().find("math"), None, "the dead are told from the living");
    }
}

#[test]
fn s26_6_foreign_parents_spawn_a_rust_worker() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let mut parent = peer.run_script("parent", &["spawn", RUST]);
        assert_eq!(parent.says(), "all as expected\n");
    }
}

#[test]
fn s24_5_foreign_parents_find_a_rust_service() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let folder = peer.home.path().join(".multifrost");
        let mut service = peer.start(Path::new(RUST), &["math", folder.to_str().unwrap()]);
        let mut parent = peer.run_script("parent", &["connect", "math"]);
        assert_eq!(parent.says(), "all as expected\n");
        assert_eq!(service.says(), "", "the parent has shut it down");
        assert_eq!(peer.registry().find("math"), None);
    }
}

#[tokio::test]
async fn a_foreign_worker_that_dies_fails_its_calls_at_once() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let parent = Parent::spawn(peer.worker(), peer.options()).unwrap();
        assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
        let error = parent.call::<()>("crash", (3,)).await.unwrap_err();
        let Error::Exited(exit) = &error else { panic!("{error}") };
        assert_eq!(exit.status, "exit status: 3");
        assert!(exit.stderr.contains(&"these are my last words".into()), "{error}");
    }
}

#[tokio::test]
async fn a_rust_worker_ends_with_a_parent_that_is_killed() {
    let Some(peer) = Peer::of(Python) else { return };
    let script = "import sys, time, parent; it = parent.Parent(); it.spawn(sys.argv[1:])\n\
                  print(it.call('pid'), flush=True); time.sleep(600)";
    let mut command = Command::new(&peer.interpreter);
    command.args(["-c", script, RUST]).current_dir(peer.home.path()).stdout(Stdio::piped());
    let mut parent = Running(command.spawn().unwrap());
    let mut line = String::new();
    let out = parent.0.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let pid = line.trim().parse().unwrap();
    assert!(is_alive(pid));
    drop(parent);
    until(|| !is_alive(pid)).await;
}

#[tokio::test]
async fn s10_2_3_twenty_services_of_three_languages_register_at_once() {
    let Some(python) = Peer::of(Python) else { return };
    let folder = python.home.path().join(".multifrost");
    let script = python.home.path().join("worker.mjs");
    let mut services: Vec<Running> = Vec::new();
    for n in 0..20 {
        let name = format!("service-{n}");
        services.push(match n % 4 {
            0 => python.run_script("worker", &["--service", &name]),
            1 => python.start(Path::new("node"), &[script.to_str().unwrap(), "--service", &name]),
            _ => python.start(Path::new(RUST), &[&name, folder.to_str().unwrap()]),
        });
    }
    let registry = python.registry();
    let found = || (0..20).filter(|n| registry.find(&format!("service-{n}")).is_some()).count();
    until(|| found() == 20).await;
    // Some die without a word, and the others are still there.
    services.truncate(14);
    assert_eq!(found(), 14);
    for n in 0..14 {
        let parent = Parent::connect(&format!("service-{n}"), python.options()).await.unwrap();
        assert_eq!(parent.call("add", (n, 1)).await, Ok(n + 1));
    }
    drop(services);
    assert_eq!(found(), 0);
    let _one = registry.register("service-0", 5555).unwrap();
    assert_eq!(found(), 1);
}
