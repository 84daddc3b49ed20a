//! Tells what a worker prints, on a thread of its own: whoever is told may be slow, and neither the
//! worker nor its answers wait for that.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::options::{Output, Stream};
use crate::limits::OUTPUT_BYTES_MAX;

/// What a line that waits counts beside its text.
const LINE_BYTES: usize = 64;
/// How long the thread waits for a further line before it ends; the next line starts another.
const IDLE_MAX: Duration = Duration::from_secs(1);

type Tell = Arc<dyn Fn(Output<'_>) + Send + Sync>;

pub(super) struct Teller(Arc<Inner>);

struct Inner {
    worker: String,
    tell: Tell,
    state: Mutex<State>,
    /// Told to the thread, and to whoever waits until all is told.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<(Stream, String)>,
    bytes: usize,
    left_out: usize,
    has_thread: bool,
    is_telling: bool,
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Teller({})", self.0.worker)
    }
}

impl Teller {
    pub(super) fn new(worker: &str, tell: Tell) -> Teller {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Teller(Arc::new(Inner { worker: worker.into(), tell, state, changed }))
    }

    /// Never waits. What there is no room for is counted.
    pub(super) fn tell(&self, stream: Stream, text: &str) {
        let mut state = self.0.lock();
        let bytes = text.len() + LINE_BYTES;
        if state.bytes + bytes > OUTPUT_BYTES_MAX {
            state.left_out += 1;
        } else {
            state.bytes += bytes;
            state.lines.push_back((stream, text.into()));
        }
        if !state.has_thread {
            let inner = self.0.clone();
            let thread = thread::Builder::new().name("multifrost-output".into());
            // Without a thread the next line tries again.
            state.has_thread = thread.spawn(move || inner.run()).is_ok();
        }
        self.0.changed.notify_all();
    }

    /// Waits until all is told, or for `max`.
    pub(super) fn flush(&self, max: Duration) {
        let is_busy =
            |state: &mut State| state.has_thread && (state.has_line() || state.is_telling);
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), max, is_busy);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    fn has_line(&self) -> bool {
        !self.lines.is_empty() || self.left_out > 0
    }

    fn take(&mut self) -> Option<(Stream, String)> {
        if let Some((stream, text)) = self.lines.pop_front() {
            self.bytes -= text.len() + LINE_BYTES;
            return Some((stream, text));
        }
        let left_out = std::mem::take(&mut self.left_out);
        (left_out > 0).then(|| (Stream::Err, format!("[{left_out} lines more were left out]")))
    }
}

impl Inner {
    fn run(&self) {
        let mut state = self.lock();
        loop {
            let is_idle = |state: &mut State| !state.has_line();
            let waited = self.changed.wait_timeout_while(state, IDLE_MAX, is_idle);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let Some((stream, text)) = state.take() else {
                state.has_thread = false;
                return;
            };
            state.is_telling = true;
            drop(state);
            let told = Told(self);
            (self.tell)(Output { worker: &self.worker, stream, text: &text });
            drop(told);
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever is told may panic: that ends the thread, and the next line starts another.
struct Told<'a>(&'a Inner);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_telling = false;
        state.has_thread = !thread::panicking();
        drop(state);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn who_is_told_slowly_holds_up_nobody_and_learns_what_was_left_out() {
        let (heard, told) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let tell = move |output: Output<'_>| {
            let _ = gate.lock().unwrap().recv();
            heard.send(output.text.to_string()).unwrap();
        };
        let teller = Teller::new("slow", Arc::new(tell));
        let line = "x".repeat(OUTPUT_BYTES_MAX / 4);
        teller.tell(Stream::Out, "first");
        // The first one is being told, or waits with the others.
        (0..9).for_each(|_| teller.tell(Stream::Out, &line));
        teller.flush(Duration::ZERO);
        drop(go);
        let told: Vec<String> = (0..5).map(|_| told.recv().unwrap()).collect();
        assert_eq!(told[0], "first");
        assert!(told[1..4].iter().all(|it| *it == line));
        assert_eq!(told[4], "[6 lines more were left out]");
    }
}
