//! One order for everything that goes out, and any order for answers.

use crate::kit::{Bench, answer, bench};
use althing_jsonrpc::{ContentLength, Framing, Ndjson, Options};
use serde_json::json;
use tokio::io::AsyncWriteExt;

fn tick(tick: u64) -> Option<String> {
    Some(format!(r#"{{"jsonrpc":"2.0","method":"tick","params":{{"tick":{tick}}}}}"#))
}

/// With room for one message only, and for all.
#[tokio::test]
async fn what_is_sent_before_an_answer_is_written_before_it() {
    for outbox_bytes_max in [1, 1 << 20] {
        for method in ["count", "relay"] {
            let mut options = Options::server();
            options.limits.outbox_bytes_max = outbox_bytes_max;
            let mut bench = bench(Ndjson::default(), options);
            bench.to.ask(1, method, json!({ "to": 100 })).await;
            for number in 0..100 {
                assert_eq!(bench.from.next().await, tick(number), "{method}");
            }
            assert_eq!(bench.from.next().await, answer(1, 100), "{method}");
        }
    }
}

#[tokio::test]
async fn a_slow_request_holds_up_no_other() {
    let mut bench = bench(Ndjson::default(), Options::server());
    bench.to.ask(1, "wait", json!({})).await;
    bench.to.ask(2, "echo", json!([2])).await;
    assert_eq!(bench.from.next().await, answer(2, json!([2])));
    bench.probe.gate.notify_one();
    assert_eq!(bench.from.next().await, answer(1, "waited"));
}

/// The read that waits for the rest of a line is dropped whenever a handler is done.
#[tokio::test]
async fn a_read_that_is_interrupted_loses_nothing() {
    let mut bench = bench(Ndjson::default(), Options::server());
    bench.to.ask(1, "wait", json!({})).await;
    bench.to.writer.write_all(br#"{"jsonrpc":"2.0","id":2,"met"#).await.expect("open");
    bench.probe.gate.notify_one();
    assert_eq!(bench.from.next().await, answer(1, "waited"));
    bench.to.writer.write_all(b"hod\":\"echo\"}\n").await.expect("open");
    assert_eq!(bench.from.next().await, answer(2, json!({})));
}

async fn pipelined(framing: impl Framing + Clone) {
    const REQUESTS: u64 = 10_000;
    let Bench { mut to, mut from, .. } = bench(framing, Options::server());
    let mut seen = 0;
    let ask = async {
        for id in 0..REQUESTS {
            to.ask(id, "echo", json!([id])).await;
        }
        to.end().await;
    };
    let read = async {
        while let Some(found) = from.next().await {
            assert_eq!(Some(found), answer(seen, json!([seen])));
            seen += 1;
        }
    };
    tokio::join!(ask, read);
    assert_eq!(seen, REQUESTS);
}

#[tokio::test]
async fn ten_thousand_pipelined_requests() {
    pipelined(Ndjson::default()).await;
    pipelined(ContentLength::default()).await;
}
