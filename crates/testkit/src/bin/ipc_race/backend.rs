//! A backend as a child process, and a client of it that does as little as a client can, so that
//! what is measured is the backend.

use crate::Failed;
use memchr::memmem;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use tokio::time::Instant;

const RESUME: &str = r#"{"jsonrpc":"2.0","id":"resume","method":"resume_discussion","params":{}}"#;

/// How long a call took, in milliseconds.
pub struct Took {
    /// Without the gaps.
    pub whole: f64,
    /// Spent between the last word of a phase and the end of it, behind the first: a frontend needs
    /// that gap behind the answer to its `resume_discussion`.
    pub gaps: f64,
}

pub struct Backend {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Backend {
    /// Starts it and waits for its `ready`.
    pub fn start(argv: &[String], env: &[(&str, String)]) -> Result<Backend, Failed> {
        let (program, args) = argv.split_first().ok_or("PROGRAM is missing")?;
        let mut child = Command::new(program)
            .args(args)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut backend = Backend { child, stdin, stdout: BufReader::new(stdout), line: vec![] };
        backend.read()?;
        Ok(backend)
    }

    pub fn write(&mut self, line: &str) -> Result<(), Failed> {
        Ok(writeln!(self.stdin, "{line}")?)
    }

    /// One call to its answer, gone on at every pause.
    pub fn call(&mut self, method: &str, params: &Value) -> Result<Took, Failed> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = request.to_string();
        let began = Instant::now();
        let (mut gaps, mut phases, mut last) = (0.0, 0, began);
        self.write(&request)?;
        loop {
            self.read()?;
            let before = std::mem::replace(&mut last, Instant::now());
            // Only what may matter is read as JSON: the words of a discussion are many.
            let may_matter = [&b"\"id\""[..], b"phase_complete"];
            if !may_matter.iter().any(|it| memmem::find(&self.line, it).is_some()) {
                continue;
            }
            let message: Value = serde_json::from_slice(&self.line)?;
            if message["method"] == "phase_complete" {
                phases += 1;
                if phases > 1 {
                    gaps += milliseconds(last - before);
                }
                self.write(RESUME)?;
            } else if message["id"] == 1 {
                return match message.get("error") {
                    Some(error) if !error.is_null() => Err(format!("{method}: {error}").into()),
                    _ => Ok(Took { whole: milliseconds(began.elapsed()) - gaps, gaps }),
                };
            }
        }
    }

    /// Its resident set now.
    pub fn memory_kb(&self) -> Result<u64, Failed> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let row = status.lines().find_map(|row| row.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(row.trim().trim_end_matches(" kB").parse()?)
    }

    pub fn end(self) -> Result<(), Failed> {
        let Backend { mut child, stdin, .. } = self;
        drop(stdin);
        child.wait()?;
        Ok(())
    }

    fn read(&mut self) -> Result<(), Failed> {
        self.line.clear();
        match self.stdout.read_until(b'\n', &mut self.line)? {
            0 => Err("the backend ended by itself".into()),
            _ => Ok(()),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
