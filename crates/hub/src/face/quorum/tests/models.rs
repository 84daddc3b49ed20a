//! Lists of models, and whether one answers: against servers of the test's own.

use super::super::look::HOME_WAIT_MAX;
use super::kit::{Client, KEY, Machine, Still, named, nowhere};
use althing_testkit::upstream::Route;
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Calls until what is looked for in the background is there.
const CALLS_MAX: usize = 100_000;

async fn list(client: &mut Client) -> Value {
    client.call("list_models", json!({})).await["models"].take()
}

/// The list once it has `provider`.
async fn list_with(client: &mut Client, provider: &str) -> Value {
    for _ in 0..CALLS_MAX {
        let models = list(client).await;
        if !models[provider].is_null() {
            return models;
        }
    }
    panic!("{provider} is never found");
}

/// `provider: id (display), …` for each provider, in the order of the wire.
fn shown(models: &Value) -> Vec<String> {
    let entry = |provider: &str, entry: &Value| {
        assert_eq!(entry["provider"], provider);
        assert_eq!(entry.as_object().unwrap().len(), 3);
        let text = |name: &str| entry[name].as_str().unwrap().to_string();
        format!("{} ({})", text("id"), text("display_name"))
    };
    let group = |(provider, entries): (&String, &Value)| {
        let entries = entries.as_array().unwrap().iter().map(|it| entry(provider, it));
        format!("{provider}: {}", entries.collect::<Vec<_>>().join(", "))
    };
    models.as_object().unwrap().iter().map(group).collect()
}

/// Every list is taken and never sent.
fn black_hole() -> Options {
    Options::default().mishap(|seen| matches!(seen.route, Route::List(_)).then_some("hang"))
}

#[tokio::test(start_paused = true)]
async fn the_well_known_come_first_and_ollama_last() {
    let still = Still::hold();
    let models = ["llama3.2:1b", "nomic-embed-text", "gpt-5.1"];
    let is_slow = Arc::new(AtomicBool::new(false));
    let hangs = is_slow.clone();
    let hangs = move |seen: &Seen| {
        let is_list = matches!(seen.route, Route::List(_));
        (is_list && hangs.load(Ordering::Relaxed)).then_some("hang")
    };
    let upstream = Upstream::start(Options::default().models(models).mishap(hangs));
    let (url, v1) = (upstream.url(), format!("{}/v1", upstream.url()));
    let machine = Machine::new()
        .env("OLLAMA_BASE_URL", &url)
        .env("LMSTUDIO_BASE_URL", &v1)
        .env("CUSTOM_BASE_URL", &v1)
        .env("CUSTOM_MODELS", "own-1|Mine, gpt-5.1")
        .env("XAI_API_KEY", KEY)
        .env("XAI_BASE_URL", &v1)
        .env("XAI_MODELS", "grok-4-2025-01-31")
        .env("OPENAI_API_KEY", "sk-...")
        .env("GOOGLE_API_KEY", "");
    let mut client = machine.connect();
    let found = list_with(&mut client, "ollama").await;
    let want = [
        "openai: ",
        "anthropic: ",
        "google: ",
        "xai: grok-4-2025-01-31 (Grok 4)",
        "lmstudio: llama3.2:1b (Llama3.2 1b), gpt-5.1 (GPT 5.1)",
        "custom: own-1 (Mine), custom:gpt-5.1 (GPT 5.1)",
        "ollama: ollama:llama3.2:1b (Llama3.2 1b), ollama:gpt-5.1 (GPT 5.1)",
    ];
    assert_eq!(shown(&found), want);
    let providers = json!(["xai", "lmstudio", "custom", "ollama"]);
    assert_eq!(client.call("initialize", json!({})).await["providers"], providers);
    assert_eq!(client.call("get_config", json!({})).await["available_providers"], providers);

    // What is listed is what is asked, wherever else the same name is.
    for (id, provider) in [("gpt-5.1", "lm-studio"), ("custom:gpt-5.1", "custom")] {
        let answer = client.call("validate_model", json!({"model_id": id})).await;
        assert_eq!(answer, json!({"valid": true, "error": null}), "{id} {provider}");
    }
    drop(client);

    // The next start knows it of those that take too long to answer, but of nobody who is gone.
    is_slow.store(true, Ordering::Relaxed);
    drop(still);
    assert_eq!(shown(&list(&mut machine.connect()).await), want);
    drop(upstream);
    let _still = Still::hold();
    let gone = shown(&list(&mut machine.connect()).await);
    assert_eq!(gone[3..], [want[3], "custom: own-1 (Mine), gpt-5.1 (GPT 5.1)"]);
}

/// The first list of a first start: a frontend asks for no other.
#[tokio::test(start_paused = true)]
async fn the_first_list_has_what_this_machine_has() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default().models(["llama3.2:1b"]));
    let machine = Machine::new().env("OLLAMA_BASE_URL", &upstream.url());
    let models = list(&mut machine.connect()).await;
    let want = [
        "openai: ",
        "anthropic: ",
        "google: ",
        "xai: ",
        "ollama: ollama:llama3.2:1b (Llama3.2 1b)",
    ];
    assert_eq!(shown(&models), want);
    drop(upstream);
    // Only where nothing is found there are demo voices, and then at once.
    let models = list(&mut Machine::new().env("OLLAMA_BASE_URL", &nowhere()).connect()).await;
    assert_eq!(models["demo"].as_array().unwrap().len(), 3);
}

/// What the person listed stays, with the reason why it cannot be asked.
#[tokio::test(start_paused = true)]
async fn models_whose_key_is_missing_or_refused_stay_in_the_list() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default().mishap(|_| Some("err-key")));
    let v1 = format!("{}/v1", upstream.url());
    let machine = Machine::new()
        .env("XAI_MODELS", "grok-4")
        .env("OPENROUTER_MODELS", "maker/some-1|Some One")
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", &v1)
        .env("OPENAI_MODELS", "gpt-5.1")
        .file(".quorum/validated_models.json", r#"{"models":["gpt-5.1","grok-4","demo:ada"]}"#);
    let mut client = machine.connect();
    let listed = list(&mut client).await;
    let want = [
        "openai: gpt-5.1 (GPT 5.1)",
        "anthropic: ",
        "google: ",
        "xai: grok-4 (Grok 4)",
        "openrouter: maker/some-1 (Some One)",
    ];
    assert_eq!(shown(&listed), want);
    for (id, want) in [
        ("gpt-5.1", "Invalid API key"),
        ("grok-4", "xAI has no key: set XAI_API_KEY"),
        ("maker/some-1", "OpenRouter has no key: set OPENROUTER_API_KEY"),
    ] {
        let answer = client.call("validate_model", json!({"model_id": id})).await;
        assert_eq!(answer["valid"], false, "{id}");
        assert!(answer["error"].as_str().unwrap().contains(want), "{id}: {answer}");
    }
    let answer = client.call("list_models", json!({})).await;
    assert_eq!(answer["validated"], json!(["demo:ada"]), "frontends try the others again");
}

/// Quorum's names of agents are understood; what is missing is told by name.
#[tokio::test(start_paused = true)]
async fn agents_have_the_names_that_quorum_gives_them() {
    let mut client = Machine::new().env("PATH", "/nowhere").connect();
    for (id, want) in [("claude:opus", "claude"), ("codex:gpt-5.1@high", "codex")] {
        let answer = client.call("validate_model", json!({"model_id": id})).await;
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(want) && !error.contains("not found"), "{id}: {error}");
    }
}

/// Names as servers of one's own give them: a path, with a blank, too long alone or with the
/// provider.
#[tokio::test(start_paused = true)]
async fn what_is_listed_can_be_asked_for() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default());
    let (long, longer) = ("x".repeat(94), "x".repeat(101));
    let names = ["/models/Qwen3-8B.gguf", "my model", "_x", "qwen", &long, &longer];
    let v1 = format!("{}/v1", upstream.url());
    let machine = Machine::new()
        .env("LMSTUDIO_BASE_URL", &v1)
        .env("LMSTUDIO_MODELS", &format!("{},{long}", names[0]))
        .env("CUSTOM_BASE_URL", &v1)
        .env("CUSTOM_MODELS", &names.join(","));
    let mut client = machine.connect();
    let models = list(&mut client).await;
    let ids = |provider: &str| -> Vec<&str> {
        models[provider].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect()
    };
    assert_eq!(ids("lmstudio"), ["lmstudio:/models/Qwen3-8B.gguf", &long]);
    assert_eq!(ids("custom"), ["custom:/models/Qwen3-8B.gguf", "custom:_x", "qwen"]);
    for id in ids("lmstudio").into_iter().chain(ids("custom")) {
        let answer = client.call("validate_model", json!({"model_id": id})).await;
        assert_eq!(answer, json!({"valid": true, "error": null}), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_hardly_waited_for() {
    let upstream = Upstream::start(black_hole());
    let v1 = format!("{}/v1", upstream.url());
    let machine = Machine::new()
        .env("OLLAMA_BASE_URL", &upstream.url())
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", &v1)
        .env("QUORUM_PAUSE_TIMEOUT", "0");
    let start = Instant::now();
    let mut client = machine.connect();
    // The clock runs ahead where nobody has anything left to do.
    let models = list(&mut client).await;
    assert!(start.elapsed() <= HOME_WAIT_MAX + Duration::from_millis(10), "{:?}", start.elapsed());
    let _still = Still::hold();
    // Before anybody has answered: the usual models of a provider with a key.
    assert!(models["openai"].as_array().unwrap().iter().any(|model| model["id"] == "gpt-5.1"));
    assert_eq!(models.as_object().unwrap().len(), 4);

    // A provider's model is taken at its word.
    let (events, answer) = client.run(&["ollama:any", "openai:new"], json!({"max_turns": 1})).await;
    assert_eq!(answer["result"], json!({"status": "completed"}));
    assert_eq!(named(&events, "synthesis")[0]["synthesizer_model"], "ollama:any");
    assert!(start.elapsed().as_secs() < 1, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_calls() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default());
    let v1 = format!("{}/v1", upstream.url());
    let machine = Machine::new().env("CUSTOM_BASE_URL", &v1).env("CUSTOM_MODELS", "hang,stall");
    let mut client = machine.connect();
    let params = json!({"question": "Why?", "model_ids": ["hang", "stall"]});
    client.request("run_discussion", params).await;
    upstream.wait_for(|_| upstream.count("hang") + upstream.count("stall") == 2).await;
    client.request("cancel_discussion", json!({})).await;
    upstream.wait_for(|seen| seen.iter().filter(|it| it.aborted()).count() == 2).await;
    let mut names = Vec::new();
    for _ in 0..4 {
        let line: Value = serde_json::from_str(&client.read().await.unwrap()).unwrap();
        names.push(line["method"].as_str().map_or(line["result"].to_string(), String::from));
    }
    let completed = json!({"status": "completed"}).to_string();
    let requested = json!({"status": "cancellation_requested"}).to_string();
    assert_eq!(names, ["phase_start", "discussion_cancelled", &completed, &requested]);
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_is_not_waited_for() {
    let machine = Machine::new().voice("ada", "~");
    let mut client = machine.connect();
    let answer = client.call("validate_model", json!({"model_id": "demo:ada"})).await;
    assert_eq!(answer, json!({"valid": false, "error": "Timeout (30.0s)"}));
}

#[tokio::test(start_paused = true)]
async fn what_answers_is_remembered_until_it_does_not() {
    let machine = Machine::new().voice("ada", "Hello.").voice("ada", "!overloaded Too busy.");
    let mut client = machine.connect();
    let validated =
        async |client: &mut Client| client.call("list_models", json!({})).await["validated"].take();
    for id in ["demo:bob", "demo:ada"] {
        let answer = client.call("validate_model", json!({"model_id": id})).await;
        assert_eq!(answer, json!({"valid": true, "error": null}));
    }
    assert_eq!(validated(&mut client).await, json!(["demo:bob", "demo:ada"]));
    assert_eq!(validated(&mut machine.connect()).await, json!(["demo:bob", "demo:ada"]));
    let answer = client.call("validate_model", json!({"model_id": "demo:ada"})).await;
    assert_eq!(answer, json!({"valid": false, "error": "Too busy."}));
    assert_eq!(validated(&mut client).await, json!(["demo:bob"]));
    let answer = client.call("validate_model", json!({"model_id": "nobody"})).await;
    assert_eq!(answer, json!({"valid": false, "error": "Model not found"}));
    assert_eq!(validated(&mut client).await, json!(["demo:bob"]));
    assert_eq!(validated(&mut machine.connect()).await, json!(["demo:bob"]));
}

#[tokio::test(start_paused = true)]
async fn what_another_process_adds_is_used_at_once() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default().models(["gpt-5.1", "other"]));
    let machine = Machine::new();
    let mut client = machine.connect();
    assert_eq!(list(&mut client).await["my-openai"], Value::Null);

    let service = crate::service::Service::over(machine.library()).await.unwrap();
    crate::service::tests::add(&service, "My OpenAI", "openai", &upstream).await.unwrap();
    let target = crate::service::words::RouteTarget {
        provider_id: "my-openai".into(),
        model_id: "other".into(),
    };
    service.set_route("fast", vec![target]).await.unwrap();
    let models = list(&mut client).await;
    assert_eq!(models["my-openai"][0]["id"], "gpt-5.1");
    assert_eq!(models["alias"][0]["id"], "fast");
    for id in ["gpt-5.1", "my-openai:gpt-5.1", "fast"] {
        let valid = client.call("validate_model", json!({"model_id": id})).await;
        assert_eq!(valid, json!({"valid": true, "error": null}), "{id}");
    }
    assert_eq!((upstream.count("gpt-5.1"), upstream.count("other")), (2, 1));

    service.set_model_enabled("my-openai", "gpt-5.1", false).await.unwrap();
    let models = list(&mut client).await;
    assert_eq!(models["my-openai"].as_array().unwrap().len(), 1);
    let valid = client.call("validate_model", json!({"model_id": "gpt-5.1"})).await;
    assert_eq!(valid["valid"], false);
}

/// Servers that refuse `stream` or `stream_options` are asked without, from the second time on at once.
#[tokio::test(start_paused = true)]
async fn servers_without_streams_take_part() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default());
    let machine = Machine::new()
        .env("CUSTOM_BASE_URL", &format!("{}/v1", upstream.url()))
        .env("CUSTOM_MODELS", "no-stream,no-stream-options")
        .env("QUORUM_PAUSE_TIMEOUT", "0");
    let ids = ["no-stream", "no-stream-options"];
    let (events, answer) = machine.connect().run(&ids, json!({"max_turns": 2})).await;
    assert_eq!(answer["result"], json!({"status": "completed"}), "{answer}");
    assert!(events.iter().all(|(_, params)| params["failed"].is_null()), "{events:?}");
    let refused = |model: &str| {
        let seen = upstream.requests().into_iter().filter(|seen| seen.model == model);
        seen.filter(|it| it.stream && it.body.get("stream_options").is_some()).count()
    };
    assert_eq!(ids.map(refused), [1, 1]);
}
