//! The log as its writer and its readers see it.

use super::*;
use crate::store::tests::{delta, ended, events, place, started, what};
use crate::store::{Standing, Store};
use althing_stdx::Kind;
use futures_util::future::{join_all, try_join_all};
use futures_util::{FutureExt, join};
use rusqlite::Connection;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

async fn new_log(store: &Store) -> RunLog {
    RunLog::start(store.clone(), store.lease("r1").await.unwrap())
}

/// Reads as a face does: batch after batch until there is nothing more.
async fn read_all(log: &RunLog, from: u64) -> Vec<Event> {
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let batch = log.since(from + seen.len() as u64).await;
        if batch.is_empty() {
            return seen;
        }
        assert!(batch.len() <= BATCH_EVENTS_MAX);
        seen.extend(batch);
    }
}

#[tokio::test]
async fn every_reader_gets_everything_once_and_then_the_end() {
    let store = Store::in_memory().unwrap();
    let log = new_log(&store).await;
    let write = async {
        log.append(started("why?")).await.unwrap();
        for _ in 0..1000 {
            log.append(delta("a")).await.unwrap();
        }
        log.append(ended()).await.unwrap();
    };
    let (first, late, ()) = join!(read_all(&log, 0), read_all(&log, 900), write);
    assert_eq!(first.len(), 1002);
    assert_eq!(late, first[900..]);
    assert!(first.iter().enumerate().all(|(at, event)| event.seq == at as u64));
    assert_eq!(read_all(&log, 0).await, first, "one that comes after the end");
    assert_eq!(read_all(&log, 5000).await, []);
    assert_eq!(log.so_far(), first);
    assert_eq!(store.events("r1").await.unwrap(), first);
}

fn call() -> What {
    what(json!({"type": "turn_started", "turn": 1, "phase": 1, "seat": 0, "nth": 1, "model": "m",
        "name": "Ada", "speech": "answer", "parallel": false}))
}

#[tokio::test]
async fn readers_do_not_wait_for_the_store() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    let log = new_log(&store).await;
    assert!(log.since(0).now_or_never().is_none());
    // Somebody else writes, so nothing of ours is saved for now.
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    log.append(started("why?")).now_or_never().expect("the first call waits for it").unwrap();
    assert_eq!(log.since(0).now_or_never().unwrap().len(), 1);
    let mut append = log.append(call());
    assert!(append.as_mut().now_or_never().is_none(), "a call is saved before the run goes on");
    assert_eq!(log.since(1).now_or_never().unwrap().len(), 1);
    other.execute_batch("ROLLBACK").unwrap();
    append.await.unwrap();
    log.append(delta("a")).now_or_never().expect("a delta waits for nothing").unwrap();
    assert_eq!(log.since(2).now_or_never().unwrap().len(), 1);
}

/// The end of a turn is on disk before the next call starts.
#[tokio::test]
async fn a_call_waits_for_everything_before_it() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    let log = new_log(&store).await;
    log.append(started("why?")).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let interrupted = what(json!({"type": "turn_interrupted", "turn": 0}));
    log.append(interrupted).now_or_never().expect("an end does not wait by itself").unwrap();
    let mut append = log.append(call());
    assert!(append.as_mut().now_or_never().is_none(), "a call waits");
    other.execute_batch("ROLLBACK").unwrap();
    append.await.unwrap();
    assert_eq!(store.events("r1").await.unwrap(), log.so_far());
}

#[tokio::test]
async fn many_writers_make_one_order() {
    let store = Store::in_memory().unwrap();
    let log = new_log(&store).await;
    log.append(started("why?")).await.unwrap();
    let speak = async |turn: u32| -> Result<()> {
        log.append(what(json!({"type": "turn_started", "turn": turn, "phase": 1, "seat": 0,
            "nth": turn, "model": "m", "name": "Ada", "speech": "answer", "parallel": true})))
            .await?;
        for at in 0..20 {
            log.append(delta(&format!("{turn}.{at}"))).await?;
        }
        log.append(what(json!({"type": "turn_interrupted", "turn": turn}))).await
    };
    try_join_all((0..20).map(speak)).await.unwrap();
    log.append(ended()).await.unwrap();
    let written = store.events("r1").await.unwrap();
    assert_eq!(written.len(), 2 + 20 * 22);
    assert_eq!(written, log.so_far());
}

#[tokio::test]
async fn the_end_frees_the_run_and_a_resumed_one_goes_on_numbering() {
    let store = Store::in_memory().unwrap();
    let log = new_log(&store).await;
    log.append(started("why?")).await.unwrap();
    log.append(call()).await.unwrap();
    assert_eq!(store.run("r1").await.unwrap().standing, Standing::Running);
    assert!(!log.is_over());
    log.append(ended()).await.unwrap();
    assert!(log.is_over());
    assert_eq!(store.run("r1").await.unwrap().standing, Standing::Completed);
    let fault = log.append(delta("late")).await.unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (Kind::Internal, "run r1: it is over"));

    let (lease, before) = (store.lease("r1").await.unwrap(), store.events("r1").await.unwrap());
    let log = RunLog::resume(store.clone(), lease, before);
    assert_eq!((log.run(), log.is_over(), log.since(0).await.len()), ("r1", false, 3));
    let resumed = what(json!({"type": "run_resumed", "kept": 0, "max_cost_usd": null}));
    log.append(resumed).await.unwrap();
    assert_eq!(log.since(3).await[0].seq, 3);
    assert_eq!(store.run("r1").await.unwrap().standing, Standing::Running);
    log.close();
    assert_eq!(store.run("r1").await.unwrap().standing, Standing::Stopped);
    assert_eq!(log.since(4).await, []);
}

#[tokio::test]
async fn time_does_not_run_backwards() {
    let times = AtomicU64::new(0);
    let store = Store::in_memory().unwrap();
    let clock: Clock =
        Arc::new(move || [50, 40, 60][times.fetch_add(1, Ordering::Relaxed) as usize]);
    let log = new_log(&store).await.with_clock(clock);
    for what in [started("why?"), delta("a"), ended()] {
        log.append(what).await.unwrap();
    }
    let times: Vec<u64> = log.so_far().iter().map(|event| event.at_ms).collect();
    assert_eq!(times, [50, 50, 60]);
}

#[tokio::test]
async fn what_cannot_be_saved_stops_the_run() {
    let store = Store::in_memory().unwrap();
    let log = new_log(&store).await;
    log.append(started("why?")).await.unwrap();
    // Somebody writes the run without asking: our next number is taken.
    store.append(events("r1", [started("why?"), delta("theirs")]).split_off(1)).await.unwrap();
    log.append(delta("ours")).await.unwrap();
    let lost = "run r1: event 1 came where 2 was due";
    let results = join_all((0..3).map(|_| log.append(ended()))).await;
    assert!(results.iter().all(Result::is_err));
    assert_eq!(results[0].as_ref().unwrap_err().message, lost, "the first cause is the one told");
    assert_eq!(log.append(delta("more")).await.unwrap_err().message, lost);
    assert!(log.is_over());
    assert_eq!(store.events("r1").await.unwrap().len(), 2);
    assert_eq!(store.run("r1").await.unwrap().standing, Standing::Stopped);
}

fn noted(note: serde_json::Value) -> What {
    what(json!({"type": "turn_noted", "turn": 0, "note": note}))
}

#[tokio::test]
async fn a_run_with_too_many_events_keeps_those_that_count() {
    let store = Store::in_memory().unwrap();
    let all = std::iter::once(started("?")).chain((1..EVENTS_MAX).map(|_| delta("")));
    let log = RunLog::resume(store.clone(), store.lease("r1").await.unwrap(), events("r1", all));
    log.append(delta("one too many")).await.unwrap();
    log.append(noted(json!("queued"))).await.unwrap();
    assert_eq!(log.so_far().len(), EVENTS_MAX);
    // A run that is resumed needs these.
    let call = json!({"id": "1", "name": "add", "arguments": "{}"});
    let called = json!({"call": call, "result": "3", "failed": false, "took_ms": 1});
    let fitted = json!({"model": "m", "transcript": "talk", "dropped": 1, "shortened": 0,
        "cut": {"dropped": 1, "until": 0, "chars": 0}, "words": 9, "window": 2048});
    for note in [json!({ "called": called }), json!({ "fitted": fitted })] {
        assert!(!is_passing(&noted(note)));
    }
    // The store has none of the others, so it refuses this one: it was not left out.
    log.append(ended()).await.unwrap_err();
    assert_eq!(log.so_far().len(), EVENTS_MAX + 1);
}

/// Whoever waits learns of it, though the first of them has brought everything.
#[tokio::test]
async fn what_is_lost_is_told_to_all_who_start_together() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    let log = new_log(&store).await;
    log.append(started("why?")).await.unwrap();
    log.append(call()).await.unwrap();
    store.append(events("r1", [started("?"), call(), delta("theirs")]).split_off(2)).await.unwrap();
    let side_by_side = |turn: u32| {
        what(json!({"type": "turn_started", "turn": turn, "phase": 1, "seat": 0, "nth": 1,
            "model": "m", "name": "Ada", "speech": "answer", "parallel": true}))
    };
    let told = join_all((2..5).map(|turn| log.append(side_by_side(turn)))).await;
    for saved in told {
        assert_eq!(saved.unwrap_err().message, "run r1: event 2 came where 3 was due");
    }
}

/// A store that is locked, or a disk that is full, ends no run: what follows is shown and not saved.
#[tokio::test]
async fn a_run_goes_on_unsaved_and_says_so() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    let log = new_log(&store).await;
    log.append(started("why?")).await.unwrap();
    log.append(call()).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Nobody is waited for, so that the test takes no time.
    store.hasten();
    log.append(call()).await.unwrap();
    let last = log.so_far().pop().unwrap().what;
    let What::Warned { code, message } = last else { panic!("{last:?}") };
    assert_eq!(code, UNSAVED);
    assert!(message.contains("From here on this run is not saved") && message.contains("locked"));
    assert!(log.loss().is_some());
    other.execute_batch("ROLLBACK").unwrap();
    log.append(delta("a")).await.unwrap();
    log.append(ended()).await.unwrap();
    assert!(log.is_over());
    let warnings = log.so_far().iter().filter(|it| matches!(it.what, What::Warned { .. })).count();
    assert_eq!((warnings, log.so_far().len()), (1, 6));
    assert_eq!(store.events("r1").await.unwrap().len(), 2, "nothing is saved behind a gap");
    assert_eq!(store.run("r1").await.unwrap().standing, Standing::Stopped);
}
