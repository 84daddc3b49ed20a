//! What happens at every limit.

use super::super::Limits;
use super::kit::{Face, KEY};
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};
use std::time::Duration;

/// So short that a test can wait for it.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_head_that_does_not_end_is_cut() {
    let face = Face::start(Limits { head: SHORT, ..Limits::default() }).await;
    let mut line = face.connect().await;
    line.send("GET /healthz HTTP/1.1\r\nhost:").await;
    assert_eq!(line.rest().await, "");
}

#[tokio::test]
async fn who_says_nothing_is_let_go() {
    let face = Face::start(Limits { idle: SHORT, ..Limits::default() }).await;
    let mut line = face.connect().await;
    assert_eq!(line.rest().await, "");
    let mut line = face.connect().await;
    line.send(&face.request("GET", "/healthz", "", "")).await;
    assert_eq!(line.answer().await.status, 200);
    assert_eq!(line.rest().await, "");
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let face = Face::start(Limits::default()).await;
    let many: String = (0..200).map(|at| format!("x-{at}: y\r\n")).collect();
    let long = format!("x-long: {}\r\n", "y".repeat(100_000));
    for headers in [many, long] {
        let mut line = face.connect().await;
        line.send(&face.request("GET", "/healthz", &headers, "")).await;
        let got = line.rest().await;
        assert!(got.starts_with("HTTP/1.1 431"), "{got}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_408() {
    let face = Face::start(Limits { body: SHORT, ..Limits::default() }).await;
    let mut line = face.connect().await;
    let request = face.request("POST", "/v1/chat/completions", "", "{\"model\":\"m\"}");
    line.send(&request[..request.len() - 1]).await;
    assert_eq!(line.answer().await.status, 408);
}

#[tokio::test]
async fn a_body_that_is_too_long_is_a_413_that_names_the_limit() {
    let limits = Limits { body_bytes_max: 1000, ..Limits::default() };
    let face = Face::start(limits).await;
    for length in [1001, 1999, 5000] {
        let answer = face.ask("POST", "/v1/messages", &" ".repeat(length)).await;
        assert_eq!(answer.status, 413, "{length}: {answer:?}");
        assert_eq!(answer.json()["error"]["type"], "request_too_large");
        assert!(answer.body.contains("1000 bytes"), "{answer:?}");
    }
    let fits = face.ask("POST", "/v1/messages", &" ".repeat(1000)).await;
    assert_eq!(fits.status, 400, "{fits:?}");
}

#[tokio::test]
async fn one_more_than_there_is_room_for_waits() {
    let face = Face::start(Limits { connections_max: 1, ..Limits::default() }).await;
    let mut first = face.connect().await;
    let request = face.request("GET", "/healthz", "", "");
    first.send(&request).await;
    assert_eq!(first.answer().await.status, 200);
    let mut second = face.connect().await;
    second.send(&request).await;
    assert_eq!(face.service.connections.list().len(), 1);
    drop(first);
    assert_eq!(second.answer().await.status, 200);
}

#[tokio::test]
async fn a_connection_is_listed_counted_and_closed() {
    let face = Face::start(Limits::default()).await;
    let mut line = face.connect().await;
    for _ in 0..3 {
        line.send(&face.request("GET", "/healthz", "user-agent: curl/8\r\n", "")).await;
        assert_eq!(line.answer().await.status, 200);
    }
    let listed = face.service.connections.list();
    assert_eq!(listed.len(), 1);
    let one = &listed[0];
    assert_eq!((one.client_name.as_str(), one.requests_count, one.face), ("curl/8", 3, "http"));
    face.service.connections.close(&one.connection_id).unwrap();
    assert_eq!(line.rest().await, "");
    assert!(face.service.connections.list().is_empty());
}

#[tokio::test]
async fn stopping_takes_no_one_more_and_lets_the_idle_go() {
    let face = Face::start(Limits::default()).await;
    let mut line = face.connect().await;
    line.send(&face.request("GET", "/healthz", "", "")).await;
    assert_eq!(line.answer().await.status, 200);
    face.stop.cancel();
    assert_eq!(line.rest().await, "");
    face.bound.ended().await;
    assert!(tokio::net::TcpStream::connect(face.address).await.is_err());
    assert!(face.service.connections.list().is_empty());
}

/// The text of an answer, whole or in pieces.
fn said(answer: &str) -> String {
    let events = answer.lines().filter(|line| line.starts_with("data: {"));
    let mut all: Vec<&str> = events.map(|line| &line["data: ".len()..]).collect();
    if all.is_empty() {
        all.extend(answer.split("\r\n\r\n").nth(1));
    }
    let text = |event: &str| {
        let event: Value = serde_json::from_str(event).unwrap();
        let choice = &event["choices"][0];
        ["delta", "message"].map(|it| choice[it]["content"].as_str().unwrap_or("").to_string())
    };
    all.into_iter().flat_map(text).collect()
}

#[tokio::test]
async fn stopping_lets_an_answer_under_way_come_whole() {
    for stream in [false, true] {
        let words = "Word after word after word.";
        // The stop comes in the middle: before a whole answer, between the pieces of a stream.
        let options = Options::default().text(|_| words.into()).chunks(words.len());
        let options = options.latency(SHORT).delay(SHORT / 10);
        let upstream = Upstream::start(options);
        let url = format!("{}/v1", upstream.url());
        let env = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", url.as_str())];
        let face = Face::with(Limits::default(), &env).await;
        let asked = upstream.requests().len();
        let mut line = face.connect().await;
        let asks = json!([{ "role": "user", "content": "a" }]);
        let body = json!({ "model": "openai:fake-large", "stream": stream, "messages": asks });
        let request = face.request("POST", "/v1/chat/completions", "", &body.to_string());
        line.send(&request).await;
        upstream.wait_for(|seen| seen.len() > asked).await;
        face.stop.cancel();
        let got = line.rest().await;
        assert!(got.starts_with("HTTP/1.1 200 OK"), "{got}");
        assert_eq!(said(&got), words, "{got}");
        assert_eq!(got.contains("data: [DONE]"), stream, "{got}");
        face.bound.ended().await;
        let used = face.service.metrics.snapshot().await.unwrap();
        assert_eq!((used.requests_total, used.requests_failed), (1, 0));
    }
}

#[tokio::test]
async fn stopping_cuts_what_takes_longer_than_the_grace() {
    let face = Face::start(Limits { grace: SHORT, ..Limits::default() }).await;
    let mut line = face.connect().await;
    let request = face.request("POST", "/v1/chat/completions", "", "{\"model\":\"m\"}");
    line.send(&request[..request.len() - 1]).await;
    while face.service.connections.list().iter().all(|it| it.requests_count == 0) {
        tokio::task::yield_now().await;
    }
    face.stop.cancel();
    assert_eq!(line.rest().await, "");
    face.bound.ended().await;
}
