//! A client in Python: one process, one connection, calls side by side. `peers/dbus/drive.py`.

use super::bus::Bus;
use super::requests::table::shaped;
use super::types::untyped;
use crate::harness::{peers, unless_missing};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The wait for one line: longer than any call may wait.
const LINE_MAX: Duration = Duration::from_secs(60);

/// What a call came to: the reply's first value, or the error's name and text.
pub type Reply = Result<Value, (String, String)>;

pub struct Python {
    pub child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    unheard: VecDeque<Value>,
    /// Every line so far, answers and signals.
    pub heard: String,
    calls: u64,
}

impl Drop for Python {
    fn drop(&mut self) {
        // Already gone is fine too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Python {
    /// None where the peer was not installed and need not be.
    pub fn start(bus: &Bus) -> Option<Python> {
        let program = peers().join("dbus/bin/python");
        let program = unless_missing(program.exists().then_some(program), "dbus-next")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/dbus/drive.py");
        let mut command = bus.home.foreign(&program);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            while lines.next().is_some_and(|line| sender.send(line).is_ok()) {}
        });
        let mut python = Python {
            child,
            input,
            lines,
            unheard: VecDeque::new(),
            heard: String::new(),
            calls: 0,
        };
        python.wait(|line| line.get("ready").is_some());
        Some(python)
    }

    /// Begins a call; `answer` waits for its end.
    pub fn begin(&mut self, interface: &str, method: &str, body: &Value) -> u64 {
        self.send(json!({"interface": interface, "method": method, "body": body}))
    }

    pub fn answer(&mut self, id: u64) -> Reply {
        Python::reply(self.wait(|line| line["id"] == id))
    }

    /// The next call that ends with an error, whichever it is.
    pub fn refusal(&mut self) -> (String, String) {
        Python::reply(self.wait(|line| line.get("error").is_some())).unwrap_err()
    }

    fn reply(mut line: Value) -> Reply {
        match line["error"].as_str() {
            Some(error) => Err((error.into(), line["text"].as_str().unwrap_or_default().into())),
            None => Ok(untyped(line["reply"][0].take())),
        }
    }

    pub fn call(&mut self, interface: &str, method: &str, body: &Value) -> Reply {
        let id = self.begin(interface, method, body);
        self.answer(id)
    }

    /// A request as one message, which must not be refused.
    #[track_caller]
    pub fn ask(&mut self, request: &str, fields: Value) -> Value {
        self.call("Messages", request, &json!([fields])).unwrap_or_else(|e| panic!("{e:?}"))
    }

    /// A request in either form, which must not be refused.
    #[track_caller]
    pub fn ask_in(&mut self, typed: bool, request: &str, fields: &Value) -> Value {
        let (interface, _, body) = shaped(typed, request, fields).expect("it has both forms");
        self.call(interface, request, &body).unwrap_or_else(|e| panic!("{e:?}"))
    }

    /// The next line of the descriptor that came last.
    pub fn line(&mut self) -> Value {
        let id = self.send(json!({"line": true}));
        let line = self.wait(|line| line["id"] == id);
        serde_json::from_str(line["line"].as_str().unwrap()).unwrap()
    }

    /// Waits for a signal.
    pub fn signal(&mut self, name: &str) -> Value {
        self.wait(|line| line["signal"] == name)["body"][0].take()
    }

    fn send(&mut self, mut line: Value) -> u64 {
        self.calls += 1;
        line["id"] = self.calls.into();
        writeln!(self.input, "{line}").unwrap();
        self.calls
    }

    fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unheard.iter().position(&is_it) {
            return self.unheard.remove(at).unwrap();
        }
        loop {
            let line = self.lines.recv_timeout(LINE_MAX).expect("the client says nothing");
            self.heard += &line;
            self.heard.push('\n');
            let line = serde_json::from_str(&line).unwrap();
            if is_it(&line) {
                return line;
            }
            self.unheard.push_back(line);
        }
    }
}
