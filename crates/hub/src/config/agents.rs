//! Which agents are on this machine, and `[agents.<name>]`: how they are called.

use super::file::TomlFile;
use super::settings::is_model_name;
use super::source::{Warning, shown};
use super::{Config, World};
use althing_agents::{Adapter, Auth, Custom, Format, PromptMode, ROWS};
use althing_gateway::split_effort;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Folders of `PATH` that are looked into.
const PATH_FOLDERS_MAX: usize = 200;
/// The agents that are looked for, as their commands are called.
pub const AGENTS: &[&str] = &["claude", "codex", "gemini", "opencode"];

/// The keys of `[agents.<name>]`.
const KEYS: &[&str] = &[
    "agent",
    "command",
    "model",
    "effort",
    "args",
    "prompt_mode",
    "output_format",
    "env",
    "config_dir",
];

/// An agent as the person wants it called.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// The section's name; of an agent without one, its id.
    pub name: String,
    pub adapter: Adapter,
    pub model: Option<String>,
    /// Models that are asked in turn where that one gives nothing.
    pub fallbacks: Vec<String>,
    pub auth: Auth,
    pub effort: Option<String>,
    /// Its program, where that is not on `PATH`.
    pub program: Option<String>,
    pub arguments: Vec<String>,
    /// Variables that it gets beside the usual ones.
    pub variables: Vec<String>,
    /// A folder for its own configuration.
    pub config_dir: Option<PathBuf>,
}

impl AgentConfig {
    /// Called as its adapter says.
    pub(crate) fn plain(name: &str, adapter: Adapter) -> AgentConfig {
        AgentConfig {
            name: name.into(),
            adapter,
            model: None,
            fallbacks: vec![],
            auth: Auth::Any,
            effort: None,
            program: None,
            arguments: vec![],
            variables: vec![],
            config_dir: None,
        }
    }

    /// Whether `id` means it: its section's name, or the id of the agent that the section is about.
    fn is(&self, id: &str) -> bool {
        let is_row = |adapter: &Adapter| match adapter {
            Adapter::Known(row) => row.id == id && [row.name, row.id].contains(&self.name.as_str()),
            Adapter::Custom(_) => false,
        };
        self.name == id || is_row(&self.adapter)
    }
}

impl Config {
    /// The agent that `name` means: `claude-cli`, `claude-cli:opus`, a section's name; each may end
    /// in `@effort`. Nothing is looked for on this machine.
    pub fn agent(&self, name: &str) -> Option<AgentConfig> {
        let (bare, effort) = split_effort(name);
        let (id, model) = bare.split_once(':').map_or((bare, None), |(id, it)| (id, Some(it)));
        let row = || ROWS.iter().find(|row| row.id == id);
        let plain = || Some(AgentConfig::plain(id, Adapter::Known(row()?)));
        let mut agent = self.agents.iter().find(|it| it.is(id)).cloned().or_else(plain)?;
        agent.model = model.map(str::to_string).or(agent.model);
        agent.effort = effort.map(str::to_string).or(agent.effort);
        Some(agent)
    }
}

/// Every section that can be used; what is wrong with the others is a warning.
pub(super) fn read(file: &TomlFile, warnings: &mut Vec<Warning>) -> Vec<AgentConfig> {
    let Some(all) = file.agents() else { return vec![] };
    let Some(sections) = all.as_table() else {
        let problem = "must be sections: [agents.claude], …";
        warnings.push(Warning::new("agents", &file.source(), problem));
        return vec![];
    };
    let mut agents = Vec::new();
    for (name, section) in sections {
        let place = format!("agents.{}", shown(name, 40));
        let read = match section.as_table() {
            Some(table) => {
                file.check(&format!("{place}."), table, KEYS, warnings);
                agent(name, table)
            }
            None => Err(format!("must be a section: [{place}]")),
        };
        match read {
            Ok(agent) => agents.push(agent),
            Err(problem) => warnings.push(Warning::new(&place, &file.source(), problem)),
        }
    }
    agents
}

fn agent(name: &str, table: &Table) -> Result<AgentConfig, String> {
    if !is_model_name(name) || name.contains([':', '@']) {
        return Err("is no name for an agent".into());
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("{key} must be a text")),
    };
    let texts = |key: &str| {
        let all = table.get(key).map_or(Some(vec![]), texts);
        all.ok_or_else(|| format!("{key} must be a list of texts"))
    };
    let (command, known) = (text("command")?, Adapter::find(text("agent")?.unwrap_or(name)));
    let (adapter, program) = match (known, command) {
        (Some((known, _)), program) => (known, program.map(str::to_string)),
        (None, _) if text("agent")?.is_some() => {
            return Err(format!("agent must be one of {}", AGENTS.join(", ")));
        }
        (None, None) => return Err("has no command".into()),
        (None, Some(command)) => {
            let custom = own(name, command, text("prompt_mode")?, text("output_format")?)?;
            (Adapter::Custom(custom), None)
        }
    };
    Ok(AgentConfig {
        model: text("model")?.map(str::to_string),
        effort: text("effort")?.map(str::to_string),
        program,
        arguments: texts("args")?,
        variables: texts("env")?,
        config_dir: text("config_dir")?.map(PathBuf::from),
        ..AgentConfig::plain(name, adapter)
    })
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|it| it.as_str().map(str::to_string)).collect()
}

fn own(
    name: &str,
    command: &str,
    prompt: Option<&str>,
    output: Option<&str>,
) -> Result<Custom, String> {
    let mut custom = Custom::new(name, command).map_err(|fault| fault.message)?;
    custom.prompt = match prompt.unwrap_or("stdin") {
        "stdin" => PromptMode::Stdin,
        "arg" => PromptMode::Argument,
        _ => return Err("prompt_mode must be stdin or arg".into()),
    };
    let format = Format::find(output.unwrap_or("text"));
    let wrong = || format!("output_format must be text or one of {}", AGENTS.join(", "));
    custom.format = format.ok_or_else(wrong)?;
    Ok(custom)
}

/// Agents that could sit at the table: name and path of each that is on `PATH`. Nothing is run.
pub fn agents_on_path(world: &World) -> Vec<(&'static str, PathBuf)> {
    let path = world.env.get("PATH").map(String::as_str).unwrap_or_default();
    // A relative folder would be whatever folder one happens to stand in.
    let folders: Vec<PathBuf> =
        std::env::split_paths(path).filter(|it| it.is_absolute()).take(PATH_FOLDERS_MAX).collect();
    let find = |name: &&'static str| {
        let mut places = folders.iter().map(|folder| folder.join(name));
        Some((*name, places.find(|place| is_program(place))?))
    };
    AGENTS.iter().filter_map(find).collect()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file() || path.with_extension("cmd").is_file()
}
