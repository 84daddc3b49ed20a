//! The binary as a backend, spoken to over its pipes. The bounds only catch a hang.

use crate::harness::{Done, Home, really_wait, signal};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The wait for one line. A run of a few models takes milliseconds.
const LINE_MAX: Duration = Duration::from_secs(20);
/// The end is promised within a second; this is twenty times that.
const EXIT_MAX: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);

/// A backend, ended when the test is over.
pub struct Backend {
    child: Child,
    input: Option<ChildStdin>,
    /// As many as it says: a client that reads.
    lines: Receiver<std::io::Result<String>>,
    /// Read while something else was waited for.
    unheard: VecDeque<Value>,
    errors: PathBuf,
    requests: u64,
}

impl Drop for Backend {
    fn drop(&mut self) {
        // Already gone is fine too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Backend {
    /// Starts it and hears that it is ready.
    pub fn start(home: &Home) -> Backend {
        Backend::start_as(home, &["--ipc"])
    }

    pub fn start_as(home: &Home, args: &[&str]) -> Backend {
        let (mut backend, output) = Backend::start_unread(home, args);
        backend.read(output);
        backend.hears_ready();
        backend
    }

    /// It says that it is ready, and nothing before that.
    pub fn hears_ready(&mut self) {
        let ready = self.next();
        let params = json!({"version": env!("CARGO_PKG_VERSION"), "protocol_version": "1.0.0"});
        assert_eq!(ready, json!({"jsonrpc": "2.0", "method": "ready", "params": params}));
    }

    /// Starts it with nobody who reads what it says.
    pub fn start_unread(home: &Home, args: &[&str]) -> (Backend, ChildStdout) {
        let mut backend = Backend::start_into(home, args, Stdio::piped());
        let output = backend.child.stdout.take().unwrap();
        (backend, output)
    }

    /// Starts it with `output` for what it says.
    pub fn start_into(home: &Home, args: &[&str], output: Stdio) -> Backend {
        let errors = home.path().join(format!("stderr-{}", fastrand::u64(..)));
        let mut command = home.command(args);
        command.stdin(Stdio::piped()).stdout(output).stderr(File::create(&errors).unwrap());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let (lines, unheard) = (channel().1, VecDeque::new());
        Backend { child, input, lines, unheard, errors, requests: 0 }
    }

    /// Returns when it waits for something: by its state it sleeps.
    pub fn until_it_waits(&self) {
        let stat = format!("/proc/{}/stat", self.child.id());
        for _ in 0..EXIT_MAX.as_millis() / POLL.as_millis() {
            let line = std::fs::read_to_string(&stat).unwrap();
            if line.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S")) {
                return;
            }
            really_wait(POLL);
        }
        panic!("it did not wait within {EXIT_MAX:?}");
    }

    /// Begins to read what it says.
    pub fn read(&mut self, output: impl Read + Send + 'static) {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).lines();
            while lines.next().is_some_and(|line| sender.send(line).is_ok()) {}
        });
        self.lines = lines;
    }

    /// Closes its output and asks on until it notices. The reader closes with the next line, and a
    /// process that another test is just starting may hold our end a moment longer.
    pub fn stop_reading(&mut self) {
        self.lines = channel().1;
        for _ in 0..EXIT_MAX.as_millis() / POLL.as_millis() {
            let request = json!({"jsonrpc": "2.0", "id": "x", "method": "get_config"});
            // An error means that it has ended.
            if writeln!(self.input.as_mut().unwrap(), "{request}").is_err() {
                return;
            }
            really_wait(POLL);
        }
        panic!("it did not notice that nobody reads");
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Asks and gives the id to wait for.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = json!(self.requests);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(format!("{request}\n").as_bytes());
        id
    }

    /// The answer to a request.
    pub fn answer(&mut self, id: &Value) -> Value {
        self.first(|message| message.get("id") == Some(id))
    }

    /// Asks and waits for the result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(&id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Begins a discussion of three.
    pub fn discuss(&mut self, question: &str) -> Value {
        let ids: Vec<&str> = crate::harness::THREE.split(',').collect();
        self.ask("run_discussion", json!({"question": question, "model_ids": ids}))
    }

    /// The parameters of the next event of this name; what came before it is left for later.
    pub fn event(&mut self, name: &str) -> Value {
        self.first(|message| message["method"] == name)["params"].take()
    }

    fn first(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unheard.iter().position(&is_it) {
            return self.unheard.remove(at).unwrap();
        }
        loop {
            let message = self.hear();
            if is_it(&message) {
                return message;
            }
            self.unheard.push_back(message);
        }
    }

    /// The next message, in the order of the wire.
    pub fn next(&mut self) -> Value {
        self.unheard.pop_front().unwrap_or_else(|| self.hear())
    }

    fn hear(&mut self) -> Value {
        let line = self.lines.recv_timeout(LINE_MAX);
        let line = line.unwrap_or_else(|e| panic!("{e}; on stderr: {}", self.errors()));
        read_line(&line.unwrap())
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// The most memory it ever had.
    pub fn peak_mb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Its input, for another thread to write to.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    /// Closes its input and waits for its end.
    pub fn leave(mut self) -> Done {
        drop(self.input.take());
        self.end()
    }

    /// Waits for its end. `out` has the lines that nobody heard, each of them JSON.
    pub fn end(mut self) -> Done {
        let code = wait_for_exit(&mut self.child).code();
        let mut out: String = self.unheard.iter().map(|message| format!("{message}\n")).collect();
        while let Ok(line) = self.lines.recv_timeout(LINE_MAX) {
            out.push_str(&format!("{}\n", read_line(&line.unwrap())));
        }
        Done { code, out, err: self.errors() }
    }
}

/// A line of the protocol: there is nothing else on its standard output.
fn read_line(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    message
}

/// Waits for the end of a child, for so long.
pub fn wait_for_exit(child: &mut Child) -> std::process::ExitStatus {
    for _ in 0..EXIT_MAX.as_millis() / POLL.as_millis() {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        really_wait(POLL);
    }
    panic!("it did not end within {EXIT_MAX:?}");
}
