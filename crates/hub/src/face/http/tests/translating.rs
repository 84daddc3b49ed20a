//! What is translated on the way, what a header says of the rest, and what is counted.

use super::kit::{Answer, Face};
use super::through::{face, face_with};
use crate::service::words::RouteTarget;
use althing_testkit::upstream::{Dialect, Route};
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};

const IGNORED: &str = "x-althing-ignored: ";

fn says(text: &'static str) -> Upstream {
    Upstream::start(Options::default().text(move |_| text.into()))
}

async fn post(face: &Face, path: &str, body: Value) -> Answer {
    face.ask("POST", path, &body.to_string()).await
}

fn ignored(answer: &Answer) -> Option<&str> {
    answer.head.lines().find_map(|line| line.strip_prefix(IGNORED))
}

fn last(upstream: &Upstream, dialect: Dialect) -> Seen {
    let seen = upstream.requests().into_iter().rev().find(|it| it.route == Route::Chat(dialect));
    seen.expect("somebody was asked")
}

#[tokio::test]
async fn a_picture_crosses_from_one_language_to_the_other() {
    let upstream = says("A cat.");
    let face = face_with(&upstream, &[("OLLAMA_BASE_URL", &upstream.url())]).await;
    let picture =
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
    let look = |model: &str, part: &Value| {
        let text = json!({ "type": "text", "text": "What is it?" });
        json!({ "model": model, "messages": [{ "role": "user", "content": [text, part] }] })
    };
    let chat = "/v1/chat/completions";
    let answer = post(&face, chat, look("anthropic:m", &picture)).await;
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "A cat.", "{answer:?}");
    let block = last(&upstream, Dialect::Anthropic).body["messages"][0]["content"][1].clone();
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "AAAA" });
    assert_eq!(block, json!({ "type": "image", "source": source }));
    post(&face, chat, look("ollama:m", &picture)).await;
    assert_eq!(last(&upstream, Dialect::Ollama).body["messages"][0]["images"], json!(["AAAA"]));
    // The other way round, with a picture in a tool's result too.
    let image = json!({ "type": "image", "source": { "type": "url", "url": "https://x/y.png" } });
    let result = json!({ "type": "tool_result", "tool_use_id": "t", "content": [image] });
    let call = json!({ "type": "tool_use", "id": "t", "name": "look", "input": {} });
    let messages = json!([
        { "role": "user", "content": [image] },
        { "role": "assistant", "content": [call] },
        { "role": "user", "content": [result] },
    ]);
    let body = json!({ "model": "openai:m", "max_tokens": 9, "messages": messages });
    assert_eq!(post(&face, "/v1/messages", body).await.status, 200);
    let said = last(&upstream, Dialect::OpenAi).body["messages"].clone();
    let part = json!({ "type": "image_url", "image_url": { "url": "https://x/y.png" } });
    assert_eq!(said[0]["content"], json!([part]));
    assert_eq!(said[2]["role"], "tool");
    assert_eq!(said[3]["content"][1], part);
    // What a language has no words for is an error that names the field.
    let file =
        json!({ "type": "file", "file": { "file_data": "data:application/pdf;base64,AAAA" } });
    let refused = post(&face, chat, look("ollama:m", &file)).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["param"]),
        (400, &json!("messages[0].content[1]"))
    );
    let sound = json!({ "type": "input_audio", "input_audio": {} });
    let refused = post(&face, chat, look("anthropic:m", &sound)).await;
    assert_eq!(refused.json()["error"]["param"], "messages[0].content[1].type");
}

#[tokio::test]
async fn a_header_names_what_is_not_heeded() {
    let models = ["err-503", "claude-sonnet-4-5"];
    let options = Options::default().text(|_| "Hello there.".into());
    let upstream = Upstream::start(options.without_calls().models(models));
    let face = face(&upstream).await;
    let route = |provider: &str, model: &str| RouteTarget {
        provider_id: provider.into(),
        model_id: model.into(),
    };
    // The first one fails, and what the second one leaves out is what counts.
    let targets = vec![route("openai", "err-503"), route("anthropic", "claude-sonnet-4-5")];
    face.service.set_route("both", targets).await.unwrap();
    for model in ["anthropic:claude-sonnet-4-5", "both"] {
        for stream in [false, true] {
            let body = json!({
                "model": model,
                "stream": stream,
                "seed": 7,
                "top_p": 0.5,
                "presence_penalty": 0,
                "parallel_tool_calls": false,
                "logit_bias": { "7": 1 },
                "messages": [{ "role": "user", "content": "Hi" }],
                "tools": [{ "type": "function", "function": { "name": "f" } }],
                "tool_choice": "none",
            });
            let mut line = face.connect().await;
            let more = "connection: close\r\n";
            let path = "/v1/chat/completions";
            line.send(&face.request("POST", path, more, &body.to_string())).await;
            let got = line.rest().await;
            assert!(got.contains(&format!("{IGNORED}logit_bias, seed\r\n")), "{got}");
            let seen = last(&upstream, Dialect::Anthropic).body;
            assert_eq!(
                (&seen["top_p"], &seen["tool_choice"]["type"]),
                (&json!(0.5), &json!("none"))
            );
        }
    }
    let body = json!({ "model": "anthropic:m", "messages": [{ "role": "user", "content": "Hi" }] });
    assert_eq!(ignored(&post(&face, "/v1/chat/completions", body).await), None);
    let tools = json!([{ "type": "web_search" }]);
    let body = json!({ "model": "anthropic:m", "input": "Hi", "tools": tools, "store": true });
    let answer = post(&face, "/v1/responses", body).await;
    assert_eq!(ignored(&answer), Some("store, tools[0]"), "{answer:?}");
}

#[tokio::test]
async fn a_server_without_responses_is_asked_to_chat() {
    let text = |_: &Seen| "Hello there.".to_string();
    let speaks = [Dialect::OpenAi];
    let upstream = Upstream::start(Options::default().text(text).speaks(speaks));
    let face = face(&upstream).await;
    for (round, path) in ["/v1/responses", "/v1/responses", "/v1/completions"].iter().enumerate() {
        let body = match *path {
            "/v1/responses" => json!({ "model": "openai:m", "input": "Hi" }),
            _ => json!({ "model": "openai:m", "prompt": "Hi" }),
        };
        let answer = post(&face, path, body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains("Hello there."), "{answer:?}");
        // The path that is missing is tried once.
        let asked = upstream.requests();
        let missing = asked.iter().filter(|it| !it.path.ends_with("/chat/completions"));
        let tried = missing.filter(|it| it.path.ends_with("/responses")).count();
        assert_eq!(tried, 1, "round {round}");
    }
    let used = face.service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.requests_failed), (3, 0));
    // A model that nobody knows is no missing path.
    let answer =
        post(&face, "/v1/responses", json!({ "model": "openai:err-404", "input": "x" })).await;
    assert_eq!(answer.status, 404, "{answer:?}");
}

#[tokio::test]
async fn a_prompt_is_completed_by_every_model() {
    let upstream = says("Hello there.");
    let face = face(&upstream).await;
    for model in ["openai:m", "anthropic:m"] {
        let body = json!({ "model": model, "prompt": ["Say hello."], "max_tokens": 9 });
        let whole = post(&face, "/v1/completions", body.clone()).await.json();
        assert_eq!(whole["choices"][0]["text"], "Hello there.", "{whole}");
        assert_eq!(
            (&whole["object"], &whole["choices"][0]["finish_reason"]),
            (&json!("text_completion"), &json!("stop"))
        );
        assert!(whole["usage"]["total_tokens"].as_u64().unwrap() > 0, "{whole}");
    }
    let echo = json!({ "model": "anthropic:m", "prompt": "Say: ", "echo": true });
    let whole = post(&face, "/v1/completions", echo).await.json();
    assert_eq!(whole["choices"][0]["text"], "Say: Hello there.");
    let passed = last(&upstream, Dialect::Completions).body;
    assert_eq!(passed["prompt"], json!(["Say hello."]), "it passes as it is");
    for (field, value) in [("n", json!(2)), ("suffix", json!("x")), ("prompt", json!(["a", "b"]))] {
        let mut body = json!({ "model": "anthropic:m", "prompt": "x" });
        body[field] = value;
        let refused = post(&face, "/v1/completions", body).await;
        assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!(field)));
    }
}

/// Nobody has to ask for the count of a stream, and nobody sees it who has not.
#[tokio::test]
async fn streams_are_counted_and_the_count_is_kept() {
    let upstream = says("Hello there.");
    let face = face(&upstream).await;
    for (path, body) in [
        ("/v1/chat/completions", json!({ "messages": [{ "role": "user", "content": "Hi" }] })),
        ("/v1/completions", json!({ "prompt": "Hi" })),
    ] {
        let before = face.service.metrics.snapshot().await.unwrap();
        let mut body = body;
        (body["model"], body["stream"]) = (json!("openai:m"), json!(true));
        let mut line = face.connect().await;
        line.send(&face.request("POST", path, "connection: close\r\n", &body.to_string())).await;
        let got = line.rest().await;
        assert!(got.contains("data: [DONE]") && !got.contains("usage"), "{got}");
        let after = face.service.metrics.snapshot().await.unwrap();
        assert_eq!(after.prompt_tokens_total - before.prompt_tokens_total, 1, "{after:?}");
        assert_eq!(after.completion_tokens_total - before.completion_tokens_total, 2);
    }
}
