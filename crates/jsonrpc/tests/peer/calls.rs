//! Calls of ours: deadlines, limits and answers that come too late.

use crate::kit::{Bench, bench};
use althing_jsonrpc::{CallError, Ndjson, Options};
use serde_json::json;
use std::time::Duration;

const MAX: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_deadline_frees_its_slot_and_a_late_answer_is_dropped() {
    let mut options = Options::peer();
    options.limits.calls_max = 1;
    let Bench { peer, probe, mut to, mut from, .. } = bench(Ndjson::default(), options);
    let late = peer.call_within(MAX, "slow", ()).await;
    assert_eq!(late, Err(CallError::TimedOut));
    assert_eq!(from.next().await.unwrap(), r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#);

    let call = peer.call_within(MAX, "quick", [1]);
    let answer = async {
        to.send(r#"{"jsonrpc":"2.0","id":1,"result":"late"}"#).await;
        let call = from.next().await.unwrap();
        assert_eq!(call, r#"{"jsonrpc":"2.0","id":2,"method":"quick","params":[1]}"#);
        let full = peer.call("one too many", ()).await;
        assert_eq!(full, Err(CallError::TooMany { limit: 1 }));
        to.send(r#"{"jsonrpc":"2.0","id":2,"result":"in time"}"#).await;
    };
    let (call, ()) = tokio::join!(call, answer);
    assert_eq!(call, Ok("in time".into()));
    assert_eq!(peer.stray_answers(), 1);
    assert_eq!(*probe.troubles.lock().unwrap(), ["an answer nobody waits for, id 1"]);
}

#[tokio::test]
async fn a_call_that_is_given_up_frees_its_slot() {
    let mut options = Options::peer();
    options.limits.calls_max = 1;
    let Bench { peer, mut from, .. } = bench(Ndjson::default(), options);
    for id in 1..4 {
        tokio::select! {
            biased;
            answer = peer.call("m", ()) => panic!("{answer:?}"),
            sent = from.next() => {
                let want = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
                assert_eq!(sent, Some(want));
            }
        }
    }
}

#[tokio::test]
async fn bad_answers_and_bad_parameters_are_told_apart() {
    let Bench { peer, mut to, .. } = bench(Ndjson::default(), Options::peer());
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let answer = async {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#);
        to.send(&answer).await;
    };
    let (call, ()) = tokio::join!(peer.call("m", json!([])), answer);
    assert!(matches!(call, Err(CallError::Malformed(_))), "{call:?}");
    let no_json = std::collections::BTreeMap::from([([1], 1)]);
    let notified = peer.notify("m", no_json).await;
    assert!(matches!(notified, Err(CallError::Params(_))), "{notified:?}");
}
