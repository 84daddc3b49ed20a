//! Counts against a clock that the test sets.

mod killed;

use super::*;
use crate::store::tests::place;
use althing_stdx::Kind;
use std::sync::atomic::{AtomicU64, Ordering};

/// A time of day 20 000, 10:00 UTC.
const TEN: u64 = 20_000 * 86_400_000 + 36_000_000;
const DAY: u64 = 86_400_000;
const MINUTE: u64 = 60_000;

/// A clock, and metrics that go by it.
#[derive(Clone)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn new(ms: u64) -> Hand {
        Hand(Arc::new(AtomicU64::new(ms)))
    }

    fn set(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }

    fn metrics(&self, store: &Store) -> Metrics {
        let hand = self.clone();
        Metrics::with_clock(store.clone(), Arc::new(move || hand.0.load(Ordering::Relaxed)))
    }
}

fn sample(model: &str, failed: bool, tokens: u64, cost_usd: Option<f64>) -> Sample {
    let (provider, model) = model.split_once(':').unwrap();
    let usage = Usage { input: Some(tokens), output: Some(tokens * 2), ..Usage::default() };
    Sample { provider: provider.into(), model: model.into(), failed, usage, cost_usd }
}

/// `from+length: requests, failed, tokens in, tokens out, cost, unpriced`, times from ten o'clock.
fn shown(of: &Snapshot) -> String {
    let from = of.window_start_ms - TEN as i64;
    let length = of.window_end_ms - of.window_start_ms;
    let cost = of.cost_total.map_or("unknown".into(), |usd| format!("${usd}"));
    format!(
        "{from}+{length}: {} {} {} {} {cost} {}",
        of.requests_total,
        of.requests_failed,
        of.prompt_tokens_total,
        of.completion_tokens_total,
        of.requests_unpriced
    )
}

#[track_caller]
fn check(got: impl IntoIterator<Item = Snapshot>, want: &[&str]) {
    assert_eq!(got.into_iter().map(|it| shown(&it)).collect::<Vec<_>>(), want);
}

/// A day in the life: three requests in the first minute, one in the third.
fn use_some(metrics: &Metrics, hand: &Hand) {
    hand.set(TEN + 59_999);
    metrics.record(sample("openai:gpt", false, 10, Some(0.25)));
    metrics.record(sample("openai:gpt", true, 0, None));
    metrics.record(sample("ollama:qwen", false, 5, Some(0.0)));
    hand.set(TEN + 2 * MINUTE);
    metrics.record(sample("mine:thing", false, 1, None));
}

async fn check_some(metrics: &Metrics) {
    let ten = TEN as i64;
    check([metrics.snapshot().await.unwrap()], &["0+120000: 4 1 16 32 $0.25 2"]);
    let minutes = ["0+60000: 3 1 15 30 $0.25 1", "120000+60000: 1 0 1 2 unknown 1"];
    for (start, end, want) in [
        (0, 180_000, &minutes[..]),
        (59_999, 120_001, &minutes[..]),
        (60_000, 120_000, &[]),
        (60_000, 120_001, &minutes[1..]),
        (0, 1, &minutes[..1]),
        (-1, 0, &[]),
        (30_000, 30_000, &[]),
    ] {
        check(metrics.range(ten + start, ten + end).await.unwrap(), want);
    }
    let models = metrics.by_model(ten, ten + 180_000).await.unwrap();
    let models =
        models.iter().map(|it| format!("{}:{} {}", it.provider, it.model, shown(&it.used)));
    assert_eq!(
        models.collect::<Vec<_>>(),
        [
            "mine:thing 0+180000: 1 0 1 2 unknown 1",
            "ollama:qwen 0+180000: 1 0 5 10 $0 0",
            "openai:gpt 0+180000: 2 1 10 20 $0.25 1",
        ]
    );
}

#[tokio::test]
async fn in_memory_written_and_read_again_it_is_the_same() {
    let (_folder, path) = place();
    let (store, hand) = (Store::open(&path).unwrap(), Hand::new(TEN));
    let metrics = hand.metrics(&store);
    check([metrics.snapshot().await.unwrap()], &["0+0: 0 0 0 0 unknown 0"]);
    use_some(&metrics, &hand);
    check_some(&metrics).await;
    metrics.flush().await.unwrap();
    check_some(&metrics).await;
    drop((metrics, store));
    check_some(&hand.metrics(&Store::open(&path).unwrap())).await;
}

#[tokio::test]
async fn what_nobody_flushed_is_written_at_the_end() {
    let (_folder, path) = place();
    let hand = Hand::new(TEN);
    let store = Store::open(&path).unwrap();
    let metrics = hand.metrics(&store);
    use_some(&metrics, &hand);
    drop((metrics, store));
    check_some(&hand.metrics(&Store::open(&path).unwrap())).await;
}

#[tokio::test(start_paused = true)]
async fn it_is_written_soon_by_itself() {
    let (store, hand) = (Store::in_memory().unwrap(), Hand::new(TEN));
    let (metrics, other) = (hand.metrics(&store), hand.metrics(&store));
    for round in 1..=3 {
        metrics.record(sample("a:b", false, 1, None));
        tokio::time::sleep(FLUSH_AFTER * 2).await;
        assert_eq!(other.snapshot().await.unwrap().requests_total, round);
    }
}

#[tokio::test(start_paused = true)]
async fn many_rows_do_not_wait() {
    let (store, hand) = (Store::in_memory().unwrap(), Hand::new(TEN));
    let (metrics, other) = (hand.metrics(&store), hand.metrics(&store));
    let start = tokio::time::Instant::now();
    (0..FLUSH_ROWS).for_each(|n| metrics.record(sample(&format!("a:{n}"), false, 1, None)));
    // Reading is work on another thread, so the clock stands still meanwhile.
    while other.snapshot().await.unwrap().requests_total < FLUSH_ROWS as i64 {}
    assert!(start.elapsed() < FLUSH_AFTER);
}

#[tokio::test]
async fn two_that_write_the_same_minute_add_up() {
    let (_folder, path) = place();
    let hand = Hand::new(TEN);
    let stores = [Store::open(&path).unwrap(), Store::open(&path).unwrap()];
    let both = stores.each_ref().map(|store| hand.metrics(store));
    for _ in 0..10 {
        for metrics in &both {
            metrics.record(sample("a:b", false, 1, Some(0.5)));
            metrics.flush().await.unwrap();
        }
    }
    check([both[0].snapshot().await.unwrap()], &["0+0: 20 0 20 40 $10 0"]);
    check([both[1].snapshot().await.unwrap()], &["0+0: 20 0 20 40 $10 0"]);
}

/// The lengths of all windows, once the metrics have settled; every sum is what it was.
async fn check_days(metrics: &Metrics, lengths: &[i64]) {
    tokio::time::sleep(FLUSH_AFTER).await;
    let end = (TEN + 50 * DAY) as i64;
    let range = metrics.range(end - 300 * DAY as i64, end).await.unwrap();
    let models = metrics.by_model(0, end).await.unwrap();
    let sum = range.iter().map(|it| it.requests_total).sum::<i64>();
    assert_eq!((sum, models[0].used.requests_total), (6, 6));
    assert_eq!(metrics.snapshot().await.unwrap().cost_total, Some(3.0));
    let got = range.iter().map(|it| it.window_end_ms - it.window_start_ms);
    assert_eq!(got.collect::<Vec<_>>(), lengths);
}

#[tokio::test(start_paused = true)]
async fn old_minutes_become_days_and_no_sum_changes() {
    let (store, hand) = (Store::in_memory().unwrap(), Hand::new(TEN));
    let metrics = hand.metrics(&store);
    for (day, minute) in [(0, 0), (0, 1), (0, 1), (1, 0), (40, 0), (40, 1)] {
        hand.set(TEN + day * DAY + minute * MINUTE);
        metrics.record(sample("a:b", false, 1, Some(0.5)));
    }
    metrics.flush().await.unwrap();
    let (minute, day) = (MINUTE as i64, DAY as i64);
    hand.set(TEN + 35 * DAY);
    drop(metrics);
    check_days(&hand.metrics(&store), &[minute; 5]).await;
    hand.set(TEN + 36 * DAY);
    let metrics = hand.metrics(&store);
    check_days(&metrics, &[day, minute, minute, minute]).await;
    // A day later, in the same process, with the next request.
    hand.set(TEN + 37 * DAY);
    metrics.record(sample("c:d", false, 0, None));
    tokio::time::sleep(FLUSH_AFTER * 2).await;
    let range = metrics.range(TEN as i64 - 1, TEN as i64 + 2 * day).await.unwrap();
    let starts = range.iter().map(|it| (it.window_start_ms / day, it.window_start_ms % day));
    assert_eq!(starts.collect::<Vec<_>>(), [(20_000, 0), (20_001, 0)]);
    // A day that is touched is given as a whole.
    let end = TEN as i64 - 10 * 3_600_000;
    assert_eq!(metrics.range(end, end + 1).await.unwrap().len(), 1);
    assert_eq!(metrics.range(end - 1, end).await.unwrap().len(), 0);
}

#[tokio::test]
async fn what_is_asked_wrongly_is_named() {
    let metrics = Hand::new(TEN).metrics(&Store::in_memory().unwrap());
    let days = RANGE_DAYS_MAX * DAY_MS;
    for (start, end, want) in [
        (-1, 5, "start_ms: 0 or more, not -1"),
        (i64::MIN, i64::MAX, "start_ms: 0 or more, not -9223372036854775808"),
        (7, 6, "end_ms: not before start_ms (7)"),
        (0, days + 1, "end_ms: at most 366 days after start_ms"),
        (0, i64::MAX, "end_ms: at most 366 days after start_ms"),
    ] {
        let fault = metrics.range(start, end).await.unwrap_err();
        assert_eq!((fault.kind, fault.message.as_str()), (Kind::InvalidParams, want));
    }
    assert_eq!(metrics.range(0, days).await.unwrap(), []);
    assert_eq!(metrics.by_model(0, i64::MAX).await.unwrap(), []);
    assert_eq!(metrics.by_model(7, 6).await.unwrap_err().kind, Kind::InvalidParams);
}

#[tokio::test]
async fn what_cannot_be_written_is_not_lost() {
    let (_folder, path) = place();
    let (store, hand) = (Store::open(&path).unwrap(), Hand::new(TEN));
    let metrics = hand.metrics(&store);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("ALTER TABLE minutes RENAME TO away").unwrap();
    use_some(&metrics, &hand);
    metrics.flush().await.unwrap_err();
    metrics.flush().await.unwrap_err();
    db.execute_batch("ALTER TABLE away RENAME TO minutes").unwrap();
    check_some(&metrics).await;
    metrics.flush().await.unwrap();
    drop((metrics, store));
    check_some(&hand.metrics(&Store::open(&path).unwrap())).await;
}

#[test]
fn memory_has_a_limit_and_the_sums_stay_right() {
    let mut pending = Pending::default();
    for n in 0..pending::ROWS_MAX as i64 + 500 {
        pending.add(n, sample("a:b", false, 1, Some(f64::NAN)));
    }
    assert_eq!(pending.len(), pending::ROWS_MAX + 1);
    let rows = pending.take();
    let sum = rows.iter().fold(Tally::default(), |mut sum, (_, tally)| {
        sum.add(tally);
        sum
    });
    let all = pending::ROWS_MAX as i64 + 500;
    assert_eq!((sum.requests, sum.prompt, sum.unpriced, sum.cost_usd), (all, all, all, 0.0));
    assert_eq!(rows.last().unwrap().1.requests, 500);
    pending.add(0, sample(&format!("a:{}", "m".repeat(1000)), false, 1, None));
    assert_eq!(pending.take()[0].0.model.chars().count(), 201);
}

#[test]
fn models_that_are_too_many_are_one() {
    let span = |n: usize| Span {
        key: Key { minute: n as i64, provider: "p".into(), model: format!("{n:06}") },
        minutes: 0,
        tally: Tally { requests: 1, ..Tally::default() },
    };
    assert_eq!(told_apart((0..MODELS_MAX).map(span).collect()).len(), MODELS_MAX);
    let many = told_apart((0..MODELS_MAX + 7).map(span).collect());
    let last = many.last().unwrap();
    assert_eq!((many.len(), last.key.model.as_str(), last.tally.requests), (MODELS_MAX, OTHER, 8));
}
