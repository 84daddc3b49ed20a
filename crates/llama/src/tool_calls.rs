//! Calls of tools: how the model is told to make one, and how one is found in what it says.

#[cfg(test)]
mod tests;

use crate::pieces::begun;
use crate::request::{ToolUse, read_parameters, read_strictness};
use crate::schema::Rewriter;
use crate::template::ChatTemplate;
use serde_json::{Value, json};

/// How a model writes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallStyle {
    /// What a call begins with; empty: the answer as a whole is the call.
    open: &'static str,
    close: &'static str,
    /// The name of the arguments in the JSON of a call.
    arguments: &'static str,
    /// What stands before the first call of an answer.
    trigger: &'static str,
    /// Whether calls stand in a JSON list.
    is_list: bool,
}

/// As Hermes, Qwen and many others write calls.
const HERMES: CallStyle = CallStyle {
    open: "<tool_call>\n",
    close: "\n</tool_call>",
    arguments: "arguments",
    trigger: "<tool_call>",
    is_list: false,
};
/// As Mistral's models do.
const MISTRAL: CallStyle = CallStyle {
    open: "[TOOL_CALLS][",
    close: "]",
    arguments: "arguments",
    trigger: "[TOOL_CALLS]",
    is_list: true,
};
/// As Llama 3 does.
const LLAMA: CallStyle =
    CallStyle { open: "", close: "", arguments: "parameters", trigger: "{", is_list: false };
/// For models that never learned it: nothing but JSON, held to its form by a grammar.
pub const GENERIC: CallStyle =
    CallStyle { open: "", close: "", arguments: "arguments", trigger: "{", is_list: false };

/// What Llama 3 may write before its calls.
const PYTHON_TAG: &str = "<|python_tag|>";

/// A call that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub name: String,
    /// JSON as text, as OpenAI has it.
    pub arguments: String,
}

impl CallStyle {
    /// Returns how the model of this template writes calls; none: not in a way known here.
    pub fn detect(template: &ChatTemplate) -> Option<CallStyle> {
        let has = |words: &str| template.mentions(words);
        match template.has_tools() {
            false => None,
            true if has("<tool_call>") && !has("<function=") => Some(HERMES),
            true if has("[TOOL_CALLS]") && !has("[ARGS]") => Some(MISTRAL),
            true if has("\"parameters\"") && has("ipython") => Some(LLAMA),
            true => None,
        }
    }

    /// Returns the schema of one call of an allowed tool.
    pub fn schema_of_call(&self, tools: &ToolUse) -> Result<Value, String> {
        let mut rewriter = Rewriter::default();
        let mut calls = Vec::new();
        for tool in tools.allowed() {
            let name = &tool["function"]["name"];
            let parameters = match read_parameters(tool) {
                Some(schema) => rewriter.add(schema, "tools", read_strictness(tool))?,
                None => json!({ "type": "object" }),
            };
            calls.push(json!({
                "type": "object",
                "properties": { "name": { "const": name }, self.arguments: parameters },
                "required": ["name", self.arguments],
                "additionalProperties": false,
            }));
        }
        let schema = match calls.len() {
            1 => calls.remove(0),
            _ => json!({ "anyOf": calls }),
        };
        Ok(rewriter.finish(schema))
    }

    /// Wraps a grammar of a call, whose first rule is `root`, in what stands around a call.
    pub fn wrap_grammar(&self, grammar: &str, wrapped: &str) -> String {
        let literal = |text: &str| Value::from(text).to_string();
        let (open, close) = (literal(self.open), literal(self.close));
        format!("{wrapped} ::= {open} root {close}\n{grammar}")
    }

    /// Finds the text around the calls, and the calls; none where it cannot be read as such.
    fn parse(
        &self,
        text: &str,
        is_known: impl Fn(&str) -> bool,
    ) -> Option<(String, Vec<ToolCall>)> {
        if self.open.is_empty() {
            let (said, calls) = self.read_bare_calls(text)?;
            return calls.iter().all(|it| is_known(&it.name)).then_some((said, calls));
        }
        let (before, rest) = text.split_once(self.trigger)?;
        let mut said = before.trim_end().to_string();
        let mut bodies = Vec::new();
        for part in rest.split(self.trigger) {
            let (body, behind) = first_json(part)?;
            match body {
                Value::Array(all) if self.is_list => bodies.extend(all),
                body => bodies.push(body),
            }
            // What the model says behind a call is said too.
            let behind = behind.trim_start();
            let behind = behind.strip_prefix(self.close.trim()).unwrap_or(behind).trim();
            if !behind.is_empty() {
                said = format!("{said}\n{behind}").trim_start().to_string();
            }
        }
        let calls: Vec<_> = bodies.iter().map(|it| self.read_call(it)).collect::<Option<_>>()?;
        (!calls.is_empty()).then_some((said, calls))
    }

    /// Reads calls that stand alone, one behind the other, and what is said behind them.
    fn read_bare_calls(&self, text: &str) -> Option<(String, Vec<ToolCall>)> {
        let mut rest = text.trim_start();
        rest = rest.strip_prefix(PYTHON_TAG).unwrap_or(rest).trim_start();
        let mut calls = Vec::new();
        while calls.is_empty() || rest.starts_with('{') {
            let (call, behind) = first_json(rest)?;
            calls.push(self.read_call(&call)?);
            rest = behind.trim_start_matches(|sign: char| sign == ';' || sign.is_whitespace());
        }
        Some((rest.trim_end().to_string(), calls))
    }

    fn read_call(&self, call: &Value) -> Option<ToolCall> {
        let name = call["name"].as_str()?.to_string();
        let arguments = call.get(self.arguments).or(call.get("arguments"));
        let arguments = match arguments {
            None => "{}".to_string(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        Some(ToolCall { name, arguments })
    }
}

/// Reads the JSON value that a text begins with; returns what stands behind it too.
fn first_json(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

/// The instruction for a model whose template has no tools.
pub fn instruct(tools: &ToolUse) -> String {
    let functions = tools.allowed().map(|tool| format!("\n{}", tool["function"]));
    let functions: String = functions.collect();
    format!(
        "Call one of the functions below. Answer with nothing but JSON of the form \
         {{\"name\": …, \"arguments\": {{…}}}}.{functions}"
    )
}

/// Watches an answer while it is written: text passes, what may be a call is held until the end.
pub struct CallScanner {
    style: CallStyle,
    names: Vec<String>,
    single: bool,
    held: String,
    /// Nothing passes any more.
    holds: bool,
    /// Something passed: an answer that is a call as a whole cannot begin any more.
    passed: bool,
}

impl CallScanner {
    pub fn new(style: CallStyle, tools: &ToolUse) -> CallScanner {
        let names = tools.allowed().filter_map(|tool| tool["function"]["name"].as_str());
        let names = names.map(str::to_string).collect();
        let (held, holds) = (String::new(), tools.is_forced());
        CallScanner { style, names, single: tools.single, held, holds, passed: false }
    }

    /// Takes a piece of the answer and returns the text that is certainly no call.
    pub fn push(&mut self, text: &str) -> String {
        self.held += text;
        if self.holds {
            return String::new();
        }
        let passes = match self.style.open.is_empty() {
            true => self.passes_before_object(),
            false => match self.held.find(self.style.trigger) {
                Some(at) => {
                    self.holds = true;
                    at
                }
                None => self.held.len() - begun(&self.held, self.style.trigger),
            },
        };
        let rest = self.held.split_off(passes);
        std::mem::replace(&mut self.held, rest)
    }

    /// An answer that is a call as a whole begins with a brace.
    fn passes_before_object(&mut self) -> usize {
        let begin = self.held.trim_start();
        let is_open = begin.is_empty() || PYTHON_TAG.starts_with(begin);
        let is_call = begin.starts_with('{') || begin.starts_with(PYTHON_TAG);
        match self.passed {
            false if is_call => {
                self.holds = true;
                0
            }
            false if is_open => 0,
            _ => {
                self.passed = true;
                self.held.len()
            }
        }
    }

    /// Returns what is left: text, or calls.
    pub fn finish(self) -> (String, Vec<ToolCall>) {
        let is_known = |name: &str| self.names.iter().any(|known| known == name);
        match self.style.parse(&self.held, is_known).filter(|_| self.holds) {
            None => (self.held, vec![]),
            Some((text, mut calls)) => {
                calls.truncate(if self.single { 1 } else { calls.len() });
                (text, calls)
            }
        }
    }
}
