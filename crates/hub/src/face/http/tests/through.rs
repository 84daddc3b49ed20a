//! From a raw socket through the face to an upstream and back.

use super::super::Limits;
use super::kit::{Face, KEY, Line};
use crate::service::words::RouteTarget;
use althing_testkit::upstream::{Dialect, Route};
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::time::Duration;

/// A face with a provider of either language, both at `upstream`.
pub async fn face(upstream: &Upstream) -> Face {
    face_with(upstream, &[]).await
}

/// As `face`, with more variables.
pub async fn face_with(upstream: &Upstream, more: &[(&str, &str)]) -> Face {
    let (url, openai) = (upstream.url(), format!("{}/v1", upstream.url()));
    let env = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", openai.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", url.as_str()),
    ];
    Face::with(Limits::default(), &[&env, more].concat()).await
}

fn upstream() -> Upstream {
    Upstream::start(Options::default().text(|_| "Hello there.".into()))
}

const PATHS: [&str; 3] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];

/// A small request in the language of `path`.
pub fn body(path: &str, model: &str, stream: bool) -> String {
    let said = json!([{ "role": "user", "content": "Hi" }]);
    let mut body = json!({ "model": model, "stream": stream });
    match path {
        "/v1/responses" => body["input"] = said,
        "/v1/embeddings" => body["input"] = "Hi".into(),
        _ => body["messages"] = said,
    }
    if path == "/v1/messages" {
        body["max_tokens"] = 100.into();
    }
    body.to_string()
}

fn text(path: &str, answer: &Value) -> String {
    let text = match path {
        "/v1/chat/completions" => &answer["choices"][0]["message"]["content"],
        "/v1/messages" => &answer["content"][0]["text"],
        _ => &answer["output"][0]["content"][0]["text"],
    };
    text.as_str().unwrap_or_else(|| panic!("{answer}")).to_string()
}

#[tokio::test]
async fn every_language_reaches_every_model() {
    let upstream = upstream();
    let face = face(&upstream).await;
    for path in PATHS {
        for model in ["openai:fake-large", "anthropic:fake-large"] {
            let answer = face.ask("POST", path, &body(path, model, false)).await;
            assert_eq!(answer.status, 200, "{path} {model}: {answer:?}");
            assert_eq!(text(path, &answer.json()), "Hello there.", "{path} {model}");
            let mut line = face.connect().await;
            line.send(&streamed(&face, path, model)).await;
            let got = line.rest().await;
            assert!(got.starts_with("HTTP/1.1 200 OK"), "{path} {model}: {got}");
            assert!(got.contains("text/event-stream"), "{got}");
            let end = match path {
                "/v1/chat/completions" => "data: [DONE]",
                "/v1/messages" => "event: message_stop",
                _ => "event: response.completed",
            };
            assert!(got.contains(end), "{path} {model}: {got}");
        }
    }
}

/// A request for a stream on a connection that closes after it.
pub fn streamed(face: &Face, path: &str, model: &str) -> String {
    face.request("POST", path, "connection: close\r\n", &body(path, model, true))
}

#[tokio::test]
async fn the_same_language_passes_as_it_is() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let sent = r#"{ "messages": [{"role":"user","content":"Hi"}], "model" : "openai:fake-large", "odd": 1.50 }"#;
    let answer = face.ask("POST", "/v1/chat/completions", sent).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let seen = upstream.requests();
    let seen: Vec<&Seen> =
        seen.iter().filter(|it| it.path.ends_with("/chat/completions")).collect();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].body["model"], "fake-large");
    assert_eq!(seen[0].body["odd"].to_string(), "1.5");
    assert_eq!(seen[0].header("authorization"), format!("Bearer {KEY}"));
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.requests_failed), (1, 0));
    assert!(used.prompt_tokens_total > 0, "{used:?}");
}

#[tokio::test]
async fn a_response_passes_as_it_is() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let path = "/v1/responses";
    let sent = json!({ "model": "openai:fake-large", "input": "Hi", "previous_response_id": "r" });
    let answer = face.ask("POST", path, &sent.to_string()).await;
    assert_eq!(answer.json()["id"], "resp_fake_1", "{answer:?}");
    let failed = face.ask("POST", path, &body(path, "openai:err-429", true)).await;
    assert_eq!(failed.status, 429, "{failed:?}");
    assert_eq!(failed.json()["error"]["code"], "rate_limit_exceeded");
    let seen = upstream.requests();
    let seen: Vec<&Seen> =
        seen.iter().filter(|it| it.route == Route::Chat(Dialect::Responses)).collect();
    assert_eq!(seen[0].body["previous_response_id"], "r", "what is not translated is not lost");
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.prompt_tokens_total, used.completion_tokens_total), (1, 2));
    assert!(used.requests_failed > 0);
}

#[tokio::test]
async fn vectors_and_counts_pass_as_they_are() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let texts = json!({ "model": "openai:fake-large", "input": ["one two", "three"] });
    let answer = face.ask("POST", "/v1/embeddings", &texts.to_string()).await;
    let vectors = answer.json()["data"].clone();
    assert_eq!(vectors[0]["embedding"], json!([7, 0.5, -0.25]), "{answer:?}");
    assert_eq!(vectors[1]["index"], 1, "{answer:?}");
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.prompt_tokens_total), (1, 3));
    let counted = body("/v1/messages", "anthropic:fake-large", false);
    let answer = face.ask("POST", "/v1/messages/count_tokens", &counted).await;
    assert_eq!(answer.json(), json!({ "input_tokens": 1 }), "{answer:?}");
    assert!(!answer.head.contains("x-althing-tokens"), "{answer:?}");
    for path in ["/v1/embeddings", "/v1/messages/count_tokens"] {
        let provider = if path == "/v1/embeddings" { "openai" } else { "anthropic" };
        let wrong = json!({ "model": format!("{provider}:err-400"), "input": "x" });
        assert_eq!(face.ask("POST", path, &wrong.to_string()).await.status, 400, "{path}");
    }
    // To count is no request to a model, whether it works or not.
    let used = face.service.metrics.snapshot().await.unwrap();
    let counts = (used.requests_total, used.requests_failed, used.requests_unpriced);
    assert_eq!(counts, (2, 1, 2), "the vectors alone");
}

#[tokio::test]
async fn a_route_of_several_languages_falls_back_by_translation() {
    let models = ["fake-large", "err-503"];
    let upstream =
        Upstream::start(Options::default().models(models).text(|_| "Hello there.".into()));
    let face = face(&upstream).await;
    let target = |provider: &str, model: &str| RouteTarget {
        provider_id: provider.into(),
        model_id: model.into(),
    };
    for (first, second) in [("openai", "anthropic"), ("anthropic", "openai")] {
        let targets = vec![target(first, "err-503"), target(second, "fake-large")];
        face.service.set_route(first, targets).await.unwrap();
        for path in PATHS {
            let answer = face.ask("POST", path, &body(path, first, false)).await;
            assert_eq!(answer.status, 200, "{first} {path}: {answer:?}");
            assert_eq!(text(path, &answer.json()), "Hello there.", "{first} {path}");
            let mut line = face.connect().await;
            line.send(&streamed(&face, path, first)).await;
            let got = line.rest().await;
            assert!(got.starts_with("HTTP/1.1 200 OK"), "{first} {path}: {got}");
        }
    }
    let chats = upstream.requests();
    let asked = |dialect| chats.iter().any(|it| it.route == Route::Chat(dialect));
    assert!(asked(Dialect::OpenAi) && asked(Dialect::Anthropic));
    assert_eq!(upstream.count("err-503"), 2, "once for each: then it rests");
}

#[tokio::test]
async fn what_an_answer_must_be_reaches_models_of_another_language() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let mut sent = json!({
        "model": "anthropic:fake-large", "stop": "END",
        "messages": [{ "role": "user", "content": "Hi" }],
        "tools": [{ "type": "function", "function": { "name": "look" } }],
        "tool_choice": { "type": "function", "function": { "name": "look" } },
    });
    let path = "/v1/chat/completions";
    let answer = face.ask("POST", path, &sent.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let seen = upstream.requests();
    let body = &seen.iter().find(|it| it.route == Route::Chat(Dialect::Anthropic)).unwrap().body;
    assert_eq!(body["tool_choice"], json!({ "type": "tool", "name": "look" }));
    assert_eq!(body["stop_sequences"], json!(["END"]));
    // What has no field there is asked for in words.
    sent["response_format"] = json!({ "type": "json_object" });
    let answer = face.ask("POST", path, &sent.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let seen = upstream.requests();
    let body = &seen.iter().rfind(|it| it.route == Route::Chat(Dialect::Anthropic)).unwrap().body;
    let system = body["system"].as_str().unwrap();
    assert!(system.starts_with("Answer with one JSON object and nothing else"), "{body}");
}

#[tokio::test]
async fn faults_keep_their_status_and_the_clients_shape() {
    let upstream = upstream();
    let face = face(&upstream).await;
    for path in PATHS {
        for (model, status) in [
            ("anthropic:err-429", 429),
            ("anthropic:err-401", 401),
            ("anthropic:err-400", 400),
            ("nobody:nothing", 404),
            ("althing/nothing", 404),
        ] {
            for stream in [false, true] {
                let answer = face.ask("POST", path, &body(path, model, stream)).await;
                assert_eq!(answer.status, status, "{path} {model}: {answer:?}");
                assert!(answer.json()["error"]["message"].is_string(), "{answer:?}");
                assert!(!answer.body.contains(KEY), "{answer:?}");
                let is_anthropic = answer.json()["type"] == "error";
                assert_eq!(is_anthropic, path == "/v1/messages", "{answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_bad_name_is_a_fault_of_the_field_it_stands_in() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let both = "model: 'fake-large' can be openai:fake-large or anthropic:fake-large; name one";
    let silent = "model: 'demo:skeptic' has no embeddings; take another";
    for (path, model, want) in [
        ("/v1/chat/completions", "fake-large", both),
        ("/v1/responses", "fake-large", both),
        ("/v1/embeddings", "fake-large", both),
        ("/v1/chat/completions", "", "model: '' is no name"),
        ("/v1/embeddings", "", "model: '' is no name"),
        ("/v1/embeddings", "demo:skeptic", silent),
    ] {
        let answer = face.ask("POST", path, &body(path, model, false)).await;
        assert_eq!(answer.status, 400, "{path} {model}: {answer:?}");
        let error = answer.json()["error"].clone();
        assert_eq!((&error["message"], &error["param"]), (&json!(want), &json!("model")));
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_call() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let models = ["openai:hang", "openai:stall", "anthropic:hang", "anthropic:stall"];
    let mut expected = 0;
    for model in models {
        for stream in [false, true] {
            let mut line = face.connect().await;
            let path = "/v1/chat/completions";
            line.send(&face.request("POST", path, "", &body(path, model, stream))).await;
            expected += 1;
            upstream.wait_for(|seen| chats(seen) == expected).await;
            drop(line);
            upstream
                .wait_for(|seen| seen.iter().filter(|it| it.aborted()).count() == expected)
                .await;
        }
    }
    assert_eq!(upstream.in_flight(), 0);
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.requests_failed), (expected as i64, 0));
}

#[tokio::test]
async fn a_client_that_leaves_its_vectors_is_counted() {
    let never = Duration::from_secs(60 * 60);
    let upstream = Upstream::start(Options::default().latency(never));
    let (url, openai) = (upstream.url(), format!("{}/v1", upstream.url()));
    let env = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", openai.as_str()),
        ("OLLAMA_BASE_URL", url.as_str()),
    ];
    let face = Face::with(Limits::default(), &env).await;
    // As it is, and translated.
    for (left, model) in ["openai:a", "ollama:a"].into_iter().enumerate() {
        let mut line = face.connect().await;
        let body = json!({ "model": model, "input": "a" }).to_string();
        line.send(&face.request("POST", "/v1/embeddings", "", &body)).await;
        upstream.wait_for(|seen| seen.len() > left).await;
        drop(line);
        upstream.wait_for(|seen| seen.iter().filter(|it| it.aborted()).count() > left).await;
    }
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.requests_failed), (2, 0));
}

#[tokio::test]
async fn closing_a_connection_ends_its_call() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let mut line: Line = face.connect().await;
    let path = "/v1/messages";
    line.send(&face.request("POST", path, "", &body(path, "openai:hang", true))).await;
    upstream.wait_for(|seen| chats(seen) == 1).await;
    let id = face.service.connections.list()[0].connection_id.clone();
    face.service.connections.close(&id).unwrap();
    assert_eq!(line.rest().await, "");
    upstream.wait_for(|seen| seen.iter().any(Seen::aborted)).await;
}

fn chats(seen: &[Seen]) -> usize {
    seen.iter().filter(|it| matches!(it.route, Route::Chat(_))).count()
}

#[tokio::test]
async fn models_are_listed_in_both_shapes() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let openai = face.ask("GET", "/v1/models", "").await.json();
    let ids: Vec<&str> =
        openai["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    for id in ["openai:fake-large", "anthropic:fake-large", "althing/standard"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    assert!(!ids.contains(&"fake-large"), "two providers have it: {ids:?}");
    let one = face.ask("GET", "/v1/models/althing/standard", "").await;
    assert_eq!((one.status, one.json()["id"].as_str()), (200, Some("althing/standard")));
    assert_eq!(face.ask("GET", "/v1/models/none", "").await.status, 404);
    let mut line = face.connect().await;
    let version = "anthropic-version: 2023-06-01\r\n";
    line.send(&face.request("GET", "/v1/models", version, "")).await;
    assert_eq!(line.answer().await.json()["has_more"], false);
}

#[tokio::test]
async fn tokens_are_guessed_where_nobody_counts_and_it_is_said() {
    let upstream = upstream();
    let face = face(&upstream).await;
    let body = body("/v1/messages", "openai:fake-large", false);
    let answer = face.ask("POST", "/v1/messages/count_tokens", &body).await;
    assert_eq!(answer.json(), json!({ "input_tokens": 1 }));
    assert!(answer.head.contains("x-althing-tokens: estimate"), "{answer:?}");
}

#[tokio::test]
async fn metrics_are_for_whoever_has_the_token() {
    let face = Face::start(Limits::default()).await;
    let answer = face.ask("GET", "/metrics", "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("althing_connections{face=\"http\"} 1"), "{answer:?}");
}

#[tokio::test]
async fn a_discussion_answers_as_a_model_does() {
    let face = Face::start(Limits::default()).await;
    for path in PATHS {
        let answer = face.ask("POST", path, &body(path, "althing/standard", false)).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let text = text(path, &answer.json());
        assert!(text.contains("scripted demo voices"), "{text}");
        let mut line = face.connect().await;
        line.send(&streamed(&face, path, "althing/standard")).await;
        let got = line.rest().await;
        assert!(got.contains("\n: phase 1 of "), "{got}");
    }
    let runs = face.service.store.runs(10).await.unwrap();
    assert_eq!(runs.len(), 6, "every one is in the history");
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_discussion_along() {
    let upstream = Upstream::start(Options::default().mishap(|seen| match seen.route {
        Route::Chat(_) => Some("hang"),
        _ => None,
    }));
    let face = face(&upstream).await;
    let path = "/v1/chat/completions";
    let mut line = face.connect().await;
    line.send(&streamed(&face, path, "althing/standard")).await;
    upstream.wait_for(|seen| chats(seen) > 0).await;
    drop(line);
    let is_call = |seen: &&Seen| matches!(seen.route, Route::Chat(_));
    upstream.wait_for(|seen| seen.iter().filter(is_call).all(Seen::aborted)).await;
    assert_eq!(upstream.in_flight(), 0);
}
