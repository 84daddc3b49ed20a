//! Requests, tokens and cost per minute, kept in the store.
//!
//! A request is counted in memory and written within [`FLUSH_AFTER`]: a killed process loses no
//! more than that, one that ends in order loses nothing. Minutes are kept for [`MINUTES_DAYS`] days
//! and then merged into days (of UTC), which are kept for ever, so totals never shrink.

mod pending;
pub mod prometheus;
#[cfg(test)]
mod tests;

use super::words::Snapshot;
use crate::log::{Clock, now_ms};
use crate::store::Store;
use crate::store::minutes::{Key, Span, Tally};
use althing_chat::Usage;
use althing_stdx::{Fault, Result};
use futures_util::FutureExt;
use pending::Pending;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How long a request may be in memory only.
pub const FLUSH_AFTER: Duration = Duration::from_millis(250);
/// Rows that are written without waiting any longer.
const FLUSH_ROWS: usize = 256;
/// After a write that failed the next is not tried sooner.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Days whose minutes are kept; older ones are merged into days.
pub const MINUTES_DAYS: i64 = 35;
/// The longest range that can be asked for; one more day is an error.
pub const RANGE_DAYS_MAX: i64 = 366;
/// Models that are told apart; the rest is one row called [`OTHER`].
pub const MODELS_MAX: usize = 10_000;
/// The provider and model of what is not told apart.
pub const OTHER: &str = "other";

const MINUTE_MS: i64 = 60_000;
const DAY_MINUTES: i64 = 24 * 60;
const DAY_MS: i64 = DAY_MINUTES * MINUTE_MS;

/// Counts what is asked and what it costs.
pub struct Metrics {
    inner: Arc<Inner>,
    task: JoinHandle<()>,
}

/// One request that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub provider: String,
    pub model: String,
    pub failed: bool,
    pub usage: Usage,
    /// None where nobody knows the price.
    pub cost_usd: Option<f64>,
}

/// What one model was used for.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelUse {
    pub provider: String,
    pub model: String,
    pub used: Snapshot,
}

struct Inner {
    store: Store,
    clock: Clock,
    queue: Arc<Queue>,
    /// Held while rows are on their way, so that nobody reads them twice or not at all.
    gate: tokio::sync::Mutex<()>,
}

/// What waits to be written.
#[derive(Default)]
struct Queue {
    pending: Mutex<Pending>,
    /// There is something to write, or enough of it.
    wake: Notify,
}

impl Metrics {
    pub async fn open(store: Store) -> Result<Metrics> {
        Ok(Metrics::with_clock(store, Arc::new(now_ms)))
    }

    /// `clock` says what minute it is.
    pub fn with_clock(store: Store, clock: Clock) -> Metrics {
        let (queue, gate) = (Arc::<Queue>::default(), Default::default());
        let inner = Arc::new(Inner { store, clock, queue: queue.clone(), gate });
        let task = tokio::spawn(keep_writing(queue, Arc::downgrade(&inner)));
        Metrics { inner, task }
    }

    /// Never waits: counted in memory, written soon.
    pub fn record(&self, sample: Sample) {
        let minute = self.inner.now() / MINUTE_MS;
        let rows = self.inner.queue.pending().add(minute, sample);
        if rows == 1 || rows == FLUSH_ROWS {
            self.inner.queue.wake.notify_one();
        }
    }

    /// Everything ever counted, as one window from the first minute that is kept to now.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        let now = self.inner.now();
        let spans = self.inner.by_model(0, i64::MAX).await?;
        let first = spans.iter().map(|span| span.key.minute * MINUTE_MS).min().unwrap_or(now);
        let mut all = Tally::default();
        spans.iter().for_each(|span| all.add(&span.tally));
        Ok(snapshot(first, now.max(first), &all))
    }

    /// One snapshot for each minute that touches the time from `start_ms` to before `end_ms` and
    /// has something in it; for each day where the minutes are merged. The windows say which.
    pub async fn range(&self, start_ms: i64, end_ms: i64) -> Result<Vec<Snapshot>> {
        let (first, end) = minutes(start_ms, end_ms)?;
        if end_ms - start_ms > RANGE_DAYS_MAX * DAY_MS {
            let text = format!("end_ms: at most {RANGE_DAYS_MAX} days after start_ms");
            return Err(Fault::invalid(text));
        }
        let spans = self.inner.by_time(first, end).await?;
        let window = |((minute, minutes), tally): (&(i64, i64), &Tally)| {
            snapshot(minute * MINUTE_MS, (minute + minutes) * MINUTE_MS, tally)
        };
        Ok(spans.iter().map(window).collect())
    }

    /// What each model was used for between two instants, to the minute; all windows are the whole.
    pub async fn by_model(&self, start_ms: i64, end_ms: i64) -> Result<Vec<ModelUse>> {
        let (first, end) = minutes(start_ms, end_ms)?;
        let model_use = |span: Span| ModelUse {
            provider: span.key.provider,
            model: span.key.model,
            used: snapshot(start_ms, end_ms, &span.tally),
        };
        let spans = self.inner.by_model(first, end).await?;
        Ok(told_apart(spans).into_iter().map(model_use).collect())
    }

    /// Writes what is in memory. What cannot be written stays there and is tried again.
    pub async fn flush(&self) -> Result<()> {
        // In a task of its own: whoever does not wait for the end takes no rows along.
        let inner = self.inner.clone();
        tokio::spawn(async move { inner.flush().await }).await.map_err(Fault::internal)?
    }
}

impl Drop for Metrics {
    /// Hands what is left to the store, whose own end waits until it is written.
    fn drop(&mut self) {
        self.task.abort();
        if let Some(Ok(room)) = self.inner.store.room().now_or_never() {
            let rows = self.inner.queue.pending().take();
            // Nobody is left to be told.
            drop(room.add_minutes(rows, |_| ()));
        }
    }
}

/// Writes soon after there is something to write, and once a day makes days of old minutes. Does
/// not keep the store while it waits: its end belongs to its owner.
async fn keep_writing(queue: Arc<Queue>, inner: Weak<Inner>) {
    let mut merged_before = 0;
    loop {
        let Some(open) = inner.upgrade() else { return };
        let before = (open.now() / DAY_MS - MINUTES_DAYS) * DAY_MINUTES;
        if before != merged_before && open.merge(before).await.is_ok() {
            merged_before = before;
        }
        drop(open);
        queue.has(1).await;
        // Either enough rows or enough time.
        let _ = tokio::time::timeout(FLUSH_AFTER, queue.has(FLUSH_ROWS)).await;
        let Some(open) = inner.upgrade() else { return };
        let written = open.flush().await;
        drop(open);
        if written.is_err() {
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
}

impl Queue {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        // A panic elsewhere cannot leave a count half made.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are so many rows.
    async fn has(&self, rows: usize) {
        while self.pending().len() < rows {
            self.wake.notified().await;
        }
    }
}

impl Inner {
    fn now(&self) -> i64 {
        i64::try_from((self.clock)()).unwrap_or(i64::MAX)
    }

    async fn flush(&self) -> Result<()> {
        let _gate = self.gate.lock().await;
        let room = self.store.room().await?;
        let rows = self.queue.pending().take();
        if rows.is_empty() {
            return Ok(());
        }
        // Told perhaps twice, put back once.
        let (back, queue) = (Mutex::new(Some(rows.clone())), self.queue.clone());
        let lost = move |_: &Fault| {
            let rows = back.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut pending = queue.pending();
            rows.into_iter().flatten().for_each(|(key, tally)| pending.put(key, &tally));
        };
        room.add_minutes(rows, lost).wait().await
    }

    async fn merge(&self, before: i64) -> Result<()> {
        let _gate = self.gate.lock().await;
        self.store.merge_minutes(before).await
    }

    /// By first minute and length, with what is in memory.
    async fn by_time(&self, first: i64, end: i64) -> Result<BTreeMap<(i64, i64), Tally>> {
        let _gate = self.gate.lock().await;
        let mut all = BTreeMap::<(i64, i64), Tally>::new();
        for span in self.store.used_by_time(first, end).await? {
            all.entry((span.key.minute, span.minutes)).or_default().add(&span.tally);
        }
        for (key, tally) in self.queue.pending().between(first, end) {
            all.entry((key.minute, 1)).or_default().add(tally);
        }
        Ok(all)
    }

    /// One span for each model, with what is in memory.
    async fn by_model(&self, first: i64, end: i64) -> Result<Vec<Span>> {
        let _gate = self.gate.lock().await;
        let mut all = BTreeMap::<(String, String), Span>::new();
        let mut add = |key: Key, tally: &Tally| {
            let name = (key.provider.clone(), key.model.clone());
            let none = || Span { key: key.clone(), minutes: 0, tally: Tally::default() };
            let known = all.entry(name).or_insert_with(none);
            known.key.minute = known.key.minute.min(key.minute);
            known.tally.add(tally);
        };
        for span in self.store.used_by_model(first, end).await? {
            add(span.key, &span.tally);
        }
        for (key, tally) in self.queue.pending().between(first, end) {
            add(key.clone(), tally);
        }
        Ok(all.into_values().collect())
    }
}

/// The minutes that touch the time from `start_ms` to before `end_ms`.
fn minutes(start_ms: i64, end_ms: i64) -> Result<(i64, i64)> {
    if start_ms < 0 {
        return Err(Fault::invalid(format!("start_ms: 0 or more, not {start_ms}")));
    }
    if end_ms < start_ms {
        return Err(Fault::invalid(format!("end_ms: not before start_ms ({start_ms})")));
    }
    if start_ms == end_ms {
        return Ok((0, 0));
    }
    Ok((start_ms / MINUTE_MS, (end_ms - 1) / MINUTE_MS + 1))
}

fn snapshot(window_start_ms: i64, window_end_ms: i64, tally: &Tally) -> Snapshot {
    Snapshot {
        window_start_ms,
        window_end_ms,
        requests_total: tally.requests,
        requests_failed: tally.failed,
        prompt_tokens_total: tally.prompt,
        completion_tokens_total: tally.completion,
        cost_total: (tally.requests > tally.unpriced).then_some(tally.cost_usd),
        requests_unpriced: tally.unpriced,
        cached_tokens_total: tally.cached,
    }
}

/// At most [`MODELS_MAX`] rows; what is too much becomes one.
fn told_apart(mut spans: Vec<Span>) -> Vec<Span> {
    if spans.len() > MODELS_MAX {
        let rest = spans.split_off(MODELS_MAX - 1);
        let minute = rest.iter().map(|span| span.key.minute).min().unwrap_or_default();
        let key = Key { minute, provider: OTHER.into(), model: OTHER.into() };
        let mut other = Span { key, minutes: 0, tally: Tally::default() };
        rest.iter().for_each(|span| other.tally.add(&span.tally));
        spans.push(other);
    }
    spans
}
