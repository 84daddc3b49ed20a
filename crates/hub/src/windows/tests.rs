//! Windows of seats against servers on loopback.

use super::*;
use crate::config::World;
use crate::lineup::resolve;
use crate::service::words::RouteTarget;
use althing_chat::WindowSource::{self, Configured, Default, Provider, Table};
use althing_testkit::upstream::{Options, Upstream, Windows};
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
