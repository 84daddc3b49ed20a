//! An Althing that is its own provider, directly or by way of another.

use super::super::Limits;
use super::kit::{Face, KEY, TOKEN};
use super::through::{body, face, streamed};
use crate::service::words::{AddApiKey, RouteTarget};
use althing_stdx::redact::Secret;
use althing_testkit::{Options, Upstream};

const PATHS: [&str; 4] =
    ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"];

/// A face that calls an upstream `up` its provider.
async fn with_upstream(upstream: &Upstream) -> Face {
    let url = format!("{}/v1", upstream.url());
    let env = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", url.as_str())];
    Face::with(Limits::default(), &env).await
}

/// Makes `other` the provider `name` of `face`.
async fn add(face: &Face, name: &str, other: &Face) {
    let wanted = AddApiKey {
        name: name.into(),
        provider_type: "custom".into(),
        api_key: Some(Secret::new(TOKEN)),
        base_url: Some(format!("http://{}/v1", other.address)),
    };
    let added = face.service.add_api_key(wanted).await.unwrap();
    assert_eq!((added.provider_id.as_str(), added.note), (name, None));
}

/// Makes the alias `round` of `face` lead to that of the provider `to`, or to another model.
async fn lead(face: &Face, to: &str, model: &str) {
    let target = RouteTarget { provider_id: to.into(), model_id: model.into() };
    face.service.set_route("round", vec![target]).await.unwrap();
}

/// Requests so far that came in at `face`, of any kind.
async fn requests(face: &Face) -> i64 {
    face.service.metrics.snapshot().await.unwrap().requests_total
}

#[tokio::test]
async fn two_that_point_at_each_other_stop_at_the_first_turn() {
    let upstream = Upstream::start(Options::default());
    let (ada, bob) = (with_upstream(&upstream).await, with_upstream(&upstream).await);
    lead(&bob, "openai", "fake-large").await;
    add(&ada, "bob", &bob).await;
    lead(&ada, "bob", "round").await;
    // Through one more than before, and to its end.
    let answer = ada.ask("POST", PATHS[0], &body(PATHS[0], "round", false)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let seen = upstream.requests().pop().unwrap();
    assert_eq!(seen.header("x-althing-hops").split(", ").count(), 2);
    add(&bob, "ada", &ada).await;
    lead(&bob, "ada", "round").await;
    let before = upstream.requests().len();
    for path in PATHS {
        let [adas, bobs] = [requests(&ada).await, requests(&bob).await];
        let answer = ada.ask("POST", path, &body(path, "round", false)).await;
        assert!(answer.status >= 400, "{path}: {answer:?}");
        assert!(answer.body.contains("its own provider"), "{path}: {answer:?}");
        let [adas, bobs] = [requests(&ada).await - adas, requests(&bob).await - bobs];
        assert_eq!((adas, bobs), (1, 1), "{path}: nobody asks twice");
    }
    for path in &PATHS[..3] {
        let mut line = ada.connect().await;
        line.send(&streamed(&ada, path, "round")).await;
        let got = line.rest().await;
        assert!(got.contains("its own provider"), "{path}: {got}");
    }
    assert_eq!(upstream.requests().len(), before, "and nobody else");
    // Lists end as well, and say what is there.
    for face in [&ada, &bob] {
        let listed = face.ask("GET", "/v1/models", "").await;
        assert!(listed.body.contains("\"openai:fake-large\""), "{listed:?}");
    }
}

#[tokio::test]
async fn what_comes_back_is_refused_with_words_that_no_client_repeats() {
    let upstream = Upstream::start(Options::default());
    let face = face(&upstream).await;
    let asked = body(PATHS[0], "openai:fake-large", false);
    assert_eq!(face.ask("POST", PATHS[0], &asked).await.status, 200);
    let seen = upstream.requests().pop().unwrap();
    let own = format!("x-althing-hops: 12ab, {}\r\n", seen.header("x-althing-hops"));
    let before = upstream.requests().len();
    for (hops, words) in [
        (own.as_str(), "its own provider"),
        ("x-althing-hops: a, b, c, d, e\r\n", "come through 5 Althings"),
    ] {
        for path in PATHS {
            let mut line = face.connect().await;
            let asked = body(path, "openai:fake-large", false);
            line.send(&face.request("POST", path, hops, &asked)).await;
            let answer = line.answer().await;
            assert_eq!(answer.status, 508, "{path}: {answer:?}");
            assert!(answer.body.contains(words), "{path}: {answer:?}");
            assert!(answer.head.contains("x-should-retry: false"), "{answer:?}");
        }
    }
    assert_eq!(upstream.requests().len(), before);
}

#[tokio::test]
async fn a_discussion_carries_on_the_way_of_its_request() {
    let upstream = Upstream::start(Options::default());
    let face = face(&upstream).await;
    let asked = body(PATHS[0], "althing/standard", true);
    let mut line = face.connect().await;
    let hops = "connection: close\r\nx-althing-hops: 12ab\r\n";
    line.send(&face.request("POST", PATHS[0], hops, &asked)).await;
    let got = line.rest().await;
    assert!(got.contains("data: [DONE]"), "{got}");
    let seen = upstream.requests();
    let asked: Vec<_> = seen.iter().filter(|it| !it.model.is_empty()).collect();
    assert!(asked.len() > 3, "they spoke: {}", asked.len());
    assert!(asked.iter().all(|it| it.header("x-althing-hops").starts_with("12ab, ")));
}

#[tokio::test]
async fn nobody_adds_the_face_itself() {
    let face = Face::start(Limits::default()).await;
    let wanted = AddApiKey {
        name: "me".into(),
        provider_type: "custom".into(),
        api_key: None,
        base_url: Some(format!("http://localhost:{}/v1", face.address.port())),
    };
    let fault = face.service.add_api_key(wanted).await.unwrap_err();
    assert!(fault.message.contains("is where Althing itself listens"), "{fault}");
    let kept = face.service.list_providers().await.unwrap();
    assert!(kept.iter().all(|it| it.provider_id != "me"), "{kept:?}");
}
