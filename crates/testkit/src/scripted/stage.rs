//! Who was asked what, when, and how it ended: shared by the models of one test.

use althing_chat::Ask;
use std::{
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::time::Instant;

/// Calls on one stage; one more is an endless discussion and panics.
const CALLS_MAX: usize = 10_000;

/// The record of a test. Clones are the same stage. Its clock starts when it is made.
#[derive(Clone)]
pub struct Stage {
    start: Instant,
    record: Arc<Mutex<Record>>,
}

#[derive(Default)]
struct Record {
    calls: Vec<Asked>,
    /// Starts and ends, in the order they happened.
    lines: Vec<String>,
    speaking: usize,
    peak: usize,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub seat: String,
    pub ask: Ask,
    pub start_ms: u64,
    /// `None` while it speaks.
    pub end: Option<End>,
}

impl Asked {
    /// Whether the caller went away before the end.
    pub fn dropped(&self) -> bool {
        self.end.is_some_and(|end| end.how == How::Dropped)
    }
}

/// When and how a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub ms: u64,
    pub how: How,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// With a stop, a refusal included.
    Stopped,
    Failed,
    /// Without a stop.
    Cut,
    /// The caller dropped the stream before its end.
    Dropped,
}

impl Default for Stage {
    fn default() -> Stage {
        Stage { start: Instant::now(), record: Arc::default() }
    }
}

impl Stage {
    /// A line for every start and end, in order: `50ms ada ends`.
    pub fn log(&self) -> String {
        self.record().lines.iter().fold(String::new(), |mut log, line| {
            writeln!(log, "{line}").expect("a string takes every line");
            log
        })
    }

    /// Every call, in order.
    pub fn calls(&self) -> Vec<Asked> {
        self.record().calls.clone()
    }

    /// The most models that spoke at once.
    pub fn peak(&self) -> usize {
        self.record().peak
    }

    pub(super) fn asks(&self, seat: &str) -> Vec<Asked> {
        self.record().calls.iter().filter(|call| call.seat == seat).cloned().collect()
    }

    /// Notes that `seat` starts; says how many calls it had before.
    pub(super) fn enter(&self, seat: &str, ask: Ask) -> (usize, Cue) {
        let start_ms = self.now_ms();
        let mut record = self.record();
        let call = record.calls.len();
        assert!(call < CALLS_MAX, "{call} calls: the discussion has no end");
        let before = record.calls.iter().filter(|call| call.seat == seat).count();
        record.calls.push(Asked { seat: seat.to_owned(), ask, start_ms, end: None });
        record.lines.push(format!("{start_ms}ms {seat} starts"));
        record.speaking += 1;
        record.peak = record.peak.max(record.speaking);
        (before, Cue { stage: self.clone(), call })
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A failed assertion elsewhere must not hide behind a poisoned lock.
        self.record.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A call that is on. Dropped before `end`, its caller went away.
pub(super) struct Cue {
    stage: Stage,
    call: usize,
}

impl Cue {
    /// Notes the end; only the first counts.
    pub(super) fn end(&self, how: How) {
        let ms = self.stage.now_ms();
        let mut record = self.stage.record();
        let call = &mut record.calls[self.call];
        if call.end.is_some() {
            return;
        }
        call.end = Some(End { ms, how });
        let verb = match how {
            How::Stopped => "ends",
            How::Failed => "fails",
            How::Cut => "breaks off",
            How::Dropped => "is dropped",
        };
        let line = format!("{ms}ms {} {verb}", call.seat);
        record.lines.push(line);
        record.speaking -= 1;
    }
}

impl Drop for Cue {
    fn drop(&mut self) {
        self.end(How::Dropped);
    }
}
