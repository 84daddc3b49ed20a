//! What a bad client cannot do: make it forget an answer, grow, hang or stay.

use super::backend::Backend;
use crate::harness::{Home, is_soak, really_wait};
use althing_testkit::upstream::Route;
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};
use std::io::Write;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most memory it may ever have, whatever it is sent: four times what it takes.
const PEAK_MB_MAX: u64 = 100;
/// Requests sent at once.
const PIPELINED: u64 = 10_000;
const PIPELINED_SOAK: u64 = 1_000_000;
/// Requests that hang, half as many again as are at work at a time.
const UNSERVED: u64 = 1500;
/// Bytes of a line that does not end.
const LINE_BYTES: usize = 64 << 20;
const LINE_BYTES_SOAK: usize = 1 << 30;
/// Lines of noise.
const NOISE: u64 = 300;
const NOISE_SOAK: u64 = 100_000;
/// How long a client has not got rid of a byte when it counts as stuck, and how often that is asked
/// for.
const STUCK: Duration = Duration::from_millis(500);
const STUCK_POLLS_MAX: u32 = 100;

fn size<T>(small: T, large: T) -> T {
    if is_soak() { large } else { small }
}

#[track_caller]
fn stayed_small(backend: &Backend) {
    let peak = backend.peak_mb();
    println!("{peak} MB at most");
    assert!(peak < PEAK_MB_MAX, "{peak} MB");
}

/// A cheap request; its id is a text, as real frontends have them.
fn request(id: u64) -> String {
    let methods = ["get_input_history", "get_config", "get_user_settings", "list_models"];
    let method = methods[id as usize % methods.len()];
    format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"{method}\"}}\n")
}

/// Every id has one answer, and no answer is an error.
fn check_answers(backend: &mut Backend, requests: u64) {
    let mut answered = vec![false; requests as usize];
    for _ in 0..requests {
        let answer = backend.next();
        assert!(answer["result"].is_object(), "{answer}");
        let id: usize = answer["id"].as_str().unwrap().parse().unwrap();
        assert!(!std::mem::replace(&mut answered[id], true), "{id} was answered twice");
    }
}

#[test]
fn soak_every_one_of_many_requests_is_answered_once() {
    let home = Home::new();
    let mut backend = Backend::start(&home);
    let requests = size(PIPELINED, PIPELINED_SOAK);
    let input = backend.take_input();
    let writer = std::thread::spawn(move || flood(input, requests, &AtomicU64::new(0)));
    check_answers(&mut backend, requests);
    stayed_small(&backend);
    drop(writer.join().unwrap());
    let done = backend.end();
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
}

/// Writes requests for as long as they are taken.
fn flood(mut input: ChildStdin, requests: u64, written: &AtomicU64) -> ChildStdin {
    for id in 0..requests {
        input.write_all(request(id).as_bytes()).unwrap();
        written.store(id + 1, Ordering::Relaxed);
    }
    input
}

#[test]
fn soak_a_client_that_never_reads_is_made_to_wait() {
    let home = Home::new();
    let (mut backend, output) = Backend::start_unread(&home, &["--ipc"]);
    let input = backend.take_input();
    // Far more answers than may wait to be written.
    let requests = size(10, 30) * PIPELINED;
    let written = Arc::new(AtomicU64::new(0));
    let progress = written.clone();
    let writer = std::thread::spawn(move || flood(input, requests, &progress));
    wait_until_stuck(&written);
    assert!(written.load(Ordering::Relaxed) < requests, "nobody made it wait");
    stayed_small(&backend);
    // It was made to wait and lost nothing by it.
    backend.read(output);
    assert_eq!(backend.next()["method"], "ready");
    check_answers(&mut backend, requests);
    drop(writer.join().unwrap());
    backend.end().ends(0);
}

#[test]
fn a_client_that_never_reads_and_leaves_does_not_keep_it() {
    let home = Home::new();
    let (mut backend, _output) = Backend::start_unread(&home, &["--ipc"]);
    // More answers than a pipe holds, fewer requests.
    (0..1000).for_each(|id| backend.write(request(id).as_bytes()));
    backend.leave().ends(0);
    home.is_left();
}

/// More requests than are served at a time, none of which is ever done.
#[test]
fn a_client_that_asks_too_much_and_leaves_does_not_keep_it() {
    let upstream = Upstream::start(Options::default().mishap(|_| Some("hang")));
    let home = Home::with(&upstream);
    let mut backend = Backend::start(&home);
    for _ in 0..UNSERVED {
        backend.ask("validate_model", json!({"model_id": "openai:ada"}));
    }
    upstream.wait_for_sync(|seen| seen.iter().any(|seen| matches!(seen.route, Route::Chat(_))));
    let done = backend.leave();
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    home.is_left();
}

fn wait_until_stuck(written: &AtomicU64) {
    let mut before = 0;
    for _ in 0..STUCK_POLLS_MAX {
        really_wait(STUCK);
        let now = written.load(Ordering::Relaxed);
        if now > 0 && now == before {
            return;
        }
        before = now;
    }
    panic!("it takes and takes");
}

#[test]
fn soak_noise_is_answered_and_the_stream_goes_on() {
    let home = Home::new();
    let mut backend = Backend::start(&home);
    let known: [&[u8]; 7] =
        [b"\0", b"\0\0{}\0", b"\xff\xfe\xfd", b"\xc3(", b"{\"id\":", b"\"\xed\xa0\x80\"", b"]["];
    known.iter().for_each(|line| check_noise(&mut backend, line));
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..size(NOISE, NOISE_SOAK) {
        let mut line: Vec<u8> = (0..random.usize(1..200)).map(|_| random.u8(..)).collect();
        line.retain(|byte| *byte != b'\n');
        check_noise(&mut backend, &line);
    }
    backend.leave().ends(0);
}

/// At most one error, which nobody asked for, and then the next request as if nothing had been.
fn check_noise(backend: &mut Backend, line: &[u8]) {
    backend.write(&[line, b"\n"].concat());
    let id = backend.ask("get_input_history", json!({}));
    let mut answer = backend.next();
    if answer["id"] != id {
        assert_eq!(answer["id"], Value::Null, "{line:?}: {answer}");
        let code = answer["error"]["code"].as_i64().unwrap();
        assert!([-32700, -32600].contains(&code), "{line:?}: {answer}");
        answer = backend.next();
    }
    assert_eq!((&answer["id"], &answer["result"]), (&id, &json!({"history": []})), "{line:?}");
}

#[test]
fn soak_a_line_that_does_not_end_is_refused_and_never_held() {
    let home = Home::new();
    let mut backend = Backend::start(&home);
    let bytes = size(LINE_BYTES, LINE_BYTES_SOAK);
    let piece = vec![b'a'; 1 << 20];
    (0..bytes / piece.len()).for_each(|_| backend.write(&piece));
    backend.write(b"\n");
    let refusal = backend.next();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&Value::Null, &json!(-32600)));
    let message = refusal["error"]["message"].as_str().unwrap();
    assert!(message.contains(&bytes.to_string()) && message.contains("1000000"), "{message}");
    assert_eq!(backend.call("get_input_history", json!({})), json!({"history": []}));
    stayed_small(&backend);
    // And one that ends with the client.
    backend.write(&piece);
    backend.write(&piece);
    backend.leave().ends(0);
}
