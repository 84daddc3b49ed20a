//! Two agents that people use, with one prompt each.

use super::{Served, upstream};
use crate::harness::{Done, Home, peers, unless_missing};
use althing_testkit::Seen;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn agent(name: &str) -> Option<PathBuf> {
    let program = peers().join("agents/node_modules/.bin").join(name);
    unless_missing(program.is_file().then_some(program), name)
}

/// Runs an agent to its end, in a home of its own with a folder to work in.
#[track_caller]
fn check(name: &str, path: &str, tune: impl Fn(&mut Command, &Home, &Served)) {
    let Some(program) = agent(name) else { return };
    let upstream = upstream();
    let home = Home::with_all(&upstream);
    let served = Served::start(&home);
    let work = home.path().join("work");
    fs::create_dir(&work).unwrap();
    let mut command = home.foreign(&program);
    command.current_dir(&work).stdin(Stdio::null());
    for provider in ["OPENAI", "ANTHROPIC", "GOOGLE"] {
        // The keys are the service's; the agent has a token.
        command.env_remove(format!("{provider}_API_KEY"));
        command.env_remove(format!("{provider}_BASE_URL"));
    }
    tune(&mut command, &home, &served);
    Done::of(command.output().unwrap()).ends(0).says("Hello there.");
    let is_it = |it: &Seen| it.path.contains(path) && it.model == "fake-large";
    assert!(upstream.requests().iter().any(is_it), "the model was asked at {path}");
    served.stop();
}

/// Claude Code, as a script calls it.
fn claude(model: &'static str) -> impl Fn(&mut Command, &Home, &Served) {
    move |command, _, served| {
        command.args(["-p", "Say hello.", "--model", model, "--tools", ""]);
        command.env("ANTHROPIC_BASE_URL", &served.url).env("ANTHROPIC_AUTH_TOKEN", &served.token);
        command.env("ANTHROPIC_SMALL_FAST_MODEL", model);
        for name in [
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_AUTOUPDATER",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        ] {
            command.env(name, "1");
        }
    }
}

#[test]
fn claude_code_by_a_model_of_its_own_maker() {
    check("claude", "/messages", claude("anthropic:fake-large"));
}

#[test]
fn claude_code_by_a_model_that_speaks_otherwise() {
    check("claude", "/chat/completions", claude("openai:fake-large"));
}

#[test]
fn codex_by_a_model_that_speaks_otherwise() {
    check("codex", "/messages", |command, home, served| {
        let folder = home.path().join(".codex");
        fs::create_dir(&folder).unwrap();
        let config = format!(
            "model = \"anthropic:fake-large\"\n\
             model_provider = \"althing\"\n\
             [model_providers.althing]\n\
             name = \"Althing\"\n\
             base_url = \"{}/v1\"\n\
             env_key = \"ALTHING_TOKEN\"\n\
             wire_api = \"responses\"\n\
             [analytics]\n\
             enabled = false\n",
            served.url
        );
        fs::write(folder.join("config.toml"), config).unwrap();
        command.args(["exec", "--skip-git-repo-check", "--sandbox", "read-only", "Say hello."]);
        command.env("ALTHING_TOKEN", &served.token).env("CODEX_HOME", &folder);
    });
}
