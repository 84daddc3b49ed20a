//! A client that writes the protocol's lines by hand.

use super::serve;
use crate::service::Service;
use crate::service::tests::{service, upstream};
use althing_testkit::upstream::Route;
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

/// Bytes between client and server that nobody has read yet.
const PIPE_BYTES: usize = 1 << 16;

/// One conversation with the server.
struct Client(BufReader<DuplexStream>);

impl Client {
    /// A client that has said hello.
    async fn of(service: Arc<Service>) -> Client {
        let (ours, theirs) = duplex(PIPE_BYTES);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(serve(service, reader, writer, pending()));
        let mut client = Client(BufReader::new(ours));
        let who = json!({ "name": "test", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
        client.ask("initialize", hello).await;
        client.write(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn write(&mut self, message: Value) {
        self.0.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.write(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await;
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        answer["result"].clone()
    }

    /// What a tool gives.
    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await
    }
}

#[tokio::test]
async fn a_bare_name_is_looked_for_where_nobody_has_listed_anything_yet() {
    let upstream = upstream(&["qwen3-8b"]);
    let url = format!("{}/v1", upstream.url());
    let mut client = Client::of(service(&[("VLLM_BASE_URL", &url)]).await).await;
    let said = client.call("complete", json!({ "model": "qwen3-8b", "prompt": "Hello?" })).await;
    assert_eq!(said["isError"], false, "{said}");
    assert_eq!(said["_meta"]["althing/answered-by"], "vllm:qwen3-8b", "{said}");
    assert_eq!(upstream.count("qwen3-8b"), 1);
    let nobody = client.call("complete", json!({ "model": "nobody", "prompt": "Hello?" })).await;
    assert_eq!(nobody["isError"], true, "{nobody}");
    let unnamed = client.call("complete", json!({ "model": "", "prompt": "Hello?" })).await;
    assert_eq!(unnamed["content"][0]["text"], "model: '' is no name (invalid_params)");
}

/// A synthesis that goes in circles, and nothing stated before it.
fn looping(seen: &Seen) -> String {
    let concludes =
        matches!(seen.route, Route::Chat(_)) && seen.body.to_string().contains("SYNTHESIS");
    let circles = "Tea is good. ".repeat(400);
    if concludes { format!("CONSENSUS: YES\nSYNTHESIS: {circles}") } else { "Tea.".into() }
}

#[tokio::test]
async fn a_discussion_whose_synthesis_was_cut_off_says_so() {
    let upstream = Upstream::start(Options::default().text(looping));
    let url = format!("{}/v1", upstream.url());
    let mut client = Client::of(service(&[("VLLM_BASE_URL", &url)]).await).await;
    let models = json!(["vllm:fake-large", "vllm:fake-small"]);
    let said = client.call("ask", json!({ "question": "Tea?", "models": models })).await;
    let text = said["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Tea is good."), "{text}");
    assert!(text.contains("\n\n(The synthesis is cut off: it repeated itself.)\n\n"), "{text}");
}

#[test]
fn an_answer_that_may_lack_its_end_says_so() {
    use super::tools::describe_stop;
    use althing_chat::Stop;
    let cut = "\n\n(The answer is cut off: the limit of tokens was reached.)";
    assert_eq!(describe_stop(&Stop::Length), cut);
    let other = "\n\n(The answer is perhaps incomplete: exit status 1.)";
    assert_eq!(describe_stop(&Stop::Other("exit status 1".into())), other);
    assert_eq!(describe_stop(&Stop::End), "");
}
