//! A conversation stays at the target that answered it, whichever way it comes in.

use super::super::Limits;
use super::kit::{Face, KEY};
use crate::service::tests::caller;
use crate::service::words::{CompleteRequest, RouteTarget};
use althing_chat::Message;
use althing_testkit::{Options, Upstream};
use serde_json::json;
use std::time::Duration;

/// Fails the first time and is well again at once.
const FIRST: &str = "flaky-1";
const SECOND: &str = "fake-large";

/// A face whose alias `both` has two targets at `provider`.
async fn face(upstream: &Upstream, provider: &str) -> Face {
    let (url, openai) = (upstream.url(), format!("{}/v1", upstream.url()));
    let env = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", openai.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", url.as_str()),
    ];
    let face = Face::with(Limits::default(), &env).await;
    let target = |model: &str| RouteTarget { provider_id: provider.into(), model_id: model.into() };
    face.service.set_route("both", vec![target(FIRST), target(SECOND)]).await.unwrap();
    face
}

async fn over_http(face: &Face, text: &str) {
    let said = json!([{ "role": "user", "content": text }]);
    let body = json!({ "model": "both", "messages": said }).to_string();
    let answer = face.ask("POST", "/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

async fn by_complete(face: &Face, text: &str) {
    let request = CompleteRequest {
        model_id: "both".into(),
        messages: vec![Message::user(text)],
        tools: vec![],
        max_tokens: None,
        temperature: None,
    };
    face.service.complete(&caller(), request).await.unwrap();
}

/// One conversation twice, then another, which shows that the first target only failed once.
async fn check(provider: &str, say: impl AsyncFn(&Face, &str)) {
    let options = Options::default().models([FIRST, SECOND]).retry_after(Duration::ZERO);
    let upstream = Upstream::start(options);
    let face = face(&upstream, provider).await;
    let counts = || (upstream.count(FIRST), upstream.count(SECOND));
    say(&face, "Hello?").await;
    assert_eq!(counts(), (1, 1), "the first target fails");
    say(&face, "Hello?").await;
    assert_eq!(counts(), (1, 2), "the conversation stays");
    say(&face, "Somebody else?").await;
    assert_eq!(counts(), (2, 2), "another one begins at the first");
}

#[tokio::test]
async fn of_a_request_that_passes() {
    check("openai", over_http).await;
}

#[tokio::test]
async fn of_a_request_that_is_translated() {
    check("anthropic", over_http).await;
}

#[tokio::test]
async fn of_a_completion() {
    check("openai", by_complete).await;
}
