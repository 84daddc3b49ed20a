//! Frames that are no messages: each is answered where it says whose it is, and costs no other.

use crate::kit::{answer, bench};
use althing_jsonrpc::{CallError, ContentLength, Ended, Options, Value};
use serde_json::json;
use tokio::io::AsyncWriteExt;

/// Longest body of these tests.
const MAX: usize = 4096;

/// Sends raw bytes and gives the code and id of the answer, or none where the next answer is that
/// of a good request sent after them.
async fn answered(wire: &[u8]) -> Option<(i64, String)> {
    let mut bench = bench(ContentLength::new(MAX, true), Options::peer());
    bench.to.writer.write_all(wire).await.expect("the peer is there");
    bench.to.ask(99, "echo", json!([])).await;
    let first = bench.from.next().await;
    if first == answer(99, json!([])) {
        return None;
    }
    assert_eq!(bench.from.next().await, answer(99, json!([])), "the stream goes on");
    let first: Value = serde_json::from_str(&first.expect("an answer")).expect("JSON");
    Some((first["error"]["code"].as_i64().expect("an error"), first["id"].to_string()))
}

fn frame(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let header = format!("Content-Length: {}\r\n\r\n", body.len());
    [header.as_bytes(), body].concat()
}

#[tokio::test]
async fn what_says_whose_it_is_is_answered() {
    let long = "x".repeat(2 * MAX);
    let deep = "[".repeat(10_000);
    type Case<'a> = (Vec<u8>, Option<(i64, &'a str)>);
    let nested = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"m","params":{}"#, &deep[..3000]);
    let over = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"echo","params":["{long}"]}}"#);
    #[rustfmt::skip]
    let cases: &[Case] = &[
        (frame(r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"#), Some((-32700, "1"))),
        (frame(b"{\"id\":\"a\",\"method\":\"echo\xff\"}"), Some((-32700, "\"a\""))),
        (frame(nested), Some((-32700, "2"))),
        (frame(over), Some((-32600, "3"))),
        (frame(format!(r#"{{"method":"echo","params":["{long}"],"id":3}}"#)), None),
        (frame(r#"{"id":4,"method":"echo"}"#), Some((-32600, "4"))),
        (frame(r#"{"jsonrpc":"2.0","id":5}"#), Some((-32600, "5"))),
        (frame(r#"{"jsonrpc":"2.0","id":6,"method":"echo","params":3}"#), Some((-32602, "6"))),
        (frame(r#"[{"jsonrpc":"2.0","id":7,"method":"echo"}]"#), None),
        (frame(r#"{"jsonrpc":"2.0","id":null,"method":"echo"}"#), None),
        (frame("not JSON"), None),
        (frame(""), None),
        (frame(b"\xef\xbb\xbf{}"), None),
        (frame(b"\xef\xbb\xbf{\"id\":9,\"method\":\"echo\"}"), Some((-32600, "9"))),
        (frame(r#"{"jsonrpc":"2.0","id":8,"result":{"#), None),
        (b"Content-Length: -1\r\n\r\n".to_vec(), None),
        (b"print\n\nContent-Length: 0x2\n\n".to_vec(), None),
        (b"Content-Length: 2\r\n\r\n{}".to_vec(), None),
    ];
    for (wire, want) in cases {
        let found = answered(wire).await;
        let found = found.as_ref().map(|(code, id)| (*code, id.as_str()));
        assert_eq!(found, *want, "{}", String::from_utf8_lossy(&wire[..wire.len().min(200)]));
    }
}

#[tokio::test]
async fn a_broken_answer_fails_its_call() {
    for body in
        [format!(r#"{{"id":1,"result":"{}"}}"#, "x".repeat(MAX)), r#"{"id":1,"result":{"#.into()]
    {
        let mut bench = bench(ContentLength::new(MAX, true), Options::peer());
        let call = bench.peer.call("question", json!({}));
        let reply = async {
            bench.from.next().await.expect("the question");
            bench.to.writer.write_all(&frame(body)).await.expect("the peer is there");
        };
        let (outcome, ()) = tokio::join!(call, reply);
        assert!(matches!(outcome, Err(CallError::Remote(_))), "{outcome:?}");
    }
}

#[tokio::test]
async fn too_many_broken_frames_in_a_row_end_it() {
    let mut options = Options::peer();
    options.limits.broken_max = 3;
    let mut bench = bench(ContentLength::default(), options);
    for id in 1..4 {
        for _ in 0..3 {
            bench.to.send("broken").await;
        }
        bench.to.ask(id, "echo", json!([])).await;
        assert_eq!(bench.from.next().await, answer(id, json!([])));
    }
    for _ in 0..4 {
        bench.to.send("broken").await;
    }
    let ended = bench.driver.await.expect("no panic");
    assert!(matches!(ended, Ended::Broken { frames: 4 }), "{ended:?}");
    assert_eq!(bench.probe.answered.load(std::sync::atomic::Ordering::Relaxed), 3);
}
