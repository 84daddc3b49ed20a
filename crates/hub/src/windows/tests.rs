//! Windows of seats against servers on loopback.

use super::*;
use crate::config::World;
use crate::lineup::resolve;
use crate::service::Service;
use crate::service::words::RouteTarget;
use althing_chat::WindowSource::{self, Configured, Default, Provider, Table};
use althing_chat::{Answer, Ask};
use althing_testkit::upstream::{Options, Route, Seen, Upstream, Windows};
use std::path::Path;

async fn library(home: &Path, vars: &[(&str, &str)]) -> Arc<Library> {
    let env = vars.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let world = World { env: env.collect(), cwd: home.into(), home: home.into() };
    Library::open(world).await.unwrap()
}

async fn check(library: &Library, names: &[&str], want: &[(u64, WindowSource)]) {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let lineup = resolve(&names, &library.book(), None).unwrap();
    let windows = seat_windows(library, &lineup.seats).await;
    let windows: Vec<_> = windows.iter().map(|it| (it.tokens, it.source)).collect();
    assert_eq!(windows, want, "{names:?}");
}

const KEY: &str = "sk-proj-abcdefghijklmnop-1234";

#[tokio::test]
async fn seats_have_the_windows_of_their_servers() {
    let windows = Windows { trained: 40_960, loaded: Some(16_384), preset: None, slots: 2 };
    let upstream = Upstream::start(Options::default().windows(windows));
    let (url, v1) = (upstream.url(), format!("{}/v1", upstream.url()));
    let home = tempfile::tempdir().unwrap();
    let vars = [
        ("OLLAMA_BASE_URL", url.as_str()),
        ("LLAMACPP_BASE_URL", &v1),
        ("LMSTUDIO_BASE_URL", &v1),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_CONTEXT_TOKENS", "100k"),
    ];
    let library = library(home.path(), &vars).await;
    check(
        &library,
        &[
            "ollama:fake-large",
            "ollama:fake-large@64k",
            "ollama:fake-large@4096@high",
            "llamacpp:fake-small",
            "lmstudio:fake-small",
            "openai:gpt-4.1",
            "openai:gpt-4",
            "openai:gpt-4.1@high@512",
            "claude-cli:opus",
            "demo:scout",
            "demo:scout@600",
        ],
        &[
            (16_384, Provider),
            (40_960, Provider),
            (4_096, Configured),
            (16_384, Provider),
            (16_384, Provider),
            (102_400, Configured),
            (8_192, Table),
            (512, Configured),
            (200_000, Table),
            (8_192, Default),
            (600, Configured),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_smallest_target_of_a_route_counts() {
    let home = tempfile::tempdir().unwrap();
    let library = library(home.path(), &[("OPENAI_API_KEY", KEY)]).await;
    let target = |model: &str| RouteTarget { provider_id: "openai".into(), model_id: model.into() };
    let targets = vec![target("gpt-4.1"), target("gpt-4o"), target("house-model")];
    library.store().set_route("fast", targets).await.unwrap();
    library.reload().await.unwrap();
    check(&library, &["fast", "fast@1m"], &[(32_768, Default), (1_048_576, Configured)]).await;
}

/// Ollama is told the same window by a single chat as by a discussion, whatever it has loaded.
#[tokio::test]
async fn a_chat_has_the_window_of_a_discussion() {
    async fn check(windows: Windows, set: &str, name: &str, want: u64) {
        let upstream = Upstream::start(Options::default().windows(windows));
        let home = tempfile::tempdir().unwrap();
        let url = upstream.url();
        let vars = [("OLLAMA_BASE_URL", url.as_str()), ("OLLAMA_CONTEXT_TOKENS", set)];
        let vars = &vars[..if set.is_empty() { 1 } else { 2 }];
        let library = library(home.path(), vars).await;
        let service = Service::over(library.clone()).await.unwrap();
        for _ in 0..2 {
            let voice = service.find_voice(name, None).await.unwrap();
            Answer::collect(voice.speak(Ask::new("", "Well?"))).await.unwrap();
            let told = upstream.requests().pop().unwrap().body["options"]["num_ctx"].as_u64();
            assert_eq!(told, Some(want), "{name} {windows:?}");
        }
        // The second chat has followed the first one at once.
        let is_question = |it: &&Seen| matches!(it.route, Route::Window(_));
        let questions = upstream.requests().iter().filter(is_question).count();
        assert_eq!(questions, 2, "{name}: {:#?}", upstream.requests());
        let lineup = resolve(&[name.to_string()], &library.book(), None).unwrap();
        let seats = seat_windows(&library, &lineup.seats).await;
        assert_eq!(seats[0].tokens, want, "{name} {windows:?}");
    }
    let idle = Windows { trained: 40_960, loaded: None, preset: None, slots: 1 };
    check(idle, "", "ollama:fake-large", 8_192).await;
    check(idle, "", "ollama:fake-large@high", 8_192).await;
    check(idle, "", "ollama:fake-large@16k", 16_384).await;
    check(idle, "20000", "ollama:fake-large", 20_000).await;
    check(idle, "100k", "ollama:fake-large", 40_960).await;
    check(Windows { trained: 2_048, ..idle }, "", "ollama:fake-large", 2_048).await;
    check(Windows { loaded: Some(16_384), ..idle }, "", "ollama:fake-large", 16_384).await;
    check(Windows { preset: Some(32_768), ..idle }, "", "ollama:fake-large", 32_768).await;
}

/// Where several targets may answer, Ollama's smallest window fits all of Ollama's.
#[tokio::test]
async fn a_chat_along_a_route_has_the_smallest_window_of_ollama() {
    let windows = Windows { trained: 40_960, loaded: None, preset: None, slots: 1 };
    let upstream = Upstream::start(Options::default().windows(windows));
    let home = tempfile::tempdir().unwrap();
    let file = "[model_context_tokens]\n\"ollama:fake-small\" = 4096\n";
    std::fs::create_dir_all(home.path().join(".config/althing")).unwrap();
    std::fs::write(home.path().join(".config/althing/config.toml"), file).unwrap();
    let url = upstream.url();
    let vars = [("OLLAMA_BASE_URL", url.as_str()), ("OPENAI_API_KEY", KEY)];
    let library = library(home.path(), &vars).await;
    let target = |provider: &str, model: &str| RouteTarget {
        provider_id: provider.into(),
        model_id: model.into(),
    };
    let chat = async |targets| {
        library.store().set_route("fast", targets).await.unwrap();
        library.reload().await.unwrap();
        let lineup = resolve(&["fast".to_string()], &library.book(), None).unwrap();
        chat_tokens(&library, &lineup.seats[0]).await
    };
    let (large, small) = (target("ollama", "fake-large"), target("ollama", "fake-small"));
    let cloud = target("openai", "gpt-4");
    assert_eq!(chat(vec![large.clone(), small.clone()]).await, Some(4_096));
    assert_eq!(chat(vec![cloud.clone(), large]).await, Some(8_192));
    assert_eq!(chat(vec![cloud]).await, None);
}

/// What a list says is remembered, and nobody is asked again.
#[tokio::test]
async fn lists_are_asked_once() {
    let upstream = Upstream::start(Options::default());
    let home = tempfile::tempdir().unwrap();
    let url = format!("{}/v1", upstream.url());
    let library = library(home.path(), &[("VLLM_BASE_URL", &url)]).await;
    let book = library.book();
    let endpoint = book.endpoint("vllm").unwrap().endpoint.clone();
    check(&library, &["vllm:fake-large"], &[(8_192, Default)]).await;
    assert_eq!(upstream.requests().len(), 1);
    let listed = althing_gateway::Listed {
        id: "fake-large".into(),
        display_name: None,
        owned_by: None,
        context_tokens: Some(5_000),
    };
    book.note_windows(&endpoint, &[listed]);
    library.reload().await.unwrap();
    check(&library, &["vllm:fake-large@high"], &[(5_000, Provider)]).await;
    assert_eq!(upstream.requests().len(), 1, "the list is known");
}

#[test]
fn settings_win_by_how_close_they_are() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".config/althing")).unwrap();
    let file = "context_tokens = 20000\n[providers.ollama]\ncontext_tokens = \"16k\"\n\
                [model_context_tokens]\n\"ollama:qwen3:8b\" = 4096\n\"nobody\" = 5000\n\
                \"ollama:x\" = 100\n";
    std::fs::write(home.path().join(".config/althing/config.toml"), file).unwrap();
    let env = [("OPENAI_API_KEY".to_string(), KEY.to_string())].into();
    let world = World { env, cwd: home.path().into(), home: home.path().into() };
    let config = Config::load(&world);
    let of = |id: &str, model: &str| {
        config.window_setting(&config.endpoint(id).unwrap().endpoint, model)
    };
    assert_eq!(of("ollama", "Qwen3:8b@high"), Some(WindowSetting::Exact(4_096)));
    assert_eq!(of("ollama", "x"), Some(WindowSetting::AtMost(16_384)));
    assert_eq!(of("openai", "gpt-5.1"), Some(WindowSetting::AtMost(20_000)));
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("model_context_tokens.\"nobody\"") || warnings[0].contains("ollama:x")
    );
    assert!(warnings.iter().any(|it| it.contains("from 512 to 10000000")), "{warnings:?}");
}
