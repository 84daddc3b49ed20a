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

/// A program called `name` on the `PATH` of `home`, which notes how it was called.
fn install(home: &Home, name: &str, script: &str) {
    let program = home.path().join(name);
    fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> \"$HOME/ran\"\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// How the programs in `home` were called.
fn ran(home: &Home) -> String {
    fs::read_to_string(home.path().join("ran")).unwrap_or_default()
}

#[test]
fn an_agent_that_is_only_there_takes_no_part_in_a_discussion() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let answer = serde_json::json!({
        "type": "result", "subtype": "success", "is_error": false, "result": ANSWER
    });
    install(&home, "claude", &format!("printf '%s\\n' '{answer}'"));
    let path = format!("{}:/usr/bin:/bin", home.path().display());
    let home = home.set("PATH", &path);
    home.run(&["ask", "Is it so?"]).ends(0);
    assert_eq!(ran(&home), "", "nobody named it");
    let done = home.run(&["ask", "--models", "claude-cli,openai:fake-large", "Is it so?"]);
    done.ends(0).says("The agent is in favour.");
    assert!(ran(&home).contains("--output-format stream-json"), "{}", ran(&home));
    home.is_left();
}

/// What `doctor` says of an agent that answers so when it is asked for its login.
#[track_caller]
fn check_doctor(name: &str, login: &str, exit: u8, want: &str) {
    let home = Home::new();
    let script = format!(
        "case $1 in --version) echo '{name} 2.1.3' ;; *) echo '{login}'; exit {exit} ;; esac"
    );
    install(&home, name, &script);
    let done = home.run(&["doctor"]);
    let line = done.ends(0).out.lines().find(|line| line.contains(&format!("{name}-cli")));
    let line = line.unwrap_or_else(|| panic!("{done:#?}"));
    assert!(line.contains(&format!("{name} 2.1.3{want}, /")), "{line}");
    let asked = ran(&home);
    let asked: Vec<&str> = asked.lines().collect();
    let is_harmless = |it: &&str| it.ends_with("--version") || LOGINS.contains(it);
    assert!(asked.iter().all(is_harmless), "nothing is spent: {asked:?}");
}

/// How agents are asked for their login.
const LOGINS: &[&str] = &["auth status", "login status", "auth list"];

#[test]
fn doctor_tells_of_agents() {
    let home = Home::new();
    put(&home, "true");
    home.run(&["doctor"]).ends(0).says("claude-cli").says("mine");
    check_doctor("claude", "{ \"loggedIn\": false }", 1, ", not logged in");
    check_doctor("claude", "{ \"loggedIn\": true }", 0, ", logged in");
    check_doctor("claude", "what?", 1, "");
    check_doctor("codex", "Not logged in", 1, ", not logged in");
    check_doctor("codex", "Logged in using ChatGPT", 0, ", logged in");
    check_doctor("opencode", "  0 credentials", 0, ", not logged in");
    check_doctor("opencode", "  2 credentials", 0, ", logged in");
    check_doctor("gemini", "", 0, ", not logged in");
    let home = Home::new();
    install(&home, "gemini", "echo 0.61.0");
    fs::create_dir(home.path().join(".gemini")).unwrap();
    fs::write(home.path().join(".gemini/oauth_creds.json"), "{}").unwrap();
    home.run(&["doctor"]).ends(0).says("0.61.0, logged in, /");
}
