//! Against a server of the test's own; no list of the outside world is ever asked for.

use super::*;
use crate::config::{Config, World, agents_on_path};
use althing_gateway::Limits;
use althing_testkit::{Options, Upstream};
use std::collections::BTreeMap;
use std::path::PathBuf;

const KEY: &str = "sk-proj-abcdefghijklmnop-1234";
const PATIENCE: Duration = Duration::from_secs(4);

/// A configuration of these variables, without the servers that are only looked for.
fn config(vars: &[(&str, &str)]) -> Config {
    let env = vars.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let nowhere = PathBuf::from("/nonexistent");
    let world = World { env: env.collect(), cwd: nowhere.clone(), home: nowhere };
    let mut config = Config::load(&world);
    assert!(config.warnings.is_empty(), "{:#?}", config.warnings);
    config.endpoints.retain(|configured| configured.explicit);
    config
}

async fn look(config: &Config) -> Found {
    discover(&Book::from(config), &Gateway::new(Limits::default()), PATIENCE).await
}

/// One line for each provider: state and models.
#[track_caller]
fn check(found: &Found, want: &[&str]) {
    let lines = found.providers.iter().map(|it| {
        let state = match &it.state {
            State::Reachable => "there".into(),
            State::Unreachable(fault) => fault.kind.to_string(),
            State::Stranger => "stranger".into(),
            State::NotProbed => "not asked".into(),
        };
        let models = it.models.iter().map(|it| {
            let mark = if it.source == ModelSource::Configured { "*" } else { "" };
            format!("{}{mark} {} ({})", it.id, it.display, it.family)
        });
        let models = models.collect::<Vec<_>>().join("; ");
        format!("{}: {state}: {models}", it.configured.endpoint.id)
    });
    assert_eq!(lines.collect::<Vec<_>>(), want);
    assert!(!format!("{found:?}").contains(&KEY[..12]));
}

#[tokio::test]
async fn every_server_is_asked() {
    let upstream =
        Upstream::start(Options::default().models(["gpt-5.1", "text-embedding-3-small"]));
    let (url, v1) = (upstream.url(), format!("{}/v1", upstream.url()));
    let config = config(&[
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &v1),
        ("OLLAMA_BASE_URL", &url),
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", &url),
        ("GEMINI_API_KEY", KEY),
        ("GOOGLE_BASE_URL", &url),
    ]);
    let found = look(&config).await;
    check(
        &found,
        &[
            "openai: there: openai:gpt-5.1 GPT 5.1 (gpt)",
            "anthropic: there: anthropic:gpt-5.1 Fake gpt-5.1 (gpt)",
            "google: there: google:gpt-5.1 Fake gpt-5.1 (gpt)",
            "ollama: there: ollama:gpt-5.1 GPT 5.1 (gpt)",
        ],
    );
    assert_eq!(found.models().count(), 4);
    assert_eq!(upstream.requests().len(), 4);
}

#[tokio::test]
async fn ones_own_list_comes_first_and_survives_a_failure() {
    let upstream = Upstream::start(Options::default().models(["b-1", "a-1"]));
    let v1 = format!("{}/v1", upstream.url());
    let own = "a-1|My A,qwen3:8b";
    let there = config(&[("CUSTOM_BASE_URL", &v1), ("CUSTOM_MODELS", own)]);
    check(
        &look(&there).await,
        &["custom: there: custom:a-1* My A (other); custom:qwen3:8b* Qwen3 8b (qwen); \
           custom:b-1 B 1 (other)"],
    );
    let refusing = Upstream::start(Options::default().mishap(|_| Some("err-key")));
    let v1 = format!("{}/v1", refusing.url());
    let refused = config(&[("CUSTOM_BASE_URL", &v1), ("CUSTOM_MODELS", "a-1")]);
    check(&look(&refused).await, &["custom: bad_key: custom:a-1* A 1 (other)"]);
    let nobody =
        discover(&Book::from(&refused), &Gateway::new(Limits::default()), Duration::ZERO).await;
    check(&nobody, &["custom: not asked: custom:a-1* A 1 (other)"]);
}

#[tokio::test]
async fn unfit_names_are_dropped_and_long_lists_cut() {
    let long = "x".repeat(201);
    let names = ["fine".to_string(), long, "evil\u{1b}[31m".into(), "evil\nline".into()];
    let upstream = Upstream::start(Options::default().models(names));
    let v1 = format!("{}/v1", upstream.url());
    let found = look(&config(&[("CUSTOM_BASE_URL", &v1)])).await;
    check(&found, &["custom: there: custom:fine Fine (other)"]);

    let upstream = Upstream::start(Options::default().models((0..600).map(|n| format!("m{n}"))));
    let v1 = format!("{}/v1", upstream.url());
    let found = look(&config(&[("CUSTOM_BASE_URL", &v1)])).await;
    assert_eq!(found.models().count(), MODELS_MAX);
}

#[tokio::test]
async fn llama_swap_signs_its_list() {
    for (owner, want) in [
        ("llama-swap", "llamaswap: there: llamaswap:m M (other)"),
        ("someone", "llamaswap: stranger: "),
    ] {
        let upstream = Upstream::start(Options::default().models(["m"]).owned_by(owner));
        let mut config = config(&[("LLAMASWAP_BASE_URL", &upstream.url())]);
        check(&look(&config).await, &["llamaswap: there: llamaswap:m M (other)"]);
        config.endpoints[0].explicit = false;
        check(&look(&config).await, &[want]);
    }
}

#[tokio::test]
async fn a_silent_server_costs_its_wait_and_no_more() {
    let upstream = Upstream::start(Options::default().mishap(|_| Some("hang")));
    let v1 = format!("{}/v1", upstream.url());
    let config = config(&[
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &v1),
        ("LMSTUDIO_BASE_URL", &v1),
        ("VLLM_BASE_URL", &v1),
    ]);
    let gateway = Gateway::new(Limits::default());
    // From here on, waiting takes no time.
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let found = discover(&Book::from(&config), &gateway, PATIENCE).await;
    check(&found, &["openai: timed_out: ", "lmstudio: timed_out: ", "vllm: timed_out: "]);
    assert_eq!(start.elapsed().as_millis() / 100, PATIENCE.as_millis() / 100);
}

#[tokio::test]
async fn nobody_there() {
    // A port that was free a moment ago.
    let url = Upstream::start(Options::default()).url();
    let found = look(&config(&[("OLLAMA_BASE_URL", &url)])).await;
    check(&found, &["ollama: network: "]);
}

#[cfg(unix)]
#[test]
fn agents_are_found_and_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::TempDir::new().unwrap();
    let place = |name: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    place("one/claude", 0o644);
    let claude = place("two/claude", 0o755);
    let codex = place("one/codex", 0o755);
    place("gemini/readme", 0o755);
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let path = format!("relative:{}:{}:{}", one.display(), two.display(), folder.path().display());
    let env = BTreeMap::from([("PATH".to_string(), path)]);
    let world = World { env, cwd: one, home: two };
    assert_eq!(agents_on_path(&world), [("claude", claude), ("codex", codex)]);
    assert_eq!(agents_on_path(&World { env: BTreeMap::new(), ..world }), []);
}
