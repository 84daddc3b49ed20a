//! `althing mcp` by hand: a process that lives as long as the test wants, whose workers do too.

use crate::harness::{Home, really_wait};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// How often something may be found not to be so yet: twenty seconds, to catch a hang.
const POLLS_MAX: usize = 400;

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..POLLS_MAX {
        if is_so() {
            return;
        }
        really_wait(Duration::from_millis(50));
    }
    panic!("never: {what}");
}

pub struct Session {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Session {
    pub fn start(home: &Home) -> Session {
        let mut child = home.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut session = Session { child, stdin, stdout: BufReader::new(stdout), last: 0 };
        let hello = session.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        session.answer(hello);
        session.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, message: Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Says that nobody waits for an answer any more.
    pub fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id });
        self.send(json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
        }));
    }

    #[track_caller]
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// What a tool gives, as text; errors too.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        self.text(id)
    }

    /// What came of a tool.
    #[track_caller]
    pub fn text(&mut self, id: u64) -> String {
        let answer = self.answer(id);
        answer["result"]["content"][0]["text"].as_str().unwrap_or(&answer.to_string()).into()
    }

    pub fn leave(self) {
        let Session { mut child, stdin, .. } = self;
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}
