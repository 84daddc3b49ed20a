//! Fields of a task's agents that a form allows and that mean nothing for who is meant: told, so
//! that nobody believes they did something.

use althing_agents::Adapter;
use althing_assembly::council::task::Agent;

/// The only other format that an agent's own events are called by.
const EVENTS: &str = "json";

/// What of `agent` nothing is done with, each with the reason. `adapter` is none where it is a model
/// of an API, and `field` is where the task names it.
pub(super) fn fields(agent: &Agent, field: &str, adapter: Option<&Adapter>) -> Vec<String> {
    let rows = match adapter {
        None => of_model(agent),
        Some(Adapter::Known(row)) => of_known(agent, !row.effort.is_empty()),
        Some(Adapter::Custom(_)) => of_command(agent),
    };
    let given = rows.into_iter().filter(|(_, is_given, _)| *is_given);
    given.map(|(name, _, why)| format!("{field}.{name}: nothing is done with it: {why}")).collect()
}

/// A field, whether it says something that is not done, and why that is so.
type Row = (&'static str, bool, &'static str);

fn of_model(agent: &Agent) -> Vec<Row> {
    let why = "only a program has one";
    vec![
        ("agent", agent.agent.is_some(), why),
        ("attach", agent.attach.is_some(), why),
        ("format", agent.format.is_some(), why),
        ("cli_format", agent.cli_format.is_some(), why),
        ("output_format", agent.output_format.is_some(), why),
        ("prompt_mode", agent.prompt_mode.is_some(), why),
        ("extra_args", !agent.extra_args.is_empty(), why),
        ("api_env_var", agent.api_env_var.is_some(), "its provider's key is used"),
        ("auth_mode", is(&agent.auth_mode, "login"), "its provider's key is used"),
    ]
}

fn of_known(agent: &Agent, has_effort: bool) -> Vec<Row> {
    let other = |format: &Option<String>| format.as_ref().is_some_and(|it| it != EVENTS);
    let why = "the events it writes are known";
    vec![
        ("format", other(&agent.format), why),
        ("cli_format", other(&agent.cli_format), why),
        ("output_format", other(&agent.output_format), why),
        ("prompt_mode", is(&agent.prompt_mode, "arg"), "it reads its prompt on standard input"),
        ("reasoning_effort", agent.reasoning_effort.is_some() && !has_effort, "it has none"),
    ]
}

fn of_command(agent: &Agent) -> Vec<Row> {
    let why = "a command takes what extra_args say";
    let is_keyless = agent.api_env_var.is_none();
    vec![
        ("model", agent.model.is_some(), why),
        ("fallback_models", !agent.fallback_models.is_empty(), why),
        ("reasoning_effort", agent.reasoning_effort.is_some(), why),
        ("auth_mode", is(&agent.auth_mode, "api") && is_keyless, "api_env_var names no key"),
    ]
}

fn is(field: &Option<String>, value: &str) -> bool {
    field.as_deref() == Some(value)
}

#[cfg(test)]
mod tests {
    use super::super::agents::examine;
    use crate::config::{Config, World};
    use serde_json::{Value, json};

    /// What is told of a judge: errors with their place, and fields that do nothing.
    #[track_caller]
    fn check(judge: Value, errors: &[&str], ignored: &[&str]) {
        let world = World { env: Default::default(), cwd: "/".into(), home: "/nowhere".into() };
        let agent = serde_json::from_value(judge.clone()).unwrap();
        let agents = [("agents.judge".to_string(), agent)];
        let (problems, told) = examine(&agents, &Config::load(&world));
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, errors, "{judge}");
        let names = |line: &String| {
            let (name, why) = line.split_once(": nothing is done with it: ").unwrap();
            assert!(!why.is_empty());
            name.strip_prefix("agents.judge.").unwrap().to_string()
        };
        assert_eq!(told.iter().map(names).collect::<Vec<_>>(), ignored, "{judge}");
    }

    #[test]
    fn what_does_nothing_is_told() {
        check(json!({ "model": "m", "fallback_models": ["n"], "auth_mode": "api" }), &[], &[]);
        check(
            json!({
                "model": "m", "agent": "a", "attach": "b", "format": "json", "cli_format": "json",
                "output_format": "text", "prompt_mode": "stdin", "extra_args": ["-x"],
                "api_env_var": "KEY", "auth_mode": "login"
            }),
            &[],
            &[
                "agent",
                "attach",
                "format",
                "cli_format",
                "output_format",
                "prompt_mode",
                "extra_args",
                "api_env_var",
                "auth_mode",
            ],
        );
        let known = json!({
            "kind": "codex", "model": "m", "fallback_models": ["n"], "auth_mode": "login",
            "reasoning_effort": "high", "format": "json", "prompt_mode": "stdin"
        });
        check(known, &[], &[]);
        check(
            json!({
                "kind": "gemini", "format": "text", "output_format": "raw", "prompt_mode": "arg",
                "reasoning_effort": "high"
            }),
            &[],
            &["format", "output_format", "prompt_mode", "reasoning_effort"],
        );
        check(json!({ "command": "x", "auth_mode": "login", "cli_format": "codex" }), &[], &[]);
        check(
            json!({
                "command": "x", "model": "m", "fallback_models": ["n"], "auth_mode": "api",
                "reasoning_effort": "high"
            }),
            &[],
            &["model", "fallback_models", "reasoning_effort", "auth_mode"],
        );
    }

    #[test]
    fn who_cannot_be_called_is_an_error_with_its_place() {
        let needs = "$.agents.judge.command: a custom agent needs one";
        check(json!({ "kind": "custom" }), &[needs], &[]);
        check(json!({}), &["$.agents.judge: it names no model, kind or name"], &[]);
    }
}
