//! What models may call at one moment: the functions of all workers as tools.

use super::function::Function;
use super::names::tool_name;
use super::told::Trouble;
use super::tooled::Toolbox;
use super::worker::Worker;
use althing_chat::Tool;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Tools that every provider takes in one request; the rest is left out and told of.
const TOOLS_MAX: usize = 128;
/// Bytes of a call's arguments; more are refused.
const ARGUMENTS_BYTES_MAX: usize = 256 << 10;
/// Characters of a wrong name or a reason that are repeated.
const SHOWN_CHARS_MAX: usize = 200;

/// Tools, and who is called for each.
#[derive(Default)]
pub struct Offer {
    tools: Vec<Tool>,
    ways: Vec<Way>,
    troubles: Vec<String>,
}

/// The function behind a tool.
struct Way {
    worker: Arc<Worker>,
    function: Function,
}

type Described = (Arc<Worker>, Result<Arc<Vec<Function>>>);

impl Offer {
    pub(super) fn new(all: impl Iterator<Item = Described>) -> Offer {
        let mut offer = Offer::default();
        for (worker, functions) in all {
            match functions {
                Ok(functions) => functions.iter().for_each(|it| offer.add(&worker, it)),
                Err(fault) => {
                    let Trouble { what, advice } = worker.trouble(&fault);
                    let what = one_line(&what, SHOWN_CHARS_MAX);
                    offer.troubles.push(format!("worker '{}': {what}; {advice}", worker.name()));
                }
            }
        }
        let more = offer.tools.len().saturating_sub(TOOLS_MAX);
        if more > 0 {
            offer.tools.truncate(TOOLS_MAX);
            offer.ways.truncate(TOOLS_MAX);
            let text = format!("workers have {more} more functions than the {TOOLS_MAX} offered");
            offer.troubles.push(text);
        }
        offer
    }

    fn add(&mut self, worker: &Arc<Worker>, function: &Function) {
        let is_taken = |name: &str| self.tools.iter().any(|tool| tool.name == name);
        let name = tool_name(worker.name(), &function.name, is_taken);
        self.tools.push(Tool {
            name,
            description: function.description.clone(),
            parameters: function.parameters.clone(),
        });
        self.ways.push(Way { worker: worker.clone(), function: function.clone() });
    }

    /// Why some worker offers nothing, in sentences.
    pub fn troubles(&self) -> &[String] {
        &self.troubles
    }

    /// The tools' names.
    pub fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// The tools as models see them.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Calls a tool with arguments by their names: what the function gave, as text.
    pub async fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<String> {
        let Some(at) = self.tools.iter().position(|tool| tool.name == name) else {
            let (name, names) = (one_line(name, SHOWN_CHARS_MAX), self.names().join(", "));
            let text = format!("there is no tool '{name}'; there are: {names}");
            return Err(Fault::new(Kind::NotFound, text));
        };
        check_size(&arguments)?;
        let Way { worker, function } = &self.ways[at];
        let arguments = function.positional(arguments).map_err(Fault::invalid)?;
        let value = worker.call(&function.name, arguments, None).await?;
        Ok(match value {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }
}

/// Whoever calls, a model or an agent.
fn check_size(arguments: &Map<String, Value>) -> Result<()> {
    let bytes = serde_json::to_vec(arguments).map_or(usize::MAX, |it| it.len());
    if bytes > ARGUMENTS_BYTES_MAX {
        let text = format!("arguments: {bytes} bytes; at most {ARGUMENTS_BYTES_MAX}");
        return Err(Fault::invalid(text));
    }
    Ok(())
}

impl Toolbox for Offer {
    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn call(
        self: Arc<Self>,
        name: String,
        arguments: String,
    ) -> BoxFuture<'static, Result<String>> {
        let read = move || {
            let no_object = |why| Fault::invalid(format!("arguments: no JSON object: {why}"));
            serde_json::from_str::<Map<String, Value>>(&arguments).map_err(no_object)
        };
        async move { Offer::call(&self, &name, read()?).await }.boxed()
    }
}
