//! OpenAI's chat completions.

use super::content::{Content, read_content};
use super::field::Field;
use super::options::{read_sampling, unread};
use super::{Choice, Dialect, Echo, Head, Wanted, Writer, event};
use crate::face::http::shape::Shape;
use althing_chat::{Answer, Ask, Delta, Format, Message, Stop, Tool, ToolCall, ToolChoice, Usage};
use althing_gateway::dialect::openai::OPENAI;
use althing_stdx::{Fault, Result};
use serde_json::{Value, json};

pub(in super::super) static DIALECT: Dialect = Dialect {
    path: "/chat/completions",
    shape: Shape::OpenAi,
    upstream: &OPENAI,
    passes: |provider| provider.dialect.name == OPENAI.name,
    headers: &[],
    names: &[("effort", "reasoning_effort")],
    read,
    writer: |head| Box::new(Chunks { head, begun: false, calls: 0, usage: None }),
};

/// Fields that are read, that are refused, or that only say who asks.
const KNOWN: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stop",
    "response_format",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
    "n",
    "logprobs",
    "audio",
    "modalities",
    "functions",
    "function_call",
    "user",
    "prompt_cache_key",
];

fn read(body: &Value) -> Result<Wanted> {
    let body = Field::body(body)?;
    refuse_what_is_lost(&body)?;
    let messages = body.get("messages").list()?.iter().map(message).collect::<Result<Vec<_>>>()?;
    if messages.is_empty() {
        return Err(body.get("messages").bad("at least one is needed"));
    }
    let max_tokens = body.get("max_completion_tokens").count()?;
    let (tools, tool_choice) = choice(&body.get("tool_choice"))?.over(tools(&body)?);
    let form = body.get("response_format");
    let ask = Ask {
        messages,
        tools,
        tool_choice,
        stop: stops(&body.get("stop"))?,
        format: format(&form, &form.get("json_schema"))?,
        max_tokens: max_tokens.or(body.get("max_tokens").count()?),
        temperature: body.get("temperature").decimal()?,
        sampling: read_sampling(&body)?,
        parallel_tool_calls: body.get("parallel_tool_calls").choice()?,
        effort: body.get("reasoning_effort").text()?.map(str::to_string),
        stream: body.get("stream").flag()?,
        made: vec![],
        conversation: None,
        context_tokens: None,
    };
    let include_usage = body.get("stream_options").get("include_usage").flag()?;
    let ignored = unread(&body, KNOWN);
    Ok(Wanted { ask, echo: Echo { include_usage, ..Echo::default() }, ignored })
}

/// Fields that change what the answer is, where the model behind speaks another language.
fn refuse_what_is_lost(body: &Field) -> Result<()> {
    let field = |name: &str| body.get(name);
    let n = field("n");
    n.refuse_if(n.count()?.is_some_and(|it| it != 1), "this model gives one answer at a time")?;
    let logprobs = field("logprobs");
    logprobs.refuse_if(logprobs.flag()?, "this model does not tell them")?;
    let audio = field("audio");
    audio.refuse_if(!audio.is_absent(), "this model only writes text")?;
    let functions = field("functions");
    functions.refuse_if(!functions.is_absent(), "this old form is not taken; `tools` is")
}

/// What `tool_choice` says, here and in the other form of a request, which has the name outside.
pub(super) fn choice(choice: &Field) -> Result<Choice> {
    if choice.is_absent() {
        return Ok(Choice::Free);
    }
    match choice.value.as_str() {
        Some("auto") => Ok(Choice::Free),
        Some("none") => Ok(Choice::None),
        Some("required") => Ok(Choice::Forced(ToolChoice::Any)),
        Some(_) => Err(choice.bad("must be auto, none, required or name a function")),
        None => match choice.kind()? {
            kind @ ("function" | "custom") => {
                let (inside, outside) = (choice.get(kind).get("name"), choice.get("name"));
                let name = if outside.is_absent() { inside } else { outside };
                Ok(Choice::Forced(ToolChoice::Named(name.wanted_text()?.into())))
            }
            kind => Err(choice.get("type").bad(format!("'{kind}' is not known to this model"))),
        },
    }
}

/// One text or several.
pub(super) fn stops(stop: &Field) -> Result<Vec<String>> {
    if let Some(one) = stop.value.as_str() {
        return Ok(vec![one.into()]);
    }
    stop.list()?.iter().map(|it| it.wanted_text().map(str::to_string)).collect()
}

/// The form of an answer; `schema` is where its name and schema are.
pub(super) fn format(format: &Field, schema: &Field) -> Result<Option<Format>> {
    match format.get("type").text()? {
        None | Some("text") => Ok(None),
        Some("json_object") => Ok(Some(Format::Json)),
        Some("json_schema") => {
            let given = schema.get("schema");
            let object = given.object()?.ok_or_else(|| given.bad("is missing"))?;
            Ok(Some(Format::Schema {
                name: schema.get("name").wanted_text()?.into(),
                schema: Value::Object(object.clone()),
                strict: schema.get("strict").flag()?,
            }))
        }
        Some(kind) => Err(format.get("type").bad(format!("'{kind}' is not known to this model"))),
    }
}

fn message(field: &Field) -> Result<Message> {
    let content = field.get("content");
    match field.get("role").wanted_text()? {
        "system" | "developer" => Ok(Message::system(text(&content)?)),
        "user" => Ok(read_content(&content)?.into_message(Message::user)),
        "assistant" => {
            let calls = field.get("tool_calls").list()?;
            let calls = calls.iter().map(call).collect::<Result<_>>()?;
            Ok(Message::calls(text(&content)?, calls))
        }
        "tool" => {
            let id = field.get("tool_call_id").wanted_text()?;
            Ok(read_content(&content)?.into_message(|text| Message::tool(id, text)))
        }
        role => Err(field
            .get("role")
            .bad(format!("no '{role}'; there are system, developer, user, assistant and tool"))),
    }
}

/// The words of a content that has nothing else, here and in the other form of a request.
pub(super) fn text(content: &Field) -> Result<String> {
    let Content { text, attachments } = read_content(content)?;
    match attachments.first() {
        None => Ok(text),
        Some(it) => {
            let why = "only a message of the user or of a tool has pictures and documents";
            Err(Fault::invalid(format!("{}: {why}", it.name)))
        }
    }
}

fn call(field: &Field) -> Result<ToolCall> {
    let function = field.get("function");
    let arguments = function.get("arguments").text()?.unwrap_or_default();
    Ok(ToolCall {
        id: field.get("id").wanted_text()?.into(),
        name: function.get("name").wanted_text()?.into(),
        arguments: arguments.into(),
        signature: None,
    })
}

fn tools(body: &Field) -> Result<Vec<Tool>> {
    let tool = |tool: &Field| match tool.kind()? {
        "function" => function(&tool.get("function")),
        kind => Err(tool.get("type").bad(format!("'{kind}' is not known to this model"))),
    };
    body.get("tools").list()?.iter().map(tool).collect()
}

/// A function's name, description and parameters.
pub(super) fn function(function: &Field) -> Result<Tool> {
    let parameters = function.get("parameters").object()?;
    Ok(Tool {
        name: function.get("name").wanted_text()?.into(),
        description: function.get("description").text()?.unwrap_or_default().into(),
        parameters: parameters.map_or_else(
            || json!({ "type": "object", "properties": {} }),
            |it| Value::Object(it.clone()),
        ),
    })
}

/// An answer in chunks.
struct Chunks {
    head: Head,
    begun: bool,
    calls: usize,
    usage: Option<Usage>,
}

impl Chunks {
    fn chunk(&mut self, out: &mut String, delta: Value, finish: Option<&str>) {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let mut chunk = self.envelope("chat.completion.chunk", json!([choice]));
        if self.head.echo.include_usage {
            chunk["usage"] = Value::Null;
        }
        event(out, None, &chunk);
    }

    fn envelope(&self, object: &str, choices: Value) -> Value {
        let Head { id, model, created, .. } = &self.head;
        json!({
            "id": format!("chatcmpl-{id}"),
            "object": object,
            "created": created,
            "model": model,
            "choices": choices,
        })
    }

    fn begin(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.begun, true) {
            self.chunk(out, json!({ "role": "assistant", "content": "" }), None);
        }
    }

    fn end(&mut self, out: &mut String, stop: &Stop) {
        self.begin(out);
        self.chunk(out, json!({}), Some(finish(stop)));
        if self.head.echo.include_usage {
            let mut last = self.envelope("chat.completion.chunk", json!([]));
            last["usage"] = usage(&self.usage.unwrap_or_default());
            event(out, None, &last);
        }
        out.push_str("data: [DONE]\n\n");
    }
}

impl Writer for Chunks {
    fn delta(&mut self, delta: Delta, out: &mut String) {
        match delta {
            Delta::Text(text) => {
                self.begin(out);
                self.chunk(out, json!({ "content": text }), None);
            }
            Delta::Reasoning(text) => {
                self.begin(out);
                self.chunk(out, json!({ "reasoning_content": text }), None);
            }
            Delta::ToolCall(call) => {
                self.begin(out);
                let call = tool_call(Some(self.calls), &call);
                self.calls += 1;
                self.chunk(out, json!({ "tool_calls": [call] }), None);
            }
            Delta::Usage(usage) => self.usage.get_or_insert_default().update(usage),
            Delta::Stop(stop) => self.end(out, &stop),
            Delta::Queued | Delta::Started | Delta::Retrying(_) | Delta::Ignored(_) => {}
            Delta::Calling(_) | Delta::Called(_) => {}
        }
    }

    fn fault(&mut self, fault: &Fault, out: &mut String) {
        event(out, None, &Shape::OpenAi.error(fault));
    }

    fn whole(&self, answer: &Answer) -> Value {
        let calls: Vec<Value> = answer.tool_calls.iter().map(|it| tool_call(None, it)).collect();
        // OpenAI says null where there are only calls.
        let content = Some(&answer.text).filter(|text| !text.is_empty() || calls.is_empty());
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
        if !answer.reasoning.is_empty() {
            message["reasoning_content"] = answer.reasoning.as_str().into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let finish = finish(answer.stop.as_ref().unwrap_or(&Stop::End));
        let choice =
            json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": finish });
        let mut whole = self.envelope("chat.completion", json!([choice]));
        whole["usage"] = usage(&answer.usage.unwrap_or_default());
        whole
    }
}

fn tool_call(index: Option<usize>, call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    let mut value = json!({ "id": call.id, "type": "function", "function": function });
    if let Some(index) = index {
        value["index"] = index.into();
    }
    value
}

pub(super) fn finish(stop: &Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Other(_) => "stop",
        Stop::Length => "length",
        Stop::ToolCalls => "tool_calls",
        Stop::Refused => "content_filter",
    }
}

/// What nobody counted is 0: clients want numbers here.
pub(super) fn usage(usage: &Usage) -> Value {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": usage.cached.unwrap_or(0) },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning.unwrap_or(0) },
    })
}
