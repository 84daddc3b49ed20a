//! `[agents.<name>]`.

use super::*;
use althing_agents::Adapter;

const FILE: &str = r#"
[agents.claude]
model = "opus"
args = ["--fallback-model", "sonnet"]

[agents.careful]
agent = "codex"
effort = "high"
command = "/opt/codex"
config_dir = "/opt/config"

[agents.mine]
command = "python3 'my agent.py' --fast"
prompt_mode = "arg"
output_format = "claude"
env = ["MY_KEY"]
"#;

/// What a name comes to.
#[track_caller]
fn check(name: &str, expected: Option<&str>) {
    let config = Home::new(&[]).with(TOML, FILE).load();
    assert_eq!(config.warnings, []);
    let shown = config.agent(name).map(|it| {
        let how = match &it.adapter {
            Adapter::Known(row) => row.id.to_string(),
            Adapter::Custom(own) => format!("{:?} {:?} {:?}", own.words, own.prompt, own.format),
        };
        let (model, effort) = (it.model.unwrap_or_default(), it.effort.unwrap_or_default());
        let program = it.program.unwrap_or_default();
        format!("{how} {model}@{effort} {program} {:?} {:?}", it.arguments, it.variables)
    });
    assert_eq!(shown.as_deref(), expected, "{name}");
}

#[test]
fn agents_are_named_by_their_ids_and_sections() {
    check("gemini-cli", Some("gemini-cli @  [] []"));
    check("gemini-cli:flash@low", Some("gemini-cli flash@low  [] []"));
    let tuned = r#"claude-cli opus@  ["--fallback-model", "sonnet"] []"#;
    check("claude-cli", Some(tuned));
    check("claude", Some(tuned));
    check("claude-cli:sonnet", Some(&tuned.replace("opus", "sonnet")));
    check("careful", Some("codex-cli @high /opt/codex [] []"));
    check("codex-cli", Some("codex-cli @  [] []"));
    let mine = r#"["python3", "my agent.py", "--fast"] Argument Claude @  [] ["MY_KEY"]"#;
    check("mine", Some(mine));
    for name in ["gemini", "codex", "gpt-5.1", "openai:gpt-5.1", "", ":", "mine2"] {
        check(name, None);
    }
}

#[test]
fn what_is_wrong_with_a_section_is_a_warning() {
    let warns = |text: &str, parts: &[&str]| Home::new(&[]).with(TOML, text).warns(parts);
    warns("agents = 7", &["must be sections"]);
    warns("[agents]\nx = 7", &["must be a section: [agents.x]"]);
    warns("[agents.x]", &["has no command"]);
    warns("[agents.x]\ncommand = 'a \"b'", &["command: ends with an open quote"]);
    warns("[agents.x]\nagent = 'gpt'", &["agent must be one of claude, codex"]);
    warns("[agents.x]\ncommand = 'a'\nprompt_mode = 'file'", &["stdin or arg"]);
    warns("[agents.x]\ncommand = 'a'\noutput_format = 'xml'", &["output_format must be"]);
    warns("[agents.claude]\nargs = 'x'", &["args must be a list of texts"]);
    warns("[agents.claude]\nmodle = 'x'", &["is not known"]);
    warns("[agents.'a:b']\ncommand = 'a'", &["is no name"]);
}
