//! Peers whose sockets we did not write: Python with pyzmq and msgpack, Node with zeromq and
//! msgpackr, as they stand in `examples/workers`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

#[path = "support/peer.rs"]
mod peer;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use multifrost::parent::{CallOptions, Options};
use multifrost::{Error, Parent, Value};
use peer::{Node, Peer, Python, RUST, Running, is_alive, until};

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
        f64::NEG_INFINITY.into(),
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
    for value in [Value::from(big.as_str()), big.as_bytes().into()] {
        let reply = parent.call_values("echo", std::slice::from_ref(&value)).await.unwrap();
        assert!(reply.value() == Ok(value), "10 MB");
    }
    // What has more than 64 bits cannot be sent, which is an error and no silence.
    assert_eq!(parent.call("power", (2, 63)).await, Ok(1_u64 << 63));
    let error = parent.call::<()>("power", (2, 64)).await.unwrap_err();
    assert!(matches!(error, Error::Remote(_)), "{error}");
    for (function, args, words) in [
        ("fail", vec!["no luck"], "no luck"),
        ("nope", vec![], "Function 'nope' not found"),
        ("_secret", vec![], "Cannot call private method '_secret'"),
        ("", vec![], "Message missing 'function'"),
    ] {
        let Err(Error::Remote(text)) = parent.call::<()>(function, args).await else {
            panic!("{function} did not fail");
        };
        assert!(text.text().contains(words) && text.trace().is_some(), "with a traceback: {text}");
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
    // It knows no extensions: a stream is the items of a list, and a call that is given up runs on.
    let items = parent.stream::<i64>("echo", (vec![1, 2, 3],)).await.unwrap();
    let items: Vec<_> = futures_util::StreamExt::collect(items.into_stream()).await;
    assert_eq!(items, [Ok(1), Ok(2), Ok(3)]);
    let given_up = CallOptions { timeout: short, ..CallOptions::default() };
    let error = parent.call_with(&given_up, "sleep", (0.3,)).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error}");
}

type Heard = Arc<Mutex<Vec<String>>>;

fn hearing(mut options: Options) -> (Options, Heard) {
    let heard = Heard::default();
    let hear = heard.clone();
    options.output = Arc::new(move |it| hear.lock().unwrap().push(it.to_string()));
    (options, heard)
}

async fn check_output(parent: &Parent, heard: &Heard, name: &str) {
    assert_eq!(parent.call("say", ("hello",)).await, Ok(()));
    let hello = |stream| format!("[{name} {stream}]: hello");
    until(|| heard.lock().unwrap().len() == 2).await;
    assert_eq!(*heard.lock().unwrap(), [hello("STDOUT"), hello("STDERR")]);
}

#[tokio::test]
async fn s26_2_a_rust_parent_spawns_foreign_workers() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let (options, heard) = hearing(peer.options());
        let parent = Parent::spawn(peer.worker(), options).unwrap();
        check(&parent).await;
        let name = peer.script("worker").file_name().unwrap().to_string_lossy().into_owned();
        check_output(&parent, &heard, &name).await;
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
        let (options, heard) = hearing(peer.options());
        let parent = Parent::connect("math", options).await.unwrap();
        check(&parent).await;
        check_output(&parent, &heard, "math").await;
        let sleeping = parent.clone();
        let pending = tokio::spawn(async move { sleeping.call::<()>("sleep", (600,)).await });
        // Now it runs, and sends before it waits.
        tokio::task::yield_now().await;
        drop(service);
        let lost = pending.await.unwrap();
        assert!(matches!(lost, Err(Error::Disconnected(_))), "{lost:?}");
        assert_eq!(peer.registry().find("math"), None, "the dead are told from the living");
    }
}

#[tokio::test]
async fn s24_6_foreign_services_that_are_asked_to_end_unregister() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let mut service = peer.run_script("worker", &["--service", "math"]);
        let parent = Parent::connect("math", peer.options()).await.unwrap();
        assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
        let pid = service.0.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        assert!(service.0.wait().unwrap().success());
        let left = std::fs::read_to_string(peer.home.path().join(".multifrost/services.json"));
        assert_eq!(left.unwrap().trim(), "{}");
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

#[test]
fn s38_4_an_old_parent_is_told_that_a_service_wants_a_token() {
    let Some(peer) = Peer::of(Python) else { return };
    let folder = peer.home.path().join(".multifrost");
    let mut service = Command::new(RUST);
    service.arg("math").arg(folder).env("FROST_TOKEN", "secret").env_remove("COMLINK_ZMQ_PORT");
    let _service = Running(service.spawn().unwrap());
    let script = "import parent; it = parent.Parent(); it.connect('math')\n\
                  try: it.call('add', 1, 2)\n\
                  except parent.RemoteCallError as error: print(error)\n\
                  it.send('shutdown'); print(it.wait(it.send('heartbeat'))['type'])";
    let mut command = Command::new(&peer.interpreter);
    command.args(["-c", script]).current_dir(peer.home.path()).env("HOME", peer.home.path());
    let mut parent = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    assert_eq!(parent.says(), "Authentication required\nheartbeat\n", "and it lives on");
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

        let parent = Parent::spawn(peer.worker(), peer.options()).unwrap();
        let pid: u32 = parent.call("pid", ()).await.unwrap();
        let sleeping = parent.clone();
        let pending = tokio::spawn(async move { sleeping.call::<()>("sleep", (600,)).await });
        tokio::task::yield_now().await;
        let pid = pid.to_string();
        assert!(Command::new("kill").args(["-s", "KILL", &pid]).status().unwrap().success());
        let Err(Error::Exited(exit)) = pending.await.unwrap() else { panic!("it lives") };
        assert_eq!(exit.status, "signal: 9 (SIGKILL)");
    }
}

/// Kills a parent that has printed the process id of its worker.
fn kill_parent(command: &mut Command) -> u32 {
    let mut parent = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    let out = parent.0.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let pid = line.trim().parse().unwrap();
    assert!(is_alive(pid));
    drop(parent);
    pid
}

/// A worker that was spawned ends with its parent.
async fn check_orphan(command: &mut Command) {
    let pid = kill_parent(command);
    until(|| !is_alive(pid)).await;
}

/// A service lives on, and serves others.
async fn check_left(peer: &Peer, command: &mut Command, service: &Running) {
    assert_eq!(kill_parent(command), service.0.id());
    let parent = Parent::connect("math", peer.options()).await.unwrap();
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    assert_eq!(parent.call("pid", ()).await, Ok(service.0.id()));
}

#[tokio::test]
async fn s10_2_2_a_rust_service_lives_on_when_a_foreign_parent_is_killed() {
    for (language, option, script) in [
        (
            Python,
            "-c",
            "import time, parent; it = parent.Parent(); it.connect('math')\n\
             print(it.call('pid'), flush=True); time.sleep(600)",
        ),
        (
            Node,
            "--eval",
            "import('./parent.mjs').then(async ({ Parent }) => { const it = new Parent();\n\
             await it.connect('math'); it.read(); console.log(await it.call('pid')); })",
        ),
    ] {
        let Some(peer) = Peer::of(language) else { return };
        let folder = peer.home.path().join(".multifrost");
        let service = peer.start(Path::new(RUST), &["math", folder.to_str().unwrap()]);
        let mut command = Command::new(&peer.interpreter);
        command.args([option, script]).current_dir(peer.home.path()).env("HOME", peer.home.path());
        check_left(&peer, &mut command, &service).await;
    }
}

#[tokio::test]
async fn s10_2_2_foreign_services_live_on_when_a_rust_parent_is_killed() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let service = peer.run_script("worker", &["--service", "math"]);
        let mut command = Command::new(RUST);
        command.args(["connect", "math"]).arg(peer.home.path().join(".multifrost"));
        check_left(&peer, &mut command, &service).await;
    }
}

#[tokio::test]
async fn s11_4_a_name_of_a_live_service_is_taken_by_nobody() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let folder = peer.home.path().join(".multifrost");
        let start = |is_ours: bool| match is_ours {
            true => peer.start(Path::new(RUST), &["math", folder.to_str().unwrap()]),
            false => peer.run_script("worker", &["--service", "math"]),
        };
        for (first, second) in [(true, false), (false, true), (false, false)] {
            let first = start(first);
            until(|| peer.registry().find("math").is_some()).await;
            assert!(!start(second).0.wait().unwrap().success());
            assert_eq!(peer.registry().find("math").unwrap().pid, first.0.id());
        }
    }
}

/// What no caller of ours sends, and what is said to it.
const ODD: &str = "import sys, msgpack, parent; it = parent.Parent(); it.spawn(sys.argv[1:])
assert it.call('add', 1, 2) == 3
send = lambda packed: it.socket.send_multipart([b'', packed])
[send(junk) for junk in (b'', b'\\xc1', b'\\x01', b'\\x90', b'\\xa3abc', b'\\xc0', b'\\x80', b'\\x01\\x02')]
send(msgpack.packb({'app': parent.APP, 'type': 'call', 'function': 'add', 'args': [1, 2]}))
call = lambda id: msgpack.packb({'app': parent.APP, 'id': id, 'type': 'call', 'function': 'add', 'args': [5, 6]})
it.socket.send_multipart([call('no delimiter')])
it.socket.send_multipart([b'', call('one more frame'), b'more'])
assert it.wait('one more frame') == 11
elsewhere = it.begin('add', 1, 2, namespace='other')
assert it.call('add', 3, 4) == 7
assert elsewhere not in it.answers and 'no delimiter' not in it.answers
print([answer['error'] for answer in it.answers.values()])
def error(**fields):
    try: return it.wait(it.send('call', **fields))
    except parent.RemoteCallError as error: return str(error).splitlines()[0].split(': ', 1)[1]
print(error(args=[]), error(function='', args=[]), error(function='_x'), error(function='x'), sep='\\n')
print(error(function=1), error(function='add', args='ab') == error(function=1), it.stop())";

#[test]
fn s4_2_s4_5_s9_3_s9_4_s25_1_s25_2_s35_2_the_starters_keep_to_the_rules() {
    let Some(python) = Peer::of(Python) else { return };
    for (program, script) in
        [(python.interpreter.as_path(), "starter.py"), (Path::new("node"), "starter.mjs")]
    {
        let mut command = Command::new(&python.interpreter);
        command.args(["-c", ODD]).arg(program).arg(python.home.path().join(script));
        command.current_dir(python.home.path()).stdout(Stdio::piped());
        let says = Running(command.spawn().unwrap()).says();
        let wanted = "[\"Message missing 'id' field\"]\nMessage missing 'function' field\n\
                      Message missing 'function' field\nCannot call private method '_x'\n\
                      Function 'x' not found\n\
                      'function' must be a string and 'args' an array True 0\n";
        assert_eq!(says, wanted, "{script}");
    }
}

#[test]
fn s10_1_5_a_starter_without_a_valid_port_ends() {
    let Some(python) = Peer::of(Python) else { return };
    for script in ["starter.py", "starter.mjs"] {
        for port in ["", "x", "80", "65536", "-1"] {
            let mut command = python.command(script);
            let done = command.env("COMLINK_ZMQ_PORT", port).output().unwrap();
            let said = String::from_utf8(done.stderr).unwrap();
            assert_eq!(done.status.code(), Some(1), "{script} {port}: {said}");
            assert!(said.contains("a port from 1024 to 65535"), "{script} {port}: {said}");
        }
    }
}

#[tokio::test]
async fn a_rust_worker_ends_with_a_foreign_parent_that_is_killed() {
    for (language, option, script) in [
        (
            Python,
            "-c",
            "import sys, time, parent; it = parent.Parent(); it.spawn(sys.argv[1:])\n\
             print(it.call('pid'), flush=True); time.sleep(600)",
        ),
        (
            Node,
            "--eval",
            "import('./parent.mjs').then(async ({ Parent }) => { const it = new Parent();\n\
             await it.spawn(process.argv.slice(1)); it.read(); console.log(await it.call('pid')); })",
        ),
    ] {
        let Some(peer) = Peer::of(language) else { return };
        let mut command = Command::new(&peer.interpreter);
        check_orphan(command.args([option, script, RUST]).current_dir(peer.home.path())).await;
    }
}

#[tokio::test]
async fn foreign_workers_end_with_a_rust_parent_that_is_killed() {
    for language in [Python, Node] {
        let Some(peer) = Peer::of(language) else { return };
        let mut command = Command::new(RUST);
        command.arg("parent").arg(&peer.interpreter).arg(peer.script("worker"));
        check_orphan(&mut command).await;
    }
}

#[test]
fn s6_7_1_shutdown_does_not_wait_for_a_call() {
    let Some(peer) = Peer::of(Python) else { return };
    let script = "import sys, parent; it = parent.Parent(); it.spawn(sys.argv[1:])\n\
                  it.call('pid'); it.begin('sleep', 600); it.begin('wait_for_cancel')\n\
                  beat = it.wait(it.send('heartbeat'))\n\
                  print(beat['metadata']['hb_response'], it.stop())";
    let mut command = Command::new(&peer.interpreter);
    command.args(["-c", script, RUST]).current_dir(peer.home.path()).stdout(Stdio::piped());
    assert_eq!(Running(command.spawn().unwrap()).says(), "True 0\n");
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
