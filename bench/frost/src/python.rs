//! A parent and a child in Python, which measure themselves.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Done;
use crate::subject::Round;

/// The interpreter that has pyzmq and msgpack, as the test command installs it.
pub fn find() -> Option<PathBuf> {
    let peers = match std::env::var_os("ALTHING_PEERS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers"),
    };
    Some(peers.join("frost/bin/python")).filter(|it| it.is_file())
}

pub fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pingpong.py")
}

pub struct Python {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Python {
    pub fn start(python: &Path) -> Done<Python> {
        let mut command = Command::new(python);
        command.arg(script()).arg("parent").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().ok_or("no output")?);
        Ok(Python { process, input, output })
    }

    /// One line in, for how long to measure, and one out.
    fn round(&mut self, slice: Duration) -> Done<Round> {
        writeln!(self.input.as_ref().ok_or("no input")?, "{}", slice.as_secs_f64())?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let figures: Vec<f64> = line.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        let [small, small_p50, small_p99, flight, big, big_p50] = figures[..] else {
            return Err(format!("Python said: {line}").into());
        };
        Ok(Round { small, small_p50, small_p99, flight, big, big_p50 })
    }
}

impl crate::Subject for Python {
    fn small(&mut self) -> Done<()> {
        Err("it measures itself".into())
    }

    fn big(&mut self) -> Done<()> {
        Err("it measures itself".into())
    }

    fn flight(&mut self, _until: Instant) -> Done<usize> {
        Err("it measures itself".into())
    }

    fn by_itself(&mut self, slice: Duration) -> Option<Done<Round>> {
        Some(self.round(slice))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // The end of its input ends it, and its child.
        drop(self.input.take());
        let _ = self.process.wait();
    }
}
