//! The real programs against a loopback of their providers.

use crate::harness::{Home, answer};
use althing_agents::{Adapter, Agent, Limits, Options};
use althing_chat::{Ask, Delta, Model};
use althing_stdx::Kind;
use althing_testkit::{Options as Answers, Seen, Upstream};
use futures_util::StreamExt;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// They are slow to start on a busy machine.
const LIMITS: Limits = Limits { idle: Duration::from_secs(240), total: Duration::from_secs(240) };
const KEY: &str = "sk-test-0123456789abcdef";

/// Where `cargo xtask peers` puts them; a missing one is a failure only where peers are required.
fn program(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let peers =
        std::env::var_os("ALTHING_PEERS_DIR").map_or(root.join("target/peers"), PathBuf::from);
    let program = peers.join("agents/node_modules/.bin").join(name);
    if program.is_file() {
        return Some(program);
    }
    let is_required = std::env::var_os("ALTHING_PEERS").is_some_and(|value| value == "required");
    assert!(!is_required, "{name} is missing; cargo xtask peers installs it");
    println!("skipped: no {name}; cargo xtask peers installs it");
    None
}

/// An agent of this name in a home of its own that leads to `upstream`.
fn agent(name: &str, model: &str, home: &mut Home, upstream: &Upstream) -> Option<Agent> {
    let program = program(name)?;
    let url = upstream.url();
    let mut set = |name: &str, value: String| home.environment.insert(name.into(), value);
    let mut named = model.to_string();
    match name {
        "claude" => {
            set("ANTHROPIC_BASE_URL", url);
            set("ANTHROPIC_API_KEY", KEY.into());
            set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into());
        }
        "codex" => {
            set("CODEX_API_KEY", KEY.into());
            let config = format!(
                "model_provider = \"fake\"\n\
                 [model_providers.fake]\nname = \"Fake\"\nbase_url = \"{url}/v1\"\n\
                 env_key = \"CODEX_API_KEY\"\nwire_api = \"responses\"\n\
                 [analytics]\nenabled = false\n"
            );
            put(home, ".codex/config.toml", &config);
        }
        "gemini" => {
            set("GEMINI_API_KEY", KEY.into());
            set("GOOGLE_GEMINI_BASE_URL", url);
            let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},
                "privacy":{"usageStatisticsEnabled":false}}"#;
            put(home, ".gemini/settings.json", settings);
        }
        _ => {
            named = format!("anthropic/{model}");
            let config = format!(
                r#"{{"provider":{{"anthropic":{{"options":{{"baseURL":"{url}/v1","apiKey":"{KEY}"}},
                "models":{{"{model}":{{"name":"x"}}}}}}}}}}"#
            );
            set("OPENCODE_CONFIG_CONTENT", config);
        }
    }
    let program = Some(program.to_str().unwrap().to_string());
    let options = Options { program, model: Some(named), ..home.options(LIMITS) };
    Some(Agent::new(Adapter::find(name).unwrap().0, options))
}

fn put(home: &Home, name: &str, text: &str) {
    fs::create_dir_all(home.path(name).parent().unwrap()).unwrap();
    fs::write(home.path(name), text).unwrap();
}

fn upstream() -> Upstream {
    Upstream::start(Answers::default().without_calls().text(|_| "Hello there, all of you.".into()))
}

/// The right text, the usage that the provider counted, the prompt where it belongs.
async fn answers(name: &str, allowed: &[&str]) {
    let (mut home, upstream) = (Home::new(), upstream());
    let Some(agent) = agent(name, "fake-large", &mut home, &upstream) else { return };
    let answered = answer(&agent, "Say hello to äöü.").await.unwrap();
    assert_eq!(answered.text.trim_end(), "Hello there, all of you.");
    let usage = answered.usage.unwrap();
    assert_eq!(usage.output, Some(5), "{usage:?}");
    assert!(usage.input.unwrap() >= 3, "{usage:?}");
    let asked = upstream.requests();
    let ours = |it: &&Seen| it.prompt().contains("Say hello to äöü.");
    let ours: Vec<_> = asked.iter().filter(ours).collect();
    assert!(ours.iter().any(|it| it.model == "fake-large"), "{asked:#?}");
    assert_eq!(offered(&ours), allowed, "without a repository");
    home.is_left().await;
}

/// In a repository it may read, and nothing else.
async fn reads(name: &str, allowed: &[&str]) {
    let (mut home, upstream) = (Home::new(), upstream());
    put(&home, "repo/main.rs", "");
    let Some(agent) = agent(name, "fake-large", &mut home, &upstream) else { return };
    let repo = Some(home.path("repo"));
    let model = Some(agent.id().split_once(':').unwrap().1.to_string());
    let program = Some(program(name).unwrap().to_str().unwrap().to_string());
    let options = Options { program, model, repo, ..home.options(LIMITS) };
    let agent = Agent::new(Adapter::find(name).unwrap().0, options);
    let answered = answer(&agent, "Say hello to äöü.").await.unwrap();
    assert_eq!(answered.text.trim_end(), "Hello there, all of you.");
    let asked = upstream.requests();
    assert_eq!(offered(&asked.iter().collect::<Vec<_>>()), allowed, "with a repository");
    home.is_left().await;
}

/// The tools that a model is offered, in whichever dialect, sorted.
fn offered(asked: &[&Seen]) -> Vec<String> {
    let tools = asked.iter().flat_map(|it| it.body["tools"].as_array().into_iter().flatten());
    let names = tools.flat_map(|tool| match tool["functionDeclarations"].as_array() {
        Some(functions) => functions.iter().map(|it| &it["name"]).collect(),
        None if tool["name"].is_string() => vec![&tool["name"]],
        None => vec![&tool["type"]],
    });
    let names: BTreeSet<_> = names.map(|name| name.as_str().unwrap().to_string()).collect();
    names.into_iter().collect()
}

/// A failure of the provider, told for what it is. One that is tried again is told on the way.
async fn fails(name: &str, model: &str, kind: Kind) {
    let (mut home, upstream) = (Home::new(), upstream());
    let Some(agent) = agent(name, model, &mut home, &upstream) else { return };
    let mut speaking = agent.speak(Ask::new("", "Say hello."));
    let mut told = None;
    while let Some(delta) = speaking.next().await {
        told = match delta {
            Ok(Delta::Retrying(retry)) if !retry.kind.is_permanent() => Some(retry.kind),
            Ok(Delta::Text(text)) => panic!("{name} says {text}"),
            Ok(_) => None,
            Err(fault) => Some(fault.kind),
        };
        if told.is_some() {
            break;
        }
    }
    assert_eq!(told, Some(kind), "{name}");
    // Where it would still try, this ends it.
    drop(speaking);
    home.is_left().await;
}

/// Installed, with a version.
async fn is_known(name: &str) {
    let (mut home, upstream) = (Home::new(), upstream());
    let Some(agent) = agent(name, "fake-large", &mut home, &upstream) else { return };
    let installed = agent.probe().await.unwrap();
    assert!(installed.version.as_ref().is_some_and(|it| it.contains('.')), "{installed:?}");
    let has_key = ["claude", "codex", "gemini"].contains(&name);
    assert_eq!(installed.logged_in, Some(has_key), "{installed:?}");
    home.is_left().await;
    // Without a key the program itself, or what a login leaves, tells.
    let home = Home::new();
    let program = Some(program(name).unwrap().to_str().unwrap().to_string());
    let options = Options { program, ..home.options(LIMITS) };
    let installed = Agent::new(Adapter::find(name).unwrap().0, options).probe().await.unwrap();
    assert_eq!(installed.logged_in, Some(false), "{installed:?}");
    home.is_left().await;
}

#[tokio::test]
async fn claude() {
    answers("claude", &[]).await;
    reads("claude", &["DeferredToolPlaceholder", "Glob", "Grep", "Read"]).await;
    is_known("claude").await;
    fails("claude", "err-key", Kind::BadKey).await;
    fails("claude", "err-429", Kind::RateLimited).await;
    fails("claude", "err-404", Kind::UnknownModel).await;
}

#[tokio::test]
async fn codex() {
    answers("codex", &["request_user_input"]).await;
    reads("codex", &["exec_command", "request_user_input", "view_image", "write_stdin"]).await;
    is_known("codex").await;
    fails("codex", "err-key", Kind::BadKey).await;
    fails("codex", "err-429", Kind::RateLimited).await;
    fails("codex", "err-quota", Kind::NoCredit).await;
}

#[tokio::test]
async fn gemini() {
    answers("gemini", &[]).await;
    reads("gemini", &["glob", "grep_search", "list_directory", "read_file"]).await;
    is_known("gemini").await;
    fails("gemini", "err-key", Kind::BadKey).await;
    fails("gemini", "err-429", Kind::RateLimited).await;
}

#[tokio::test]
async fn opencode() {
    answers("opencode", &[]).await;
    reads("opencode", &["glob", "grep", "read"]).await;
    is_known("opencode").await;
    fails("opencode", "err-key", Kind::BadKey).await;
    fails("opencode", "err-404", Kind::UnknownModel).await;
}
