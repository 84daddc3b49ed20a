//! Texts as vectors from a provider that does not speak the client's language.

use super::super::Limits;
use super::kit::Face;
use crate::service::words::RouteTarget;
use althing_testkit::upstream::{Dialect, Route};
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};

/// A face whose Ollama is `upstream`.
async fn face(upstream: &Upstream) -> Face {
    Face::with(Limits::default(), &[("OLLAMA_BASE_URL", &upstream.url())]).await
}

async fn embed(face: &Face, model: &str, texts: Value) -> Value {
    let body = json!({ "model": model, "input": texts }).to_string();
    let answer = face.ask("POST", "/v1/embeddings", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn they_come_in_the_clients_shape() {
    let upstream = Upstream::start(Options::default());
    let face = face(&upstream).await;
    let got = embed(&face, "ollama:fake-large", json!(["one two", "three"])).await;
    let row = |at: usize, length: f32| json!({ "object": "embedding", "index": at, "embedding": [length, 0.5, -0.25] });
    assert_eq!(got["data"], json!([row(0, 7.0), row(1, 5.0)]), "{got}");
    assert_eq!(got["usage"], json!({ "prompt_tokens": 3, "total_tokens": 3 }), "{got}");
    let seen = upstream.requests();
    assert!(seen.iter().any(|it| it.route == Route::Embed(Dialect::Ollama)), "{seen:?}");
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.prompt_tokens_total), (1, 3));
}

#[tokio::test]
async fn a_route_falls_back_and_lets_rest_who_failed() {
    let upstream = Upstream::start(Options::default().models(["err-404", "fake-large"]));
    let face = face(&upstream).await;
    let target = |model: &str| RouteTarget { provider_id: "ollama".into(), model_id: model.into() };
    let targets = vec![target("err-404"), target("fake-large")];
    face.service.set_route("vectors", targets).await.unwrap();
    for _ in 0..2 {
        embed(&face, "vectors", json!("one")).await;
    }
    assert_eq!(upstream.count("err-404"), 1, "it rests");
    assert_eq!(upstream.count("fake-large"), 2);
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.requests_failed), (2, 0), "what was answered is");
}
