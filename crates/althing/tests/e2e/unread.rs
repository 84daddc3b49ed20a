//! Services whose output nobody reads: they end when they are asked to, and leave nothing.

use crate::harness::{Home, signal, unread::FullPipe, unread::wait_until_it_hears};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

/// Requests of a client that reads no answer: the answers are many times what a pipe holds.
const REQUESTS: u64 = 2_000;

/// Starts a service with outputs that nobody reads, sends it `input`, asks it to end and waits.
#[track_caller]
fn check(args: &[&str], input: String) {
    let home = Home::new();
    let ((_out, stdout), (_err, stderr)) = (FullPipe::open(), FullPipe::open());
    let mut command = home.command(args);
    command.stdin(Stdio::piped()).stdout(stdout).stderr(stderr);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut stdin = child.stdin.take().unwrap();
    // It may end before it has read all; until then its input stays open.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).map(|()| stdin));
    wait_until_it_hears(&mut child);
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    drop(writer.join().unwrap());
    home.is_left();
}

fn requests(method: &str) -> String {
    let request = |id| json!({ "jsonrpc": "2.0", "id": id, "method": method });
    (0..REQUESTS).map(|id| format!("{}\n", request(id))).collect()
}

#[test]
fn a_service_ends_whoever_reads_its_greeting() {
    check(&["serve", "--http", "127.0.0.1:0", "--no-dbus"], String::new());
}

#[test]
fn a_backend_ends_whoever_reads_its_answers() {
    check(&["--ipc"], requests("get_config"));
}

#[test]
fn an_mcp_server_ends_whoever_reads_its_answers() {
    let who = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    check(&["mcp"], format!("{hello}\n{begun}\n{}", requests("tools/list")));
    check(&["mcp"], String::new());
}
