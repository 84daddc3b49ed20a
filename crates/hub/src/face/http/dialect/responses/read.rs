//! A request's items become messages.

use super::super::content::read_content;
use super::super::field::Field;
use super::super::openai::{choice, format, function, text};
use super::super::options::{read_sampling, unread};
use super::super::{Echo, Wanted};
use super::INPUT;
use althing_chat::{Ask, Message, Role, Tool, ToolCall};
use althing_stdx::Result;
use serde_json::{Value, json};

/// Fields that the response repeats as they were sent.
const ECHOED: &[&str] = &[
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "reasoning",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "truncation",
    "user",
];

/// Fields that are read, that are refused, or that only say who asks.
const KNOWN: &[&str] = &[
    "model",
    "input",
    "instructions",
    "stream",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "text",
    "max_output_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "reasoning",
    "metadata",
    "user",
    "prompt_cache_key",
    "previous_response_id",
    "conversation",
    "prompt",
    "background",
];

pub(super) fn read(body: &Value) -> Result<Wanted> {
    let body = Field::body(body)?;
    refuse_what_is_lost(&body)?;
    let mut messages = Vec::new();
    if let Some(instructions) = body.get("instructions").text()? {
        messages.push(Message::system(instructions));
    }
    input(&body.get("input"), &mut messages)?;
    let mut ignored = unread(&body, KNOWN);
    // What it does by default is as good as not said.
    ignored.retain(|name| name != "truncation" || body.get(name).value != "disabled");
    let (tools, custom) = tools(&body, &mut ignored)?;
    let (tools, tool_choice) = choice(&body.get("tool_choice"))?.over(tools);
    let form = body.get("text").get("format");
    let ask = Ask {
        messages,
        tools,
        tool_choice,
        stop: vec![],
        format: format(&form, &form)?,
        max_tokens: body.get("max_output_tokens").count()?,
        temperature: body.get("temperature").decimal()?,
        sampling: read_sampling(&body)?,
        parallel_tool_calls: body.get("parallel_tool_calls").choice()?,
        effort: body.get("reasoning").get("effort").text()?.map(str::to_string),
        stream: body.get("stream").flag()?,
        made: vec![],
        conversation: None,
        context_tokens: None,
    };
    let fields = ECHOED.iter().filter_map(|key| {
        let field = body.get(key);
        (!field.is_absent()).then(|| (key.to_string(), field.value.clone()))
    });
    let echo = Echo { custom, fields: fields.collect(), ..Echo::default() };
    Ok(Wanted { ask, echo, ignored })
}

fn refuse_what_is_lost(body: &Field) -> Result<()> {
    for name in ["previous_response_id", "conversation", "prompt"] {
        let field = body.get(name);
        let why = "nothing is kept here for this model; send the whole conversation as `input`";
        field.refuse_if(!field.is_absent(), why)?;
    }
    let background = body.get("background");
    background.refuse_if(background.flag()?, "this model answers at once")
}

fn input(input: &Field, messages: &mut Vec<Message>) -> Result<()> {
    if let Some(text) = input.value.as_str() {
        messages.push(Message::user(text));
        return Ok(());
    }
    let items = input.list()?;
    if items.is_empty() {
        return Err(input.bad("at least one item is needed"));
    }
    items.iter().try_for_each(|it| item(it, messages))
}

fn item(item: &Field, messages: &mut Vec<Message>) -> Result<()> {
    match item.get("type").text()?.unwrap_or("message") {
        "message" => messages.push(message(item)?),
        "function_call" => {
            let arguments = item.get("arguments").wanted_text()?;
            called(messages, call(item, arguments.into())?);
        }
        "custom_tool_call" => {
            let input = item.get(INPUT).wanted_text()?;
            called(messages, call(item, json!({ INPUT: input }).to_string())?);
        }
        "function_call_output" | "custom_tool_call_output" => {
            let id = item.get("call_id").wanted_text()?;
            let shown = read_content(&item.get("output"))?;
            messages.push(shown.into_message(|text| Message::tool(id, text)));
        }
        // A model's own; another one cannot read it.
        "reasoning" => {}
        kind => {
            let why = format!("'{kind}' cannot be sent to this model");
            return Err(item.get("type").bad(why));
        }
    }
    Ok(())
}

fn call(item: &Field, arguments: String) -> Result<ToolCall> {
    let id = item.get("call_id").wanted_text()?.into();
    let name = item.get("name").wanted_text()?.into();
    Ok(ToolCall { id, name, arguments, signature: None })
}

/// Calls are part of what the assistant said right before.
fn called(messages: &mut Vec<Message>, call: ToolCall) {
    match messages.last_mut() {
        Some(last) if last.role == Role::Assistant => last.tool_calls.push(call),
        _ => messages.push(Message::calls("", vec![call])),
    }
}

fn message(item: &Field) -> Result<Message> {
    let content = item.get("content");
    match item.get("role").wanted_text()? {
        "system" | "developer" => Ok(Message::system(text(&content)?)),
        "user" => Ok(read_content(&content)?.into_message(Message::user)),
        "assistant" => Ok(Message::assistant(text(&content)?)),
        role => Err(item
            .get("role")
            .bad(format!("no '{role}'; there are system, developer, user and assistant"))),
    }
}

/// Functions, and the names of those that stand for tools that take text. Tools that OpenAI runs
/// itself do not exist here: the model is not told of them.
fn tools(body: &Field, ignored: &mut Vec<String>) -> Result<(Vec<Tool>, Vec<String>)> {
    let (mut tools, mut custom) = (Vec::new(), Vec::new());
    for tool in body.get("tools").list()? {
        match tool.kind()? {
            "function" => tools.push(function(&tool)?),
            "custom" => {
                let stand_in = takes_text(&tool)?;
                custom.push(stand_in.name.clone());
                tools.push(stand_in);
            }
            _ => ignored.push(tool.path().into()),
        }
    }
    Ok((tools, custom))
}

fn takes_text(tool: &Field) -> Result<Tool> {
    let mut description = tool.get("description").text()?.unwrap_or_default().to_string();
    if let Some(grammar) = tool.get("format").get("definition").text()? {
        description.push_str("\n\nThe input follows this grammar:\n");
        description.push_str(grammar);
    }
    Ok(Tool {
        name: tool.get("name").wanted_text()?.into(),
        description,
        parameters: json!({
            "type": "object",
            "properties": { INPUT: { "type": "string" } },
            "required": [INPUT],
        }),
    })
}
