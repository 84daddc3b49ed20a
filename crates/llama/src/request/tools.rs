//! The tools that a request offers, and whether one must be called.

use super::{Fields, refuse_unknown};
use crate::schema::{self, Strictness};
use serde_json::Value;

/// More tools would not fit into the context of a model in a file.
const TOOLS_MAX: usize = 128;

/// What a request says about tools.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct ToolUse {
    /// In OpenAI's form.
    pub tools: Vec<Value>,
    pub choice: ToolChoice,
    /// Whether only the first of several calls is wanted.
    pub single: bool,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No call, whatever is offered.
    Never,
    /// Any of the tools must be called.
    Required,
    /// This tool must be called.
    Named(String),
}

impl ToolUse {
    pub(super) fn take(fields: &mut Fields) -> Result<ToolUse, String> {
        let tools: Vec<Value> = fields.take("tools")?.unwrap_or_default();
        let choice = match fields.take("tool_choice")? {
            None => ToolChoice::default(),
            Some(choice) => read_choice(&choice)?,
        };
        let parallel: Option<bool> = fields.take("parallel_tool_calls")?;
        if tools.len() > TOOLS_MAX {
            return Err(format!("tools: at most {TOOLS_MAX}, not {}", tools.len()));
        }
        if tools
            .iter()
            .any(|tool| tool["type"] != "function" || !tool["function"]["name"].is_string())
        {
            return Err("tools: each must be of type \"function\" and have a name".into());
        }
        for (at, tool) in tools.iter().enumerate() {
            check_tool(tool, &format!("tools[{at}]"))?;
        }
        let tool_use = ToolUse { tools, choice, single: parallel == Some(false) };
        match &tool_use.choice {
            ToolChoice::Required | ToolChoice::Named(_) if tool_use.tools.is_empty() => {
                Err("tool_choice: no tools are offered".into())
            }
            ToolChoice::Named(name) if !tool_use.names().any(|it| it == name) => {
                Err(format!("tool_choice: no tool is called {name:?}"))
            }
            _ => Ok(tool_use),
        }
    }

    /// Says whether the model may call a tool.
    pub fn is_offered(&self) -> bool {
        !self.tools.is_empty() && self.choice != ToolChoice::Never
    }

    /// Says whether the model must call a tool.
    pub fn is_forced(&self) -> bool {
        self.is_offered() && self.choice != ToolChoice::Auto
    }

    /// Returns the tools that the model may call, in OpenAI's form.
    pub fn allowed(&self) -> impl Iterator<Item = &Value> {
        self.tools.iter().filter(|tool| match &self.choice {
            ToolChoice::Named(name) => tool["function"]["name"] == name.as_str(),
            _ => true,
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter_map(|tool| tool["function"]["name"].as_str())
    }
}

/// Refuses what is not understood of a tool, and parameters that a call could not be held to.
fn check_tool(tool: &Value, place: &str) -> Result<(), String> {
    let place = format!("{place}.function");
    if let Some(function) = tool["function"].as_object() {
        refuse_unknown(function, &["name", "description", "parameters", "strict"], &place)?;
    }
    if let Some(parameters) = read_parameters(tool) {
        schema::rewrite(parameters, &format!("{place}.parameters"), read_strictness(tool))?;
    }
    Ok(())
}

/// Returns the schema of a tool's arguments; none: they may be any object.
pub fn read_parameters(tool: &Value) -> Option<&Value> {
    let parameters = &tool["function"]["parameters"];
    parameters.as_object().filter(|it| !it.is_empty()).map(|_| parameters)
}

/// Says whether the client insists on the schema of a tool.
pub fn read_strictness(tool: &Value) -> Strictness {
    match tool["function"]["strict"] == true {
        true => Strictness::Refuse,
        false => Strictness::PassOver,
    }
}

fn read_choice(choice: &Value) -> Result<ToolChoice, String> {
    match (choice.as_str(), choice["function"]["name"].as_str()) {
        (Some("auto"), _) => Ok(ToolChoice::Auto),
        (Some("none"), _) => Ok(ToolChoice::Never),
        (Some("required"), _) => Ok(ToolChoice::Required),
        (None, Some(name)) => Ok(ToolChoice::Named(name.to_string())),
        _ => Err("tool_choice: must be none, auto, required or name a function".into()),
    }
}
