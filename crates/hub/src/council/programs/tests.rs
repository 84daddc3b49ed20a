//! Agents of tasks as they are called.

use super::*;
use crate::config::World;
use serde_json::{Value, json};

/// The program, its arguments and its other settings; or the refusal.
#[track_caller]
fn check(agent: Value, want: Result<&str, &str>) {
    let agent: Agent = serde_json::from_value(agent).unwrap();
    let world = World { env: Default::default(), cwd: "/".into(), home: "/nowhere".into() };
    let config = Config::load(&world);
    let called = program(&agent, "agents.judge", &config);
    let shown = called.map(|seat| shown(&seat.unwrap())).map_err(|fault| fault.message);
    assert_eq!(shown, want.map(String::from).map_err(String::from));
}

fn shown(seat: &Sitting) -> String {
    let agent = &seat.agent.as_ref().unwrap().config;
    let (words, more) = match &agent.adapter {
        Adapter::Known(row) => (vec![agent.program.clone().unwrap_or(row.name.into())], "".into()),
        Adapter::Custom(it) => (it.words.clone(), format!(" {:?} {:?}", it.prompt, it.format)),
    };
    let effort = agent.effort.as_deref().map(|it| format!("@{it}")).unwrap_or_default();
    let effort = match agent.fallbacks.is_empty() {
        true => effort,
        false => format!("{effort}|{}", agent.fallbacks.join("|")),
    };
    let variables = agent.variables.join(",");
    let words = [words, agent.arguments.clone()].concat().join(" ");
    format!("{} = {}{effort}: {words}{more} [{variables}]", seat.name, seat.id)
}

#[test]
fn an_agent_of_a_task_is_a_program() {
    check(json!({ "kind": "claude" }), Ok("claude-cli = claude-cli: claude []"));
    check(json!({ "name": "codex" }), Ok("codex = codex-cli: codex []"));
    check(
        json!({
            "name": "big", "cli": "codex-cli", "model": "m", "reasoning_effort": "high",
            "extra_args": ["--a", "b"], "api_env_var": "MY_KEY"
        }),
        Ok("big = codex-cli:m@high: codex --a b [MY_KEY]"),
    );
    check(
        json!({ "type": "claude", "command": "/x/claude", "extra_args": ["-v"] }),
        Ok("claude-cli = claude-cli: /x/claude -v []"),
    );
    check(
        json!({ "kind": "opencode", "agent": "plan", "attach": "http://localhost:1" }),
        Ok("opencode-cli = opencode-cli: opencode --agent plan --attach http://localhost:1 []"),
    );
    check(
        json!({ "kind": "codex", "model": "m", "fallback_models": ["n", "o"] }),
        Ok("codex-cli:m = codex-cli:m|n|o: codex []"),
    );
    for (field, format) in [("format", "codex"), ("cli_format", "claude")] {
        let agent = json!({ "command": "mine", field: format });
        let name = if format == "codex" { "Codex" } else { "Claude" };
        check(agent, Ok(&format!("custom = custom: mine Stdin {name} []")));
    }
    let first = json!({ "command": "mine", "output_format": "text", "format": "codex" });
    check(first, Ok("custom = custom: mine Stdin Text []"));
    let own = json!({ "command": "./mine 'a b'" });
    check(own, Ok("custom = custom: ./mine a b Stdin Text []"));
    check(
        json!({
            "name": "mine", "kind": "custom", "command": "mine", "prompt_mode": "arg",
            "output_format": "gemini", "extra_args": ["x"]
        }),
        Ok("mine = mine: mine x Argument Gemini []"),
    );
}

#[test]
fn an_agent_uses_its_login_or_a_key_as_the_task_says() {
    let world = World { env: Default::default(), cwd: "/".into(), home: "/nowhere".into() };
    let config = Config::load(&world);
    for (mode, want) in
        [(Value::Null, Auth::Any), (json!("login"), Auth::Login), (json!("api"), Auth::Key)]
    {
        let agent = serde_json::from_value(json!({ "kind": "claude", "auth_mode": mode })).unwrap();
        let seat = program(&agent, "agents.judge", &config).unwrap().unwrap();
        assert_eq!(seat.agent.unwrap().config.auth, want);
    }
}

#[test]
fn what_cannot_be_called_is_named() {
    for (agent, want) in [
        (json!({ "kind": "custom" }), "agents.judge.command: a custom agent needs one"),
        (json!({ "command": " " }), "agents.judge.command: is empty"),
        (json!({ "command": "a 'b" }), "agents.judge.command: ends with an open quote"),
        (json!({ "kind": "claude", "agent": "x" }), "agents.judge.agent: only opencode has one"),
        (
            json!({ "kind": "claude", "command": "npx claude" }),
            "agents.judge.command: of claude only its program; the rest goes to extra_args",
        ),
        (
            json!({ "command": "x", "cli_format": "xml" }),
            "agents.judge.cli_format: 'xml' is none of text, json, markdown, raw, claude, codex, \
             gemini, opencode",
        ),
        (
            json!({ "command": "x", "output_format": "xml" }),
            "agents.judge.output_format: 'xml' is none of text, json, markdown, raw, claude, \
             codex, gemini, opencode",
        ),
    ] {
        check(agent, Err(want));
    }
}
