//! CLI agents at the table.

use crate::harness::{Home, upstream};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// What an agent of the person's own answers with: enough for every method.
const ANSWER: &str = "POSITION: The agent is in favour.\nCONFIDENCE: HIGH 80\nCONSENSUS: YES\n\
                      SYNTHESIS: The agent says so.";

/// An agent called `mine` in `home` that runs this script.
fn put(home: &Home, script: &str) {
    let program = home.path().join("agent.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = home.path().join(".config/althing");
    fs::create_dir_all(&folder).unwrap();
    let config = format!("[agents.mine]\ncommand = \"{}\"\n", program.display());
    fs::write(folder.join("config.toml"), config).unwrap();
}

#[test]
fn an_agent_and_a_model_discuss() {
    let upstream = upstream();
    let home = Home::with(&upstream).set("PATH", "/usr/bin:/bin");
    put(&home, &format!("cat >/dev/null\ncat <<'END'\n{ANSWER}\nEND"));
    let done = home.run(&["ask", "--models", "mine,openai:fake-large", "Is it so?"]);
    done.ends(0).says("The agent is in favour.");
    home.is_left();
}

#[test]
fn an_agent_that_fails_is_shown_as_failed() {
    let upstream = upstream();
    let home = Home::with(&upstream).set("PATH", "/usr/bin:/bin");
    put(&home, "echo 'Error: Not logged in' >&2; exit 1");
    let done = home.run(&["ask", "--models", "mine,openai:ada,openai:bob", "Is it so?"]);
    let all = done.out.clone() + &done.err;
    assert!(all.contains("Not logged in"), "{done:#?}");
    home.is_left();
}

#[test]
fn an_agent_that_is_not_there_names_what_installs_it() {
    let home = Home::new();
    let done = home.run(&["ask", "--models", "claude-cli", "Is it so?"]);
    assert_ne!(done.code, Some(0));
    let all = done.out.clone() + &done.err;
    assert!(all.contains("npm install -g @anthropic-ai/claude-code"), "{done:#?}");
}

#[test]
fn doctor_tells_of_agents() {
    let home = Home::new();
    put(&home, "true");
    home.run(&["doctor"]).ends(0).says("claude-cli").says("mine");
}
