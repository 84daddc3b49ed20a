//! Messages that came together: their answers go back together, when the last is there.

use crate::message::{self, Incoming, Invalid};
use serde_json::value::RawValue;
use std::sync::{Mutex, PoisonError};

/// Messages of one batch; a longer one is refused as a whole.
pub(crate) const BATCH_MESSAGES_MAX: usize = 1_000;

/// The answers of one batch.
#[derive(Debug)]
pub(crate) struct Batch {
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    left: usize,
    answers: Vec<String>,
}

/// The messages of a batch; none if the body is no batch that can be taken.
pub(crate) fn split(body: &[u8]) -> Option<Vec<Result<Incoming, Invalid>>> {
    if !body.trim_ascii_start().starts_with(b"[") {
        return None;
    }
    let all: Vec<&RawValue> = serde_json::from_slice(body).ok()?;
    let fits = (1..=BATCH_MESSAGES_MAX).contains(&all.len());
    fits.then(|| all.iter().map(|one| message::parse(one.get().as_bytes())).collect())
}

impl Batch {
    /// One that waits for so many answers.
    pub(crate) fn new(answers: usize) -> Batch {
        Batch { open: Mutex::new(Open { left: answers, answers: Vec::with_capacity(answers) }) }
    }

    /// Adds an answer; with the last one they are all given back as one body.
    pub(crate) fn add(&self, answer: String) -> Option<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.answers.push(answer);
        open.left = open.left.saturating_sub(1);
        (open.left == 0).then(|| format!("[{}]", open.answers.join(",")))
    }
}
