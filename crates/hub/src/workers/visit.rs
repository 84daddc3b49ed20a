//! One call of a worker, from its start to its end or to what became of the worker.

use super::told::{is_over, veiled};
use super::value::json;
use super::worker::{LISTS, Worker};
use crate::config::Start;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Result};
use futures_util::stream::{BoxStream, StreamExt, unfold};
use multifrost::parent::{CallOptions, Items};
use multifrost::{Error, Parent};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A worker that let a call time out is asked for its functions; one that does not answer that
/// either within this time hangs, and is ended so that the next call finds a fresh one.
const PROBE_MAX: Duration = Duration::from_secs(1);
/// Characters of a function's name that the log repeats.
const NAME_CHARS_MAX: usize = 100;

/// A call under way. The worker is not idle as long as there is one.
pub(super) struct Visit {
    worker: Arc<Worker>,
    parent: Parent,
    /// Of the worker that is called, which may be another later.
    number: u64,
    is_counted: bool,
    function: String,
    began: Instant,
    is_noted: bool,
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.note("was given up");
        self.end();
    }
}

impl Visit {
    pub(super) fn new(worker: Arc<Worker>, parent: Parent, number: u64, function: &str) -> Visit {
        worker.needed().begin();
        let (function, began) = (one_line(function, NAME_CHARS_MAX), Instant::now());
        Visit { worker, parent, number, is_counted: true, function, began, is_noted: false }
    }

    /// What came of it, for the log; whoever called, and however. Values are nobody's business.
    fn note(&mut self, outcome: &str) {
        if !std::mem::replace(&mut self.is_noted, true) {
            let took_ms = self.began.elapsed().as_millis();
            let text = format!("{} {outcome} after {took_ms} ms", self.function);
            self.worker.log.add("althing", &veiled(&self.worker.config.env, &text));
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_counted) {
            self.worker.needed().end();
        }
    }

    /// What the function gives, within `max`.
    pub(super) async fn call(
        mut self,
        function: &str,
        arguments: &[Value],
        max: Duration,
    ) -> Result<Value> {
        let options = CallOptions { timeout: Some(max), ..CallOptions::default() };
        let done = self.parent.call_with(&options, function, arguments).await;
        match done.and_then(|reply| reply.value().map(|value| json(&value))) {
            Ok(value) => {
                self.note("answered");
                Ok(value)
            }
            Err(error) => Err(self.failed(function, &error).await),
        }
    }

    /// What the function gives, item by item.
    pub(super) async fn items(
        self,
        function: &'static str,
        arguments: &[Value],
    ) -> Result<BoxStream<'static, Result<Value>>> {
        let max = self.worker.timeout();
        let options = CallOptions { timeout: Some(max), ..CallOptions::default() };
        let items: Items<Value> = match self.parent.stream_with(&options, function, arguments).await
        {
            Ok(items) => items,
            Err(error) => return Err(self.failed(function, &error).await),
        };
        // Nothing comes after an error.
        let next = move |state: Option<(Items<Value>, Visit)>| async move {
            let (mut items, mut visit) = state?;
            match items.next().await {
                Some(Ok(item)) => Some((Ok(item), Some((items, visit)))),
                Some(Err(error)) => Some((Err(visit.failed(function, &error).await), None)),
                None => {
                    visit.note("answered");
                    None
                }
            }
        };
        Ok(unfold(Some((items, self)), next).boxed())
    }

    /// What came of a call that failed, and whether the worker can take another.
    async fn failed(mut self, function: &str, error: &Error) -> Fault {
        self.end();
        let fault = self.worker.told(function, error);
        self.note(&format!("failed ({})", fault.kind.name()));
        let is_over = is_over(error) || matches!(error, Error::TimedOut(_)) && self.hangs().await;
        let worker = &self.worker;
        let said = match error {
            // Whole, with its traceback; whoever asked gets the first words.
            Error::Remote(said) => Some(said.text().to_string()),
            // Its last words are there already.
            Error::Exited(exit) => Some(format!("ended: {}", exit.status)),
            error if is_over => Some(format!("ended: {error}")),
            _ => None,
        };
        if let Some(said) = said {
            worker.log.add("althing", &veiled(&worker.config.env, &said));
        }
        if is_over {
            worker.forget(self.number).await;
        }
        fault
    }

    /// Whether it takes no other call either. What somebody else runs is never said to hang, and
    /// one that runs another call may take no more: who calls last finds out.
    async fn hangs(&self) -> bool {
        let is_busy = self.worker.needed().calls > 0;
        if is_busy || matches!(self.worker.start(), Start::Service(_)) {
            return false;
        }
        let options = CallOptions { timeout: Some(PROBE_MAX), ..CallOptions::default() };
        let probe = self.parent.call_with(&options, LISTS[0], ()).await;
        probe.is_err_and(|error| is_over(&error) || matches!(error, Error::TimedOut(_)))
    }
}
