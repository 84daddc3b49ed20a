//! What a process prints, read to the end so that it never blocks on a full pipe.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::limits::{OUTPUT_LINE_BYTES_MAX, STDERR_LINES_MAX};
use crate::wait::block_on;

/// The last lines of standard error.
#[derive(Debug)]
pub(super) struct Tail {
    lines: Mutex<VecDeque<String>>,
    is_whole: watch::Sender<bool>,
}

impl Default for Tail {
    fn default() -> Tail {
        Tail { lines: Mutex::default(), is_whole: watch::Sender::new(false) }
    }
}

impl Tail {
    pub(super) fn keep(&self, line: &str) {
        let mut lines = self.lock();
        if lines.len() == STDERR_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line.to_string());
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.is_whole.send_replace(true);
    }

    /// Waits until nothing more comes, or for `max`.
    pub(super) fn wait(&self, max: Duration) {
        let mut is_whole = self.is_whole.subscribe();
        // Either way the lines that are there are what there is.
        let _ = block_on(is_whole.wait_for(|is_whole| *is_whole), max);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads lines until the end. One that is too long comes in pieces.
pub(super) fn read(from: Option<impl Read>, tell: impl Fn(&str)) {
    let Some(from) = from else { return };
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = OUTPUT_LINE_BYTES_MAX as u64;
        match reader.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        tell(text.trim_end_matches(['\n', '\r']));
    }
}
