//! What a person sees: help, models, doctor, config, a terminal.

use crate::harness::{Done, Home, THREE, upstream};
use althing_testkit::{Options, Upstream};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn help_and_mistakes_help() {
    let home = Home::new();
    home.run(&["--help"]).ends(0).says("Examples:").says("Exit codes:");
    home.run(&["ask", "--help"]).ends(0).says("--max-cost").says("oxford");
    home.run(&[]).ends(2);
    home.run(&["histroy"]).ends(2).warns("history");
    home.run(&["ask", "--modles", "x"]).ends(2).warns("--models");
    for shell in ["bash", "zsh", "fish"] {
        home.run(&["completions", shell]).ends(0).says("althing");
    }
    home.run(&["ask", "q", "--rounds", "11"]).ends(2).warns("11");
    home.run(&["ask", "q", "--max-cost", "-1"]).ends(2);
    home.run(&["ask", "q", "--pause", "--models", "demo:a,demo:b"]).ends(2).warns("--pause");
}

#[test]
fn what_is_kept_is_closed_to_other_users() {
    let home = Home::new();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir_all(home.data()).unwrap();
    set_mode(&home.data(), 0o755);
    home.run(&["history"]).ends(0);
    assert_eq!(mode(&home.data()), 0o700);
    // What a link leads to is not ours to change.
    let (shared, token) = (home.path().join("shared"), home.data().join("token"));
    std::fs::write(&shared, "0123456789abcdef0123456789abcdef\n").unwrap();
    set_mode(&shared, 0o644);
    std::os::unix::fs::symlink(&shared, &token).unwrap();
    home.run(&["token"]).ends(2).warns("is a link, which is not followed; remove it");
    assert_eq!(mode(&shared), 0o644);
    std::fs::remove_file(&token).unwrap();
    let given = home.run(&["token"]);
    assert_eq!((given.ends(0).out.trim().len(), mode(&token)), (43, 0o600));
    let open = home.path().join("open");
    std::fs::create_dir(&open).unwrap();
    set_mode(&open, 0o755);
    std::fs::rename(home.data(), home.path().join("before")).unwrap();
    std::os::unix::fs::symlink(&open, home.data()).unwrap();
    home.run(&["token"]).ends(2).warns("is open to other users").warns("chmod 700");
    assert_eq!(mode(&open), 0o755);
}

#[test]
fn a_login_that_ended_for_good_is_told_of_before_it_begins() {
    let help = Home::new().run(&["providers", "add-oauth", "--help"]);
    help.ends(0).says("ended on 15 April 2026").says("althing providers add dashscope");
}

#[test]
fn local_servers_are_found_by_themselves() {
    let upstream = Upstream::start(Options::default().models(["llama3.2", "nomic-embed-text"]));
    let home = Home::new().set("OLLAMA_BASE_URL", &upstream.url());
    let models = home.run(&["models"]);
    models.ends(0).says("ollama:llama3.2");
    assert!(!models.out.contains("nomic-embed"), "not a chat model");
    let done = home.run(&["ask", "Hello?"]);
    done.ends(0).warns("takes all 3 seats");
    assert!(upstream.count("llama3.2") > 3);
    assert!(!done.err.contains("demo"));
}

#[test]
fn doctor_says_what_was_found_and_what_to_do() {
    let home = Home::new();
    home.run(&["doctor"]).ends(0).says("OPENAI_API_KEY").says("Ollama").says("claude");
    let upstream = upstream();
    let home = Home::with(&upstream);
    let claude = home.path().join("claude");
    std::fs::write(&claude, "#!/bin/sh\necho \"$@\" >> \"$HOME/ran\"\n").unwrap();
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    let done = home.run(&["doctor"]);
    done.ends(0).says("OpenAI").says("2 models").says("claude");
    let ran = std::fs::read_to_string(home.path().join("ran")).unwrap();
    assert_eq!(ran, "--version\nauth status\n", "it is asked for nothing else");
    assert!(!done.out.contains("sk-test-0123456789abcdef"));
}

#[test]
fn config_shows_sources_and_never_a_key() {
    let upstream = upstream();
    let home = Home::with(&upstream)
        .set("QUORUM_ROUNDS_PER_AGENT", "99")
        .set("QUORUM_SYNTHESIZER", "rotate");
    std::fs::write(home.path().join(".env"), "XAI_API_KEY=sk-...\nQUORUM_METHOD=oxford\n").unwrap();
    let done = home.run(&["config"]);
    done.ends(0)
        .says("config.toml")
        .says("QUORUM_SYNTHESIZER")
        .says("./.env")
        .warns("QUORUM_ROUNDS_PER_AGENT")
        .warns("XAI_API_KEY");
    assert!(!done.out.contains("0123456789") && !done.err.contains("sk-..."));
    home.run(&["config", "--init"]).ends(0).says("config.toml");
    let file = home.path().join(".config/althing/config.toml");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    home.run(&["config", "--init"]).ends(2).warns("config.toml");
}

#[test]
fn a_configured_line_up_sits_and_a_wrong_one_is_told() {
    let upstream = upstream();
    let home = Home::with(&upstream).set("ALTHING_MODELS", "openai:ada, openai:bob");
    home.run(&["ask", "Hello?"]).ends(0).says("Ada, Bob");
    for wrong in ["nope-9,openai:ada", "gemini-2.5-pro,openai:ada"] {
        let home = Home::with(&upstream).set("ALTHING_MODELS", wrong);
        home.run(&["ask", "Hello?"]).ends(0).warns("ALTHING_MODELS").says("Consensus");
    }
}

#[test]
fn a_base_url_in_the_current_folder_gets_no_key_from_elsewhere() {
    let trap = upstream();
    let home = Home::new().set("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    std::fs::write(home.path().join(".env"), format!("OPENAI_BASE_URL={}/v1\n", trap.url()))
        .unwrap();
    let done = home.run(&["ask", "Hello?", "--models", "openai:ada"]);
    assert_ne!(done.code, Some(0));
    done.warns("OPENAI_BASE_URL");
    home.run(&["models"]).ends(0);
    home.run(&["doctor"]).ends(0);
    assert!(trap.requests().is_empty(), "the key went to a server of somebody else's choice");
}

#[test]
fn files_are_private() {
    let home = Home::new();
    home.run(&["ask", "q", "--models", "demo:builder"]).ends(0);
    let mode =
        |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.data()), 0o700);
    assert_eq!(mode(home.data().join("althing.db")), 0o600);
    let left: Vec<_> = walk(&home.data())
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "lock"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn no_key_is_left_anywhere() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    home.run(&["ask", "q", "--models", "openai:err-401"]).ends(10);
    home.run(&["ask", "q", "--models", "openai:ada"]).ends(0);
    home.run(&["doctor"]).ends(0);
    for path in walk(&home.data()) {
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(16).any(|window| window == b"0123456789abcdef");
        assert!(!found, "the key is in {}", path.display());
    }
}

/// The binary on a real terminal, made by `script` of util-linux.
fn on_terminal(home: &Home, command: &str, typed: &str) -> String {
    let mut shell = Command::new("script");
    let inner = home.command(&[]);
    shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", "/usr/bin:/bin").env("TERM", "xterm-256color").current_dir(home.path());
    let line = format!("stty rows 24 cols 72; {} {command}", env!("CARGO_BIN_EXE_althing"));
    let mut child = shell
        .args(["-qec", &line, "/dev/null"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Kept open to the end: `script` types an end of file where its input has one.
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(typed.as_bytes()).unwrap();
    let done = Done::of(child.wait_with_output().unwrap());
    drop(keyboard);
    done.out
}

#[test]
fn a_key_that_may_be_missing_is_asked_for_and_read() {
    let upstream = upstream();
    let home = Home::new();
    let url = format!("{}/v1", upstream.url());
    let sent = || upstream.requests().pop().unwrap().header("authorization").to_string();
    for (kind, input, want) in [
        ("custom", "a-key-of-mine\n", "Bearer a-key-of-mine"),
        ("vllm", "  another-one  \nand more\n", "Bearer another-one"),
        ("vllm", "", ""),
        ("lmstudio", "\n", ""),
    ] {
        let add = ["providers", "add", kind, "--name", "Piped", "--base-url", &url];
        home.run_with_input(&add, input).ends(0).says("is added");
        assert_eq!(sent(), want, "{kind} {input:?}");
    }
    let openai = ["providers", "add", "openai", "--base-url", &url];
    home.run_with_input(&openai, "\n").ends(2).warns("it is empty");
    for (typed, want) in [("typed-key\n", "Bearer typed-key"), ("\n", "")] {
        let out = on_terminal(&home, &format!("providers add custom --base-url {url}"), typed);
        assert!(out.contains("Key of custom (Enter for none): "), "{out}");
        assert!(out.contains("is added"), "{out}");
        assert_eq!(sent(), want, "{typed:?}");
    }
}

#[test]
fn a_terminal_gets_colours_a_status_line_and_its_width() {
    let slow = Options::default()
        .latency(std::time::Duration::from_millis(400))
        .text(|_| format!("{} \x1b[2J", "word ".repeat(60)));
    let upstream = Upstream::start(slow);
    let home = Home::with(&upstream);
    let out = on_terminal(&home, &format!("ask Hello? --models {THREE} --rounds 1"), "");
    assert!(out.contains("\x1b[1m"), "bold headings");
    assert!(out.contains("\r\x1b[K"), "the status line is wiped");
    assert!(out.contains("Ada 0 s"), "who is thinking: {out}");
    assert!(
        out.contains("\\u{1b}[2J") && !out.contains("\x1b[2J"),
        "a model cannot drive the terminal"
    );
    let widest = out
        .lines()
        .map(|line| line.rsplit('\r').next().unwrap_or(""))
        .filter(|l| !l.contains('\x1b'))
        .map(|l| l.chars().count())
        .max();
    assert!(widest <= Some(72), "{widest:?}");
    let plain = on_terminal(
        &home.set("NO_COLOR", "1"),
        "ask Hello? --models openai:ada,openai:bob --rounds 1",
        "",
    );
    assert!(!plain.contains("\x1b[1m") && !plain.contains("\x1b[3"), "NO_COLOR");
}

#[test]
fn a_pause_waits_for_enter() {
    let home = Home::new().set("QUORUM_PAUSE_TIMEOUT", "3600");
    let ask = "ask 'Tabs or spaces?' --pause --method oxford --models demo:a,demo:b";
    // One for each of the three pauses; without them the run would wait for an hour.
    let out = on_terminal(&home, ask, "\n\n\n");
    for phase in 2..=4 {
        assert!(
            out.contains(&format!("Enter goes on to phase {phase}; by itself in 60 min")),
            "{out}"
        );
    }
    assert!(out.contains("Consensus"), "{out}");
}
