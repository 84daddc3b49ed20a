//! Agents of a task that are programs: who is meant, and what they have at the table.

use super::folder::{folder_of, raw_name};
use crate::agents::{Place, Seated};
use crate::config::{AgentConfig, Config};
use crate::lineup::Sitting;
use althing_agents::{Adapter, Auth, Custom, Format, PromptMode, ROWS, anchored};
use althing_assembly::council::Terms;
use althing_assembly::council::task::Agent;
use althing_stdx::{Fault, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The kind of a command of the person's own.
const CUSTOM: &str = "custom";
/// Formats of a command's output that need no reader: whatever JSON it holds is found.
const PLAIN: &[&str] = &["text", "json", "markdown", "raw"];

/// The program that `agent` means, called as the task wants it; none where it means a model.
/// `field` is where the task names it.
pub(super) fn program(agent: &Agent, field: &str, config: &Config) -> Result<Option<Sitting>> {
    let kind = agent.kind().unwrap_or(CUSTOM).trim();
    let row = ROWS.iter().find(|row| row.name == kind || row.id == kind);
    let is_section = config.agents.iter().any(|it| it.name == kind);
    let known = match (row, is_section) {
        (Some(row), _) => config.agent(row.id),
        (None, true) => config.agent(kind),
        (None, false) => None,
    };
    let wanted = match known {
        Some(known) => Some(with_command(known, agent, field)?),
        None => own(agent, kind, field)?,
    };
    let Some(wanted) = wanted else { return Ok(None) };
    let wanted = with_fields(wanted, agent, field)?;
    Ok(Some(sitting(agent, wanted)))
}

/// An agent that is known, started by the task's own command.
fn with_command(mut known: AgentConfig, agent: &Agent, field: &str) -> Result<AgentConfig> {
    let Some(command) = &agent.command else { return Ok(known) };
    let mut words = words(&known.name, command, field)?;
    match &mut known.adapter {
        Adapter::Custom(custom) => custom.words = words,
        Adapter::Known(_) if words.len() == 1 => known.program = words.pop(),
        Adapter::Known(row) => {
            let text = "only its program; the rest goes to extra_args";
            return Err(Fault::invalid(format!("{field}.command: of {} {text}", row.name)));
        }
    }
    Ok(known)
}

/// A command that the task brings.
fn own(agent: &Agent, kind: &str, field: &str) -> Result<Option<AgentConfig>> {
    let Some(command) = &agent.command else {
        return match kind == CUSTOM && agent.kind().is_some() {
            true => Err(Fault::invalid(format!("{field}.command: a custom agent needs one"))),
            false => Ok(None),
        };
    };
    let name = agent.name.as_deref().map(str::trim).filter(|it| !it.is_empty()).unwrap_or(kind);
    let custom = Custom::new(name, command).map_err(|fault| within(field, &fault))?;
    Ok(Some(AgentConfig::plain(name, Adapter::Custom(custom))))
}

fn words(name: &str, command: &str, field: &str) -> Result<Vec<String>> {
    Custom::new(name, command).map(|it| it.words).map_err(|fault| within(field, &fault))
}

fn within(field: &str, fault: &Fault) -> Fault {
    Fault::invalid(format!("{field}.{}", fault.message))
}

/// What the task says beside the command. A field that such an agent does not know is refused.
fn with_fields(mut wanted: AgentConfig, agent: &Agent, field: &str) -> Result<AgentConfig> {
    wanted.model = agent.model.clone().or(wanted.model);
    wanted.effort = agent.reasoning_effort.clone().or(wanted.effort);
    wanted.auth = match agent.auth_mode.as_deref() {
        Some("login") => Auth::Login,
        Some(_) => Auth::Key,
        None => wanted.auth,
    };
    let name = match &mut wanted.adapter {
        Adapter::Known(row) => {
            wanted.fallbacks.clone_from(&agent.fallback_models);
            row.name
        }
        Adapter::Custom(custom) => {
            custom.format = format(agent, field)?.unwrap_or(custom.format);
            custom.prompt = match agent.prompt_mode.as_deref() {
                Some("arg") => PromptMode::Argument,
                Some(_) => PromptMode::Stdin,
                None => custom.prompt,
            };
            CUSTOM
        }
    };
    let own: &[(&str, &Option<String>, &str, &str)] = &[
        ("agent", &agent.agent, "opencode", "--agent"),
        ("attach", &agent.attach, "opencode", "--attach"),
    ];
    for (what, value, whose, option) in own {
        let Some(value) = value else { continue };
        if name != *whose {
            return Err(Fault::invalid(format!("{field}.{what}: only {whose} has one")));
        }
        wanted.arguments.extend([option.to_string(), value.clone()]);
    }
    wanted.arguments.extend(agent.extra_args.iter().cloned());
    wanted.variables.extend(agent.api_env_var.iter().cloned());
    Ok(wanted)
}

/// What a command writes, by the first of the fields that say so.
fn format(agent: &Agent, field: &str) -> Result<Option<Format>> {
    let said = [
        ("output_format", &agent.output_format),
        ("format", &agent.format),
        ("cli_format", &agent.cli_format),
    ];
    let first = said.into_iter().find_map(|(what, name)| Some((what, name.as_deref()?)));
    let Some((what, name)) = first else { return Ok(None) };
    let format = if PLAIN.contains(&name) { Some(Format::Text) } else { Format::find(name) };
    let unknown = || {
        let rows: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        let known = [PLAIN, &rows].concat().join(", ");
        Fault::invalid(format!("{field}.{what}: '{name}' is none of {known}"))
    };
    format.map(Some).ok_or_else(unknown)
}

/// A seat for `wanted`, under the name that the task gives it.
fn sitting(agent: &Agent, wanted: AgentConfig) -> Sitting {
    let id = match (&wanted.adapter, &wanted.model) {
        (Adapter::Known(row), Some(model)) => format!("{}:{model}", row.id),
        (Adapter::Known(row), None) => row.id.to_string(),
        (Adapter::Custom(custom), _) => custom.name.clone(),
    };
    let name = agent.name.clone().filter(|name| !name.trim().is_empty());
    let seat = Sitting::agent(&id, wanted);
    Sitting { name: name.unwrap_or(id), ..seat }
}

/// Makes every program of `task` that is named by its path the one that is meant in the folder
/// `here`.
pub(super) fn anchor(task: &mut Value, here: &Path) {
    let Some(agents) = task.get_mut("agents").and_then(Value::as_object_mut) else { return };
    let all = agents.values_mut().flat_map(|it| match it {
        Value::Array(planners) => planners.iter_mut().collect(),
        judge => vec![judge],
    });
    for command in all.filter_map(|agent| agent.get_mut("command")) {
        if let Some(text) = command.as_str() {
            *command = anchored(text, here).into();
        }
    }
}

/// Gives the agents at the table what they have there: the repository to read, a folder for what
/// they write, and their time. The last seat is the judge's.
pub(super) fn place(seats: &mut [Sitting], terms: &Terms, data: &Path, run: &str) {
    let root = terms.task["repo_context"]["root"].as_str().map(PathBuf::from);
    // The leash is the shorter one, and says why.
    let total = Duration::from_millis(terms.attempt_ms) * 2;
    let last = seats.len().saturating_sub(1);
    for (at, seat) in seats.iter_mut().enumerate() {
        let raw = folder_of(data, run).join(raw_name(at == last, at, &seat.name));
        let place = Place { repo: root.clone(), raw: Some(raw), total: Some(total) };
        let placed = |it: &Arc<Seated>| Arc::new(Seated { config: it.config.clone(), place });
        seat.agent = seat.agent.as_ref().map(placed);
    }
}

#[cfg(test)]
mod tests;
