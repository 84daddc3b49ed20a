//! Windows as they are decided, and the questions behind them over a socket.

use super::*;
use crate::tests::{FOR_EVER, endpoint, gateway};
use crate::{LOCAL_FILE, Provider};
use althing_chat::WindowSource::{Configured, Default, Provider as Said, Table};
use althing_testkit::upstream::{Options, Upstream, Windows};

fn facts(trained: Option<u64>, loaded: Option<u64>) -> ModelFacts {
    ModelFacts { trained, loaded, ..ModelFacts::default() }
}

#[track_caller]
fn check(
    row: &'static Provider,
    url: &str,
    model: &str,
    set: Option<WindowSetting>,
    facts: ModelFacts,
    want: (u64, WindowSource),
) {
    let like = Endpoint::clone(&endpoint("custom", url));
    let endpoint = Endpoint { provider: row, base_url: url.into(), ..like };
    let window = decide_window(&endpoint, model, set, &facts);
    assert_eq!((window.tokens, window.source), want, "{}:{model} {set:?} {facts:?}", row.name);
}

#[test]
fn the_person_the_provider_the_table_and_the_default() {
    use WindowSetting::{AtMost, Exact};
    let row = |name| crate::provider(name).unwrap();
    let far = "https://api.example.com/v1";
    let here = "http://localhost:8000/v1";
    let none = facts(None, None);
    check(row("openai"), far, "gpt-4o@high", None, none, (128_000, Table));
    check(row("openai"), far, "gpt-4o", Some(AtMost(4_096)), none, (4_096, Configured));
    check(row("openai"), far, "gpt-4o", Some(Exact(4_096)), none, (4_096, Configured));
    check(row("openai"), far, "gpt-4o", Some(AtMost(200_000)), none, (128_000, Table));
    check(row("openai"), far, "gpt-4o", Some(Exact(200_000)), none, (200_000, Configured));
    check(row("openai"), far, "ada", Some(AtMost(200_000)), none, (200_000, Configured));
    check(row("openai"), far, "ada", None, none, (32_768, Default));
    check(row("custom"), far, "ada", None, none, (32_768, Default));
    check(row("custom"), here, "ada", None, none, (8_192, Default));
    check(row("vllm"), here, "gpt-4o", None, none, (8_192, Default));
    check(row("vllm"), here, "ada", None, facts(Some(4_096), None), (4_096, Said));
    let endless = facts(Some(u64::MAX), None);
    check(row("vllm"), here, "ada", None, endless, (CONTEXT_TOKENS_MAX, Said));
    let listed = facts(Some(163_840), None);
    check(row("openrouter"), far, "x/y", None, listed, (163_840, Said));
    check(row("openrouter"), far, "x/y", Some(AtMost(200_000)), listed, (163_840, Said));
    check(row("openrouter"), far, "x/y", Some(AtMost(9_000)), listed, (9_000, Configured));
    check(row("openrouter"), far, "x/y", Some(Exact(200_000)), listed, (200_000, Configured));
    check(row("llamacpp"), here, "m", None, facts(None, Some(4_096)), (4_096, Said));
}

/// No model has so small a window; whoever says so knows nothing.
#[test]
fn windows_that_no_model_has_are_not_known() {
    let row = |name| crate::provider(name).unwrap();
    let far = "https://api.example.com/v1";
    for tokens in [0, 1, 511] {
        let (listed, loaded) = (facts(Some(tokens), None), facts(None, Some(tokens)));
        check(row("anthropic"), far, "claude-opus-5", None, listed, (1_000_000, Table));
        check(row("google"), far, "gemini-2.5-pro", None, listed, (1_048_576, Table));
        check(row("custom"), far, "ada", None, listed, (32_768, Default));
        check(row("llamacpp"), far, "m", None, loaded, (8_192, Default));
        check(row("ollama"), far, "m", None, listed, (8_192, Default));
        let preset = ModelFacts { preset: Some(tokens), ..facts(Some(40_960), Some(tokens)) };
        check(row("ollama"), far, "m", None, preset, (8_192, Default));
        check(row("lmstudio"), far, "m", None, loaded, (4_096, Default));
        check(&LOCAL_FILE, "", "m", None, listed, (8_192, Default));
        let endpoint = endpoint("openrouter", far);
        assert!(needs_inspection(&endpoint, "x/y", None, Some(tokens)), "{tokens}");
    }
    check(row("custom"), far, "ada", None, facts(Some(512), None), (512, Said));
}

#[test]
fn windows_that_are_as_large_as_we_say() {
    use WindowSetting::{AtMost, Exact};
    let ollama = crate::provider("ollama").unwrap();
    let url = "http://localhost:11434";
    let preset = |trained, loaded, preset| ModelFacts { preset, ..facts(trained, loaded) };
    check(ollama, url, "m", None, facts(None, None), (8_192, Default));
    check(ollama, url, "m", None, facts(Some(40_960), None), (8_192, Default));
    check(ollama, url, "m", None, facts(Some(4_096), None), (4_096, Said));
    check(ollama, url, "m", None, facts(Some(40_960), Some(16_384)), (16_384, Said));
    check(ollama, url, "m", None, facts(Some(40_960), Some(4_096)), (8_192, Default));
    check(ollama, url, "m", None, preset(Some(40_960), None, Some(4_096)), (4_096, Said));
    check(ollama, url, "m", Some(AtMost(32_768)), facts(Some(40_960), None), (32_768, Configured));
    check(ollama, url, "m", Some(Exact(65_536)), facts(Some(40_960), None), (40_960, Said));
    let cloud = ModelFacts { is_remote: true, ..facts(Some(131_072), None) };
    check(ollama, url, "m-cloud", None, cloud, (131_072, Said));
    check(&LOCAL_FILE, "", "m", None, facts(Some(2_048), None), (2_048, Said));
    check(&LOCAL_FILE, "", "m", None, facts(Some(131_072), None), (8_192, Default));
    check(
        &LOCAL_FILE,
        "",
        "m",
        Some(AtMost(16_384)),
        facts(Some(131_072), None),
        (16_384, Configured),
    );
    let lmstudio = crate::provider("lmstudio").unwrap();
    check(lmstudio, url, "m", None, facts(Some(131_072), Some(5_000)), (5_000, Said));
    check(lmstudio, url, "m", Some(AtMost(20_000)), facts(None, Some(5_000)), (5_000, Said));
    // Not loaded: what it will be loaded with, whatever it could take.
    check(lmstudio, url, "m", None, facts(Some(131_072), None), (4_096, Default));
    check(lmstudio, url, "m", None, facts(Some(2_048), None), (2_048, Said));
    check(lmstudio, url, "m", None, facts(None, None), (4_096, Default));
    check(lmstudio, url, "m", Some(AtMost(16_384)), facts(None, None), (16_384, Configured));
    check(lmstudio, url, "m", Some(Exact(200_000)), facts(Some(131_072), None), (131_072, Said));
}

#[test]
fn servers_are_asked_only_where_it_matters() {
    #[track_caller]
    fn check(name: &str, model: &str, set: Option<WindowSetting>, listed: Option<u64>, want: bool) {
        let endpoint = endpoint(name, "http://localhost:1");
        assert_eq!(needs_inspection(&endpoint, model, set, listed), want, "{name}:{model}");
    }
    let exact = Some(WindowSetting::Exact(4_096));
    check("openai", "ada", None, None, false);
    check("anthropic", "claude-opus-5", None, None, false);
    check("anthropic", "ada", None, None, true);
    check("anthropic", "ada", exact, None, false);
    check("openrouter", "x/y", None, Some(4_096), false);
    check("openrouter", "x/y", Some(WindowSetting::AtMost(4_096)), None, true);
    check("lmstudio", "m", None, Some(4_096), true);
    check("lmstudio", "m", exact, None, false);
    check("ollama", "m", exact, None, true);
    check("llamacpp", "m", exact, Some(4_096), true);
}

#[tokio::test]
async fn every_server_says_it_in_its_own_way() {
    let windows = Windows { trained: 40_960, loaded: Some(16_384), preset: Some(12_000), slots: 4 };
    let options = Options::default().windows(windows);
    let upstream = Upstream::start(options.clone());
    let swap = Upstream::start(options.owned_by("llama-swap"));
    let ask = async |name: &str, upstream: &Upstream| {
        let endpoint = endpoint(name, &upstream.url());
        gateway(1).inspect(&endpoint, &["fake-large@high", "nobody"], FOR_EVER).await.models
    };
    let ollama = ask("ollama", &upstream).await;
    let want = ModelFacts { preset: Some(12_000), ..facts(Some(40_960), Some(16_384)) };
    assert_eq!(ollama, [want, ModelFacts::default()]);
    let slots = |facts| ModelFacts { slots: Some(4), ..facts };
    let loaded = slots(facts(None, Some(16_384)));
    assert_eq!(ask("llamacpp", &upstream).await, [loaded, loaded]);
    assert_eq!(ask("llamaswap", &swap).await, [loaded, ModelFacts::default()]);
    // A llama-server where llama-swap is looked for.
    assert_eq!(ask("llamaswap", &upstream).await, [loaded, loaded]);
    let lm_studio = [facts(Some(40_960), Some(16_384)), ModelFacts::default()];
    assert_eq!(ask("lmstudio", &upstream).await, lm_studio);
    assert_eq!(ask("openai", &upstream).await, [ModelFacts::default(); 2]);
    let idle = Upstream::start(Options::default().windows(Windows { loaded: None, ..windows }));
    let lm_studio = [facts(Some(40_960), None), ModelFacts::default()];
    assert_eq!(ask("lmstudio", &idle).await, lm_studio, "it is not loaded");
    let silent = Upstream::start(Options::default());
    for name in ["ollama", "llamacpp", "llamaswap", "lmstudio", "vllm"] {
        assert_eq!(ask(name, &silent).await, [ModelFacts::default(); 2], "{name}");
    }
}

/// The seat's slot goes along once the server has said how many it has.
#[tokio::test]
async fn a_conversation_keeps_its_slot() {
    use althing_chat::{Answer, Conversation};
    let windows = Windows { trained: 4_096, loaded: None, preset: None, slots: 3 };
    let upstream = Upstream::start(Options::default().windows(windows));
    let (gateway, endpoint) = (gateway(1), endpoint("llamacpp", &upstream.url()));
    let model = gateway.model(&endpoint, "fake-large@high");
    let say = async || {
        let conversation = Some(Conversation { run: "r".into(), seat: 4 });
        let ask = althing_chat::Ask { conversation, ..crate::tests::ask(true) };
        Answer::collect(model.speak(ask)).await.unwrap();
        let body = upstream.requests().pop().unwrap().body;
        (body["cache_prompt"].clone(), body["id_slot"].clone())
    };
    assert_eq!(say().await, (true.into(), serde_json::Value::Null));
    gateway.inspect(&endpoint, &["fake-large"], FOR_EVER).await;
    assert_eq!(say().await, (true.into(), 1.into()));
}
