//! Output that nobody reads.

use super::really_wait;
use std::io::{PipeReader, Read, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

/// What a pipe of the system holds.
const PIPE_BYTES: usize = 64 << 10;
/// Polls for a handler of signals; each is 10 ms.
const POLLS_MAX: u32 = 3_000;
/// The place of SIGTERM in the system's mask.
const TERMINATE: u32 = 15;

/// A pipe that is full from the start: whatever is printed into it waits.
pub struct FullPipe(PipeReader);

impl FullPipe {
    pub fn open() -> (FullPipe, Stdio) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&[b' '; PIPE_BYTES]).unwrap();
        (FullPipe(reader), writer.into())
    }

    /// Reads after all what was printed, to its end.
    pub fn read(mut self) -> String {
        let mut text = String::new();
        self.0.read_to_string(&mut text).unwrap();
        text.split_off(PIPE_BYTES)
    }
}

/// Waits until a process has said that it hears signals, or is over.
pub fn wait_until_it_hears(child: &mut Child) {
    let path = format!("/proc/{}/status", child.id());
    for _ in 0..POLLS_MAX {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(caught.unwrap_or("0").trim(), 16).unwrap();
        if mask >> (TERMINATE - 1) & 1 == 1 || child.try_wait().unwrap().is_some() {
            return;
        }
        really_wait(Duration::from_millis(10));
    }
    panic!("it hears no signal");
}
