use super::*;
use crate::agent::Limits;
use expect_test::{Expect, expect};
use std::path::PathBuf;
use std::time::Duration;

fn options() -> Options {
    let pairs = [
        ("PATH", "/bin"),
        ("HOME", "/home/ada"),
        ("LC_ALL", "C"),
        ("https_proxy", "http://proxy:1"),
        ("ANTHROPIC_API_KEY", "sk-ant"),
        ("OPENAI_API_KEY", "sk-oai"),
        ("AWS_SECRET_ACCESS_KEY", "aws"),
        ("SECRET", "other"),
        ("CLAUDECODE", "1"),
        ("MY_KEY", "mine"),
    ];
    Options {
        model: None,
        fallbacks: vec![],
        auth: Auth::Any,
        effort: None,
        program: None,
        arguments: vec![],
        repo: None,
        config: None,
        environment: pairs.map(|(name, value)| (name.into(), value.into())).into(),
        variables: vec![],
        limits: Limits { idle: Duration::from_secs(1), total: Duration::from_secs(1) },
        ledger: PathBuf::from("/ledger"),
        raw: None,
    }
}

fn workspace() -> Workspace {
    Workspace::open(None).unwrap()
}

#[track_caller]
fn check(name: &str, tune: impl Fn(&mut Options), expected: &Expect) {
    let (adapter, model) = Adapter::find(name).unwrap();
    let mut options = options();
    options.model = model;
    tune(&mut options);
    let ask = Ask::new("Be brief.", "Why?");
    let mut workspace = workspace();
    let made = Invocation::new(&adapter, &options, &ask, &mut workspace).unwrap();
    assert_eq!(made.input, b"Be brief.\n\nWhy?");
    let names: Vec<_> = made.environment.keys().map(String::as_str).collect();
    let shown = format!("{} {:?}\n{}\n", made.program, made.arguments, names.join(" "));
    let work = workspace.path().to_str().unwrap();
    let beside = workspace.path().parent().unwrap().to_str().unwrap();
    expected.assert_eq(&shown.replace(work, "/work").replace(beside, "/beside"));
}

#[test]
fn each_agent_is_called_as_its_row_says() {
    let none = |_: &mut Options| {};
    check(
        "claude-cli:opus",
        none,
        &expect![[r#"
        claude ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--no-session-persistence", "--disable-slash-commands", "--strict-mcp-config", "--tools", "", "--model", "opus"]
        ANTHROPIC_API_KEY DISABLE_AUTOUPDATER DISABLE_TELEMETRY HOME LC_ALL NO_COLOR PATH TERM https_proxy
    "#]],
    );
    check(
        "claude",
        |it| it.repo = Some("/repo".into()),
        &expect![[r#"
        claude ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--no-session-persistence", "--disable-slash-commands", "--strict-mcp-config", "--tools", "Read,Grep,Glob", "--allowedTools", "Read,Grep,Glob"]
        ANTHROPIC_API_KEY DISABLE_AUTOUPDATER DISABLE_TELEMETRY HOME LC_ALL NO_COLOR PATH TERM https_proxy
    "#]],
    );
    let tuned = |it: &mut Options| {
        it.effort = Some("high".into());
        it.arguments = vec!["--x".into()];
        it.config = Some("/config".into());
        it.variables = vec!["MY_*".into()];
    };
    check(
        "codex-cli:gpt-5.1",
        tuned,
        &expect![[r#"
            codex ["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--color", "never", "-s", "read-only", "-c", "features.shell_tool=false", "-c", "features.unified_exec=false", "-c", "features.view_image=false", "-c", "features.multi_agent=false", "-c", "features.goals=false", "-c", "web_search=disabled", "-C", "/work", "-m", "gpt-5.1", "-c", "model_reasoning_effort=high", "--x", "-"]
            CODEX_HOME HOME LC_ALL MY_KEY NO_COLOR OPENAI_API_KEY PATH TERM https_proxy
        "#]],
    );
    check(
        "codex",
        |it| it.repo = Some("/repo".into()),
        &expect![[r#"
            codex ["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--color", "never", "-s", "read-only", "-c", "features.multi_agent=false", "-c", "features.goals=false", "-c", "web_search=disabled", "-C", "/work", "-"]
            HOME LC_ALL NO_COLOR OPENAI_API_KEY PATH TERM https_proxy
        "#]],
    );
    check(
        "gemini",
        none,
        &expect![[r#"
            gemini ["-o", "stream-json", "--skip-trust", "-e", "none", "--allowed-mcp-server-names", "none", "--approval-mode", "plan", "--admin-policy", "/beside/limits.toml"]
            HOME LC_ALL NO_COLOR PATH TERM https_proxy
        "#]],
    );
    check(
        "opencode-cli:anthropic/claude",
        none,
        &expect![[r#"
        opencode ["run", "--format", "json", "--pure", "--title", "althing", "--dir", "/work", "-m", "anthropic/claude"]
        ANTHROPIC_API_KEY HOME LC_ALL NO_COLOR OPENAI_API_KEY OPENCODE_DISABLE_AUTOUPDATE OPENCODE_PERMISSION PATH TERM https_proxy
    "#]],
    );
}

#[test]
fn keys_go_along_as_the_person_wants() {
    let with = |name: &str, auth: Auth, variables: &[&str]| {
        let (adapter, _) = Adapter::find(name).unwrap();
        let variables = variables.iter().map(ToString::to_string).collect();
        let options = Options { auth, variables, ..options() };
        let made = Invocation::new(&adapter, &options, &Ask::new("", "x"), &mut workspace());
        let made = made.map_err(|fault| (fault.kind, fault.message))?;
        let is_key = |name: &&String| name.ends_with("_KEY");
        Ok::<_, (Kind, String)>(made.environment.keys().filter(is_key).cloned().collect::<Vec<_>>())
    };
    assert_eq!(with("claude", Auth::Any, &[]).unwrap(), ["ANTHROPIC_API_KEY"]);
    assert_eq!(with("claude", Auth::Key, &[]).unwrap(), ["ANTHROPIC_API_KEY"]);
    assert!(with("claude", Auth::Login, &[]).unwrap().is_empty());
    assert!(with("opencode", Auth::Login, &[]).unwrap().is_empty());
    assert_eq!(with("claude", Auth::Login, &["MY_KEY"]).unwrap(), ["MY_KEY"]);
    let none = "a key is wanted: none of GEMINI_API_KEY, GOOGLE_API_KEY is set";
    assert_eq!(with("gemini", Auth::Key, &[]), Err((Kind::BadKey, none.into())));
    assert_eq!(with("gemini", Auth::Key, &["MY_KEY"]).unwrap(), ["MY_KEY"]);
}

#[test]
fn an_agent_of_ours_starts_no_agents() {
    let mut options = options();
    assert_eq!(guard(&options.environment), Ok(()));
    options.environment.insert(GUARD.into(), "1-2".into());
    let (adapter, _) = Adapter::find("claude").unwrap();
    let refused = Invocation::new(&adapter, &options, &Ask::new("", "x"), &mut workspace());
    let fault = refused.unwrap_err();
    assert_eq!(fault.kind, Kind::InvalidParams);
    assert!(fault.message.contains("may not start agents"), "{fault}");
}

#[test]
fn a_prompt_that_is_no_argument_is_refused_with_the_limit() {
    let mut custom = Custom::new("mine", "answer --now").unwrap();
    custom.prompt = PromptMode::Argument;
    let adapter = Adapter::Custom(custom);
    let ask = |prompt: String| {
        Invocation::new(&adapter, &options(), &Ask::new("", prompt), &mut workspace())
    };
    let made = ask("Why?".into()).unwrap();
    assert_eq!((&*made.arguments, &*made.input), (&["--now".into(), "Why?".into()][..], &b""[..]));
    assert!(ask("x".repeat(131_071)).is_ok());
    let fault = ask("x".repeat(140_000)).unwrap_err();
    let expected = "prompt: has 140000 bytes, an argument has less than 131072; \
                    set prompt_mode to stdin";
    assert_eq!(fault.message, expected);
    assert!(ask("a\0b".into()).unwrap_err().message.contains("zero byte"));
    let fault = ask("x".repeat(PROMPT_BYTES_MAX + 1)).unwrap_err();
    assert!(fault.message.starts_with("prompt: has 16777217 bytes"), "{fault}");
}
