//! Lines as they really come: ends of all kinds, too long, with odd characters.

use super::kit::{Client, Machine};
use serde_json::{Value, json};
use tokio::time::Instant;

/// A request that adds `input` to the history, as text.
fn add(input: &str) -> String {
    let params = format!(r#"{{"input":"{input}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"add_to_input_history","params":{params}}}"#)
}

async fn history(client: &mut Client) -> Value {
    client.call("get_input_history", json!({})).await["history"].take()
}

#[tokio::test(start_paused = true)]
async fn ends_of_lines() {
    let mut client = Machine::new().connect();
    client.write("\n\r\n  \r\n\t\n").await;
    let answer = client.say(format!("{}\r", add("one"))).await;
    assert_eq!(answer["result"], json!({"status": "added"}));
    assert_eq!(history(&mut client).await, json!(["one"]));
    // The last line needs no end.
    client.write(add("two")).await;
    client.close().await;
    assert_eq!(client.rest().await, [r#"{"jsonrpc":"2.0","id":1,"result":{"status":"added"}}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_line_too_long_is_refused_and_the_next_is_read() {
    let mut client = Machine::new().connect();
    let padding = 1_000_000 - add("").len();
    assert_eq!(client.say(add(&"x".repeat(padding))).await["result"]["status"], "added");
    let answer = client.say(add(&"x".repeat(padding + 1))).await;
    let message = "Request too large (1000001 bytes, max 1000000)";
    let error = json!({"code": -32600, "message": message, "data": null});
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": null, "error": error}));
    assert_eq!(history(&mut client).await.as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn separators_that_cut_lines_elsewhere_are_escaped() {
    let mut client = Machine::new().connect();
    client.say(add("a\u{2028}b\u{2029}c é 東 🙂")).await;
    client.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_input_history\"}\n").await;
    let line = client.read().await.unwrap();
    let history = r#"["a\u2028b\u2029c é 東 🙂"]"#;
    assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"history":{history}}}}}"#));
}

#[tokio::test(start_paused = true)]
async fn a_lone_surrogate_harms_nobody() {
    let machine = Machine::new();
    let mut client = machine.connect();
    for (input, want) in [(r"a\ud800b", "a\u{fffd}b"), (r"\ude00\ud83d\ude00", "\u{fffd}😀")] {
        assert_eq!(client.say(add(input)).await["result"]["status"], "added");
        assert_eq!(history(&mut client).await.as_array().unwrap().last().unwrap(), want);
    }
    // Also as an id, and where nobody looks.
    let odd = r#"{"jsonrpc":"2.0","id":"\ud800","method":"get_input_history","x":"\udfff"}"#;
    client.write(format!("{odd}\n")).await;
    assert!(client.read().await.unwrap().contains(r#""id":"\ud800","result":"#));
    assert_eq!(history(&mut machine.connect()).await.as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text() {
    let mut client = Machine::new().connect();
    let answer = client.say(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").await;
    assert_eq!(answer["error"]["code"], -32700);
    assert_eq!(history(&mut client).await, json!([]));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_requests_at_once() {
    let mut client = Machine::new().connect();
    let began = Instant::now();
    let request = |id: usize| {
        json!({"jsonrpc": "2.0", "id": id, "method": "get_input_history"}).to_string() + "\n"
    };
    for batch in 0..100 {
        let lines: String = (0..100).map(|at| request(batch * 100 + at)).collect();
        client.write(lines).await;
        for at in 0..100 {
            let id = batch * 100 + at;
            let want = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"history":[]}}}}"#);
            assert_eq!(client.read().await.unwrap(), want);
        }
    }
    assert!(began.elapsed().is_zero(), "nothing is held back for a while");
}
