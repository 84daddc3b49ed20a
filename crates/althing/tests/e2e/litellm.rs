//! The real binary against a gateway that we did not write: the LiteLLM proxy, in both dialects.
//! `peers/litellm/README.md` says what its voices do.

use crate::harness::{Home, really_wait};
use althing_assembly::event::{Ending, Note, Outcome, What};
use althing_stdx::Kind;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// It takes ten seconds on an idle machine; this only catches a hang.
const READY_SECONDS_MAX: u32 = 200;
const KEY: &str = "sk-peer-0123456789abcdef";

/// The proxy, ended with its group when the test is over.
struct Proxy {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Already gone is fine too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the peers are, or none where they were not installed and need not be.
fn peer() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder =
        std::env::var_os("ALTHING_PEERS_DIR").map_or(root.join("target/peers"), PathBuf::from);
    let binary = folder.join("litellm/bin/litellm");
    if binary.exists() {
        return Some(binary);
    }
    let is_required = std::env::var_os("ALTHING_PEERS").is_some_and(|value| value == "required");
    assert!(!is_required, "the LiteLLM peer is not installed at {}", binary.display());
    println!("skipped: no LiteLLM; cargo xtask peers installs it");
    None
}

fn start(binary: &Path) -> Proxy {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/litellm/config.yaml");
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let child = Command::new(binary)
        .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--config"])
        .arg(config)
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("LITELLM_MASTER_KEY", KEY)
        .env("LITELLM_LOG", "ERROR")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    let mut proxy = Proxy { child, url: format!("http://127.0.0.1:{port}"), _folder: folder };
    wait_until_ready(&mut proxy, port);
    proxy
}

fn wait_until_ready(proxy: &mut Proxy, port: u16) {
    for _ in 0..READY_SECONDS_MAX {
        assert!(proxy.child.try_wait().unwrap().is_none(), "LiteLLM ended by itself");
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        really_wait(Duration::from_secs(1));
    }
    panic!("LiteLLM was not ready after {READY_SECONDS_MAX} s");
}

fn home(proxy: &Proxy, key: &str) -> Home {
    Home::new()
        .set("CUSTOM_API_KEY", key)
        .set("CUSTOM_BASE_URL", &format!("{}/v1", proxy.url))
        .set("ANTHROPIC_API_KEY", key)
        .set("ANTHROPIC_BASE_URL", &proxy.url)
}

#[test]
fn litellm_in_both_dialects() {
    let Some(binary) = peer() else { return };
    let proxy = start(&binary);
    let key = "sk-wrong-0123456789abcdef";
    let good = home(&proxy, KEY);
    for dialect in ["custom", "anthropic"] {
        for whole in [false, true] {
            println!("{dialect}, {}", if whole { "whole" } else { "streamed" });
            speaks(&good, dialect, whole);
            calls_a_tool(&good, dialect, whole);
            refuses(&good, dialect, whole);
        }
        breaks_off(&good, dialect);
        let bad =
            home(&proxy, key).run(&["ask", "Hello?", "--models", &format!("{dialect}:speaker")]);
        bad.ends(i32::from(Kind::BadKey.codes().exit));
        assert!(!bad.err.contains(key), "{bad:?}");
    }
    good.run(&["models"]).ends(0).says("custom:speaker");
    good.run(&["ask", "Hello?", "--models", "custom:speaker,anthropic:speaker,custom:thinker"])
        .ends(0)
        .says("Consensus");
}

fn ask(
    home: &Home,
    model: &str,
    whole: bool,
    question: &str,
    more: &[&str],
) -> crate::harness::Done {
    let mut args = vec!["ask", question, "--json", "--models", model];
    if whole {
        args.push("--no-stream");
    }
    args.extend(more);
    home.run(&args)
}

fn speaks(home: &Home, dialect: &str, whole: bool) {
    for (model, want) in [("speaker", "The mountain speaks."), ("thinker", "Four.")] {
        let done = ask(home, &format!("{dialect}:{model}"), whole, "Hello?", &[]);
        let events = done.ends(0).events();
        let said = events.iter().find_map(|event| match &event.what {
            What::TurnEnded { outcome: Outcome::Said(said), .. } => Some(said),
            _ => None,
        });
        let said = said.unwrap();
        assert_eq!(said.text, want);
        let usage = said.usage.unwrap();
        assert_eq!((usage.input, usage.output), (Some(11), Some(7)), "{dialect} {model}");
        let deltas = events
            .iter()
            .filter(|e| matches!(e.what, What::TurnDelta { reasoning: false, .. }))
            .count();
        assert!(deltas >= 1);
    }
}

fn calls_a_tool(home: &Home, dialect: &str, whole: bool) {
    let tools = r#"[{"name":"look_up","description":"Looks up a word","parameters":{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}}]"#;
    std::fs::write(home.path().join("tools.json"), tools).unwrap();
    for (model, words) in [("clerk", &["althing"][..]), ("clerks", &["althing", "thing"])] {
        let done = ask(
            home,
            &format!("{dialect}:{model}"),
            whole,
            "Look it up",
            &["--tools", "tools.json"],
        );
        let events = done.ends(0).events();
        let calls: Vec<(String, serde_json::Value)> = events
            .iter()
            .filter_map(|event| match &event.what {
                What::TurnEnded { outcome: Outcome::Said(said), .. } => {
                    Some(said.tool_calls.clone())
                }
                _ => None,
            })
            .flatten()
            .map(|call| (call.name, serde_json::from_str(&call.arguments).unwrap()))
            .collect();
        let want: Vec<_> = words
            .iter()
            .map(|word| ("look_up".to_string(), serde_json::json!({"word": word})))
            .collect();
        assert_eq!(calls, want, "{dialect} {model}");
    }
}

fn refuses(home: &Home, dialect: &str, whole: bool) {
    let cases = [
        ("limited", Kind::RateLimited),
        ("overloaded", Kind::Overloaded),
        ("full", Kind::ContextTooLong),
    ];
    for (model, kind) in cases {
        let done = ask(home, &format!("{dialect}:{model}"), whole, "Hello?", &[]);
        let events = done.ends(i32::from(kind.codes().exit)).events();
        let Some(What::RunEnded { ending: Ending::Failed(failure), .. }) =
            events.last().map(|e| &e.what)
        else {
            panic!("{done:?}");
        };
        assert_eq!(failure.kind, kind, "{dialect} {model}");
    }
    // A text of its own, since the voice refuses each text once.
    let question = format!("Hello {dialect} {whole}?");
    let done = ask(home, &format!("{dialect}:limited-once"), whole, &question, &[]);
    let waits: Vec<u64> = done
        .ends(0)
        .events()
        .iter()
        .filter_map(|event| match &event.what {
            What::TurnNoted { note: Note::Retrying(retry), .. }
                if retry.kind == Kind::RateLimited =>
            {
                Some(retry.wait_ms)
            }
            _ => None,
        })
        .collect();
    assert_eq!(waits.len(), 1);
    assert!(waits[0] >= 1000, "Retry-After: 1 was not honoured: {waits:?}");
}

fn breaks_off(home: &Home, dialect: &str) {
    for (model, kind) in [("cutting", Kind::Network), ("breaking", Kind::Overloaded)] {
        let done = ask(home, &format!("{dialect}:{model}"), false, "Hello?", &[]);
        let events = done.ends(i32::from(kind.codes().exit)).events();
        let heard: String = events
            .iter()
            .filter_map(|event| match &event.what {
                What::TurnDelta { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(heard, "Half an answer", "{dialect} {model}: what was said before is kept");
    }
}
