//! Who answered stands in a header, whatever way the answer took.

use super::kit::Answer;
use super::through::{body, face, streamed};
use crate::service::words::RouteTarget;
use althing_testkit::{Options, Upstream};

const HEADER: &str = "x-althing-answered-by: ";

/// The value of the header, in a head of small letters.
fn answered_by(head: &str) -> Option<&str> {
    head.lines().find_map(|line| line.strip_prefix(HEADER))
}

#[track_caller]
fn check(answer: &Answer, want: &str) {
    assert_eq!(answered_by(&answer.head), Some(want), "{answer:?}");
}

#[tokio::test]
async fn whoever_answers_is_named() {
    let upstream = Upstream::start(Options::default());
    let face = face(&upstream).await;
    let target = |provider_id: &str, model_id: &str| RouteTarget {
        provider_id: provider_id.into(),
        model_id: model_id.into(),
    };
    // The first fails: its provider is passed through to in the one language, translated in the
    // other.
    let targets = vec![target("openai", "err-503"), target("openai", "fake-small")];
    face.service.store.set_route("fast", targets).await.unwrap();
    face.service.library.reload().await.unwrap();
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        let answer = face.ask("POST", path, &body(path, "fast", false)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        check(&answer, "openai:fake-small");
        let mut line = face.connect().await;
        line.send(&streamed(&face, path, "fast")).await;
        let got = line.rest().await;
        assert!(got.starts_with("HTTP/1.1 200"), "{path}: {got}");
        assert_eq!(answered_by(&got), Some("openai:fake-small"), "{path}: {got}");
        // A refusal is somebody's as well.
        let refused = face.ask("POST", path, &body(path, "openai:err-400", false)).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        check(&refused, "openai:err-400");
    }
    let path = "/v1/embeddings";
    check(
        &face.ask("POST", path, &body(path, "openai:fake-small", false)).await,
        "openai:fake-small",
    );
    let path = "/v1/chat/completions";
    check(&face.ask("POST", path, &body(path, "demo:scout", false)).await, "demo:scout");
    // Nobody was asked.
    let unknown = face.ask("POST", path, &body(path, "nothing", false)).await;
    assert_eq!(answered_by(&unknown.head), None, "{unknown:?}");
}
