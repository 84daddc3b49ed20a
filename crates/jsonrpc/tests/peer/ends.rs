//! The many ways a connection ends.

use crate::kit::{Bench, STREAM_BYTES, answer, bench};
use althing_jsonrpc::{CallError, ContentLength, Ended, Ndjson, OnEof, Options};
use serde_json::json;
use std::sync::atomic::Ordering;
use tokio::{io::AsyncWriteExt, task::yield_now};

fn options(on_eof: OnEof) -> Options {
    Options { on_eof, ..Options::server() }
}

/// A bench whose handler serves one `wait`.
async fn waiting(options: Options) -> Bench {
    let mut bench = bench(Ndjson::default(), options);
    bench.to.ask(1, "wait", json!({})).await;
    bench.to.ask(2, "echo", json!([])).await;
    assert_eq!(bench.from.next().await, answer(2, json!([])));
    bench
}

#[tokio::test]
async fn running_requests_are_finished_after_the_end() {
    let mut bench = waiting(options(OnEof::FinishRequests)).await;
    bench.to.ask(3, "count", json!({ "to": 1 })).await;
    bench.to.end().await;
    let tick = r#"{"jsonrpc":"2.0","method":"tick","params":{"tick":0}}"#;
    assert_eq!(bench.from.next().await.as_deref(), Some(tick));
    assert_eq!(bench.from.next().await, answer(3, 1));
    assert_eq!(bench.peer.call("m", ()).await, Err(CallError::Closed), "nobody can answer");
    assert!(!bench.driver.is_finished());
    bench.probe.gate.notify_one();
    assert_eq!(bench.from.next().await, answer(1, "waited"));
    assert_eq!(bench.from.next().await, None);
    assert!(matches!(bench.driver.await, Ok(Ended::Eof)));
    assert_eq!(bench.probe.dropped.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn running_requests_are_dropped_at_the_end() {
    let mut bench = waiting(options(OnEof::DropRequests)).await;
    bench.to.end().await;
    assert_eq!(bench.from.next().await, None);
    assert!(matches!(bench.driver.await, Ok(Ended::Eof)));
    assert_eq!(bench.probe.dropped.load(Ordering::Relaxed), 1);
    assert_eq!(bench.peer.notify("m", ()).await, Err(CallError::Closed));
}

/// As many requests are at work as may be, and one more has come.
async fn full(on_eof: OnEof) -> Bench {
    let mut options = options(on_eof);
    options.limits.requests_max = 2;
    let mut bench = bench(Ndjson::default(), options);
    for id in 1..=3 {
        bench.to.ask(id, "wait", json!({})).await;
    }
    bench.to.end().await;
    bench
}

#[tokio::test]
async fn the_end_is_seen_while_nothing_more_is_taken() {
    let mut bench = full(OnEof::DropRequests).await;
    assert_eq!(bench.from.next().await, None);
    assert!(matches!(bench.driver.await, Ok(Ended::Eof)));
    assert_eq!(bench.probe.dropped.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn what_came_before_the_end_is_served_when_there_is_room() {
    let mut bench = full(OnEof::FinishRequests).await;
    assert_eq!(bench.peer.call("m", ()).await, Err(CallError::Closed), "the end is known");
    assert!(bench.from.next().await.unwrap().contains("\"m\""));
    for id in 1..=3 {
        assert!(!bench.driver.is_finished());
        bench.probe.gate.notify_one();
        assert_eq!(bench.from.next().await, answer(id, "waited"));
    }
    assert_eq!(bench.from.next().await, None);
    assert!(matches!(bench.driver.await, Ok(Ended::Eof)));
    assert_eq!(bench.probe.dropped.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn closing_drops_requests_and_calls_but_writes_what_was_said() {
    let mut bench = waiting(options(OnEof::FinishRequests)).await;
    let (call, ()) = tokio::join!(bench.peer.call("m", ()), async {
        bench.peer.notify("bye", ()).await.unwrap();
        bench.peer.close();
    });
    assert_eq!(call, Err(CallError::Closed));
    assert!(bench.from.next().await.unwrap().contains("\"m\""));
    assert!(bench.from.next().await.unwrap().contains("\"bye\""));
    assert_eq!(bench.from.next().await, None);
    assert!(matches!(bench.driver.await, Ok(Ended::Closed)));
    assert_eq!(bench.probe.dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn closing_ends_the_finishing_too() {
    let mut bench = waiting(options(OnEof::FinishRequests)).await;
    bench.to.end().await;
    yield_now().await;
    bench.peer.close();
    assert_eq!(bench.from.next().await, None);
    assert!(matches!(bench.driver.await, Ok(Ended::Closed)));
}

#[tokio::test]
async fn dropping_the_driver_ends_everything() {
    let bench = waiting(options(OnEof::FinishRequests)).await;
    let (call, ()) = tokio::join!(bench.peer.call("m", ()), async {
        yield_now().await;
        bench.driver.abort();
    });
    assert_eq!(call, Err(CallError::Closed));
    assert!(bench.peer.is_closed());
    assert_eq!(bench.probe.dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_can_be_cancelled_by_whoever_has_its_token() {
    let mut bench = waiting(options(OnEof::FinishRequests)).await;
    let cx = bench.probe.last.lock().unwrap().take().expect("it waits");
    assert_eq!(cx.id().map(|id| id.get()), Some("1"));
    cx.canceller().cancel();
    let cancelled = r#""id":1,"error":{"code":-32000,"message":"Request cancelled""#;
    let found = bench.from.next().await.unwrap();
    assert!(found.contains(cancelled), "{found}");
    assert_eq!(bench.probe.dropped.load(Ordering::Relaxed), 1);
    cx.canceller().cancel();
    bench.to.ask(3, "echo", json!([])).await;
    assert_eq!(bench.from.next().await, answer(3, json!([])));
}

#[tokio::test]
async fn a_last_line_without_an_end_is_served() {
    let mut bench = bench(Ndjson::default(), options(OnEof::FinishRequests));
    let wire = br#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#;
    bench.to.writer.write_all(wire).await.unwrap();
    bench.to.end().await;
    assert_eq!(bench.from.next().await, answer(1, json!({})));
    assert!(matches!(bench.driver.await, Ok(Ended::Eof)));
}

#[tokio::test]
async fn the_end_in_the_middle_of_a_frame_is_told_of() {
    let mut bench = bench(ContentLength::default(), Options::peer());
    bench.to.writer.write_all(b"Content-Length: 9\r\n\r\n{}").await.unwrap();
    bench.to.end().await;
    assert!(matches!(bench.driver.await, Ok(Ended::Eof)));
    let want = ["the stream ended in the middle of a frame"];
    assert_eq!(*bench.probe.troubles.lock().unwrap(), want);
}

#[tokio::test]
async fn a_broken_pipe_is_an_end_like_any_other() {
    let mut bench = waiting(options(OnEof::FinishRequests)).await;
    let call = bench.peer.call("m", ());
    let gone = async {
        bench.from.next().await.expect("the call");
        drop((bench.to, bench.from));
        bench.probe.gate.notify_one();
    };
    let (call, ()) = tokio::join!(call, gone);
    assert_eq!(call, Err(CallError::Closed));
    let ended = bench.driver.await.expect("no panic");
    assert!(matches!(ended, Ended::Write(_)), "{ended:?}");
}

/// With requests to finish and without: a reader that does not read keeps nobody alive.
#[tokio::test(start_paused = true)]
async fn what_is_never_read_is_given_up() {
    for on_eof in [OnEof::FinishRequests, OnEof::DropRequests] {
        let bench = waiting(options(on_eof)).await;
        let Bench { peer, probe, driver, mut to, from: _from } = bench;
        let text = "x".repeat(1 << 20);
        peer.notify("m", [&text]).await.unwrap();
        to.end().await;
        let ended = driver.await.expect("no panic");
        assert!(matches!(ended, Ended::Unread { bytes: 0x100000.. }), "{ended:?}");
        assert_eq!(probe.dropped.load(Ordering::Relaxed), 1);
    }
}

/// The same where so many answers wait to be written that no request is taken any more.
#[tokio::test(start_paused = true)]
async fn what_is_never_read_is_given_up_with_what_was_never_taken() {
    for on_eof in [OnEof::FinishRequests, OnEof::DropRequests] {
        let mut options = options(on_eof);
        options.limits.outbox_bytes_max = 1000;
        let Bench { driver, mut to, from: _from, .. } = bench(Ndjson::default(), options);
        let params = json!(["x".repeat(STREAM_BYTES / 4)]);
        for id in 0..20 {
            to.ask(id, "echo", params.clone()).await;
        }
        to.end().await;
        let ended = driver.await.expect("no panic");
        assert!(matches!(ended, Ended::Unread { .. }), "{ended:?}");
    }
}
