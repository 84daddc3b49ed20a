//! What each dialect says on the wire.

use super::client::{Call, chat, get};
use crate::upstream::{Dialect, Options, Upstream};
use expect_test::{ExpectFile, expect_file};
use serde_json::{Value, json};

async fn check(options: Options, calls: impl IntoIterator<Item = Call>, want: ExpectFile) {
    let upstream = Upstream::start(options.chunks(2));
    let mut transcript = String::new();
    for call in calls {
        transcript += &call.transcript(&upstream).await;
    }
    want.assert_eq(&transcript);
}

fn echo() -> Options {
    Options::default().text(|seen| format!("You said {:?}.", seen.prompt()))
}

/// Every model name with a meaning, streamed and not, where it comes to an end.
fn mishaps(dialect: Dialect) -> Vec<Call> {
    let whole = [
        "err-400",
        "err-401",
        "err-402",
        "err-404",
        "err-413",
        "err-429",
        "err-500",
        "err-503",
        "err-529",
        "err-key",
        "err-quota",
        "err-context",
        "html",
        "redirect",
        "flaky-1",
        "flaky-1",
        "empty",
        "refuse",
        "refuse-filter",
        "err-midstream",
        "err-early",
        "cut",
    ];
    let streamed = ["empty", "refuse", "refuse-filter", "err-midstream", "err-early", "cut"];
    let whole = whole.iter().map(|model| chat(dialect, model, false));
    whole.chain(streamed.iter().map(|model| chat(dialect, model, true))).collect()
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}})
}

#[tokio::test]
async fn openai() {
    let dialect = Dialect::OpenAi;
    let tools = json!([{"type": "function", "function": {"name": "look", "parameters": schema()}}]);
    let result = json!([{"role": "tool", "tool_call_id": "call_fake_1", "content": "sunny"}]);
    let calls = [
        chat(dialect, "m", false),
        chat(dialect, "m", true),
        chat(dialect, "m", true).with("stream_options", json!({"include_usage": true})),
        chat(dialect, "m", false).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools).with("messages", result),
        get("/v1/models"),
        get("/v1/nowhere"),
    ];
    let want = expect_file!["../../../testdata/openai.txt"];
    check(echo(), calls.into_iter().chain(mishaps(dialect)), want).await;
}

#[tokio::test]
async fn anthropic() {
    let dialect = Dialect::Anthropic;
    let tools = json!([{"name": "look", "input_schema": schema()}]);
    let result = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_fake_1", "content": "sunny"}
    ]}]);
    let calls = [
        chat(dialect, "m", false),
        chat(dialect, "m", true),
        chat(dialect, "m", false).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools).with("messages", result),
        get("/v1/models").header("anthropic-version", "2023-06-01"),
    ];
    let want = expect_file!["../../../testdata/anthropic.txt"];
    check(echo(), calls.into_iter().chain(mishaps(dialect)), want).await;
}

#[tokio::test]
async fn gemini() {
    let dialect = Dialect::Gemini;
    let tools = json!([{"functionDeclarations": [{"name": "look", "parameters": schema()}]}]);
    let result = json!([{"role": "user", "parts": [
        {"functionResponse": {"name": "look", "response": {"sky": "sunny"}}}
    ]}]);
    let array = |model: &str| {
        let call = chat(dialect, model, true);
        Call { path: call.path.replace("?alt=sse", ""), ..call }
    };
    let calls = [
        chat(dialect, "m", false),
        chat(dialect, "m", true),
        chat(dialect, "m", false).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools).with("contents", result),
        array("m"),
        array("empty"),
        array("err-404"),
        array("err-early"),
        array("err-midstream"),
        get("/v1beta/models"),
    ];
    let want = expect_file!["../../../testdata/gemini.txt"];
    check(echo(), calls.into_iter().chain(mishaps(dialect)), want).await;
}

#[tokio::test]
async fn ollama() {
    let dialect = Dialect::Ollama;
    let tools = json!([{"type": "function", "function": {"name": "look", "parameters": schema()}}]);
    let result = json!([{"role": "tool", "content": "sunny"}]);
    let mut unsaid = chat(dialect, "m", true);
    unsaid.body.as_object_mut().unwrap().remove("stream");
    let body = json!({"model": "m", "input": ["one two", "three"]});
    let embed = Call { path: "/api/embed".into(), body, ..chat(dialect, "m", false) };
    let calls = [
        chat(dialect, "m", false),
        unsaid,
        chat(dialect, "m", false).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools.clone()),
        chat(dialect, "m", true).with("tools", tools).with("messages", result),
        embed,
        get("/api/tags"),
        get("/api/version"),
    ];
    let want = expect_file!["../../../testdata/ollama.txt"];
    check(echo(), calls.into_iter().chain(mishaps(dialect)), want).await;
}

#[tokio::test]
async fn settings() {
    let dialect = Dialect::OpenAi;
    let mut broken = chat(dialect, "m", false);
    broken.body = json!("no object");
    let calls = [
        // The text without a hook, at any prefix.
        Call { path: "/any/prefix/chat/completions".into(), ..chat(dialect, "m", false) },
        // A header overrides the number of deltas, `max_tokens` does so too.
        chat(dialect, "m", true).header("x-fake-chunks", "1"),
        chat(dialect, "m", true).with("max_tokens", json!(3)),
        chat(dialect, "m", false).header("x-fake-error", "503"),
        chat(dialect, "m", true).header("x-fake-error", "early"),
        broken,
        // The hook of this test strikes the list.
        get("/v1/models"),
        get("/openai/v1/models").header("authorization", "Bearer good"),
        // A dialect the server was not told to speak.
        chat(Dialect::Ollama, "m", false),
        get("/api/tags"),
    ];
    let options = Options::default()
        .chunks_by_limit()
        .speaks([dialect])
        .models(["qwen3-8b"])
        .owned_by("llama-swap")
        .mishap(|seen| (seen.path == "/v1/models").then_some("err-key"));
    check(options, calls, expect_file!["../../../testdata/settings.txt"]).await;
}
