//! Several messages in one frame.

use crate::kit::bench;
use althing_jsonrpc::{ContentLength, Options, Value};
use serde_json::json;
use std::sync::atomic::Ordering;

fn options() -> Options {
    Options { batches: true, ..Options::peer() }
}

#[tokio::test]
async fn all_answers_come_together_when_the_last_is_there() {
    let mut bench = bench(ContentLength::default(), options());
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "wait", "params": {} },
        { "jsonrpc": "2.0", "method": "echo", "params": {} },
        { "jsonrpc": "2.0", "id": "two", "method": "echo", "params": [2] },
        { "jsonrpc": "1.0", "id": 3, "method": "echo" },
        { "jsonrpc": "2.0", "id": 4, "method": "none" },
        7,
    ]);
    bench.to.send(&batch.to_string()).await;
    bench.to.ask(5, "echo", json!([])).await;
    let alone: Value = serde_json::from_str(&bench.from.next().await.unwrap()).unwrap();
    assert_eq!(alone["id"], 5, "nobody else waits for a batch");
    while bench.probe.answered.load(Ordering::Relaxed) < 3 {
        tokio::task::yield_now().await;
    }
    bench.probe.gate.notify_one();
    let mut all: Vec<Value> = serde_json::from_str(&bench.from.next().await.unwrap()).unwrap();
    all.sort_by_key(|answer| answer["id"].to_string());
    let codes: Vec<_> =
        all.iter().map(|it| (it["id"].clone(), it["error"]["code"].clone())).collect();
    let none = Value::Null;
    assert_eq!(
        codes,
        [
            (json!("two"), none.clone()),
            (json!(1), none),
            (json!(3), json!(-32600)),
            (json!(4), json!(-32601)),
        ]
    );
}

#[tokio::test]
async fn busy_is_an_answer_of_a_batch_like_any_other() {
    let mut options = options();
    options.limits.requests_max = 1;
    let mut bench = bench(ContentLength::default(), options);
    let wait = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "wait" });
    bench.to.send(&json!([wait(1), wait(2)]).to_string()).await;
    bench.to.ask(3, "echo", json!([])).await;
    let busy: Value = serde_json::from_str(&bench.from.next().await.unwrap()).unwrap();
    assert_eq!((&busy["id"], busy["error"].is_object()), (&json!(3), true));
    bench.probe.gate.notify_one();
    let all: Vec<Value> = serde_json::from_str(&bench.from.next().await.unwrap()).unwrap();
    assert_eq!(all.len(), 2);
}

#[tokio::test]
async fn nothing_is_answered_where_nothing_was_asked_and_an_empty_one_is_none() {
    let mut bench = bench(ContentLength::default(), options());
    let notice = json!({ "jsonrpc": "2.0", "method": "echo", "params": {} });
    bench.to.send(&json!([notice]).to_string()).await;
    bench.to.send("[]").await;
    let many: Vec<u64> = (0..2_000).collect();
    bench.to.send(&json!(many).to_string()).await;
    bench.to.ask(1, "echo", json!([])).await;
    assert_eq!(bench.from.next().await, crate::kit::answer(1, json!([])));
}
