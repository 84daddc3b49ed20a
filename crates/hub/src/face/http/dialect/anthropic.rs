//! Anthropic's messages. Clients want their blocks in exactly this order: a message starts, its
//! blocks start and stop one after another, the message says why it stops, and stops.

use super::content::{Content, read_block};
use super::field::Field;
use super::options::unread;
use super::{Choice, Dialect, Echo, Head, Wanted, Writer, event};
use crate::face::http::shape::Shape;
use althing_chat::{
    Answer, Ask, AttachmentKind, Delta, Format, Message, Role, Sampling, Stop, Tool, ToolCall,
    ToolChoice, Usage,
};
use althing_gateway::dialect::anthropic::ANTHROPIC;
use althing_stdx::{Fault, Result};
use serde_json::{Value, json};

pub(in super::super) static DIALECT: Dialect = Dialect {
    path: "/messages",
    shape: Shape::Anthropic,
    upstream: &ANTHROPIC,
    passes: |provider| provider.dialect.name == ANTHROPIC.name,
    headers: &["anthropic-version", "anthropic-beta"],
    names: &[
        ("effort", "output_config.effort"),
        ("parallel_tool_calls", "tool_choice.disable_parallel_tool_use"),
    ],
    read,
    writer: |head| Box::new(Blocks { head, begun: false, open: None, count: 0, usage: None }),
};

/// Fields that are read or that only say who asks.
const KNOWN: &[&str] = &[
    "model",
    "messages",
    "system",
    "max_tokens",
    "stop_sequences",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "metadata",
];

fn read(body: &Value) -> Result<Wanted> {
    let body = Field::body(body)?;
    let stops = body.get("stop_sequences").list()?;
    let stop =
        stops.iter().map(|it| it.wanted_text().map(str::to_string)).collect::<Result<_>>()?;
    let mut messages = Vec::new();
    let system = words(&body.get("system"))?;
    if !system.is_empty() {
        messages.push(Message::system(system));
    }
    for field in body.get("messages").list()? {
        message(&field, &mut messages)?;
    }
    if messages.iter().all(|it| it.role == Role::System) {
        return Err(body.get("messages").bad("at least one is needed"));
    }
    let thinking = body.get("thinking").get("type").text()?;
    let mut ignored = unread(&body, KNOWN);
    let (tools, tool_choice) = choice(&body.get("tool_choice"))?.over(tools(&body, &mut ignored)?);
    let is_single = body.get("tool_choice").get("disable_parallel_tool_use").flag()?;
    let ask = Ask {
        messages,
        tools,
        tool_choice,
        stop,
        format: format(&body)?,
        max_tokens: body.get("max_tokens").count()?,
        temperature: body.get("temperature").decimal()?,
        sampling: Sampling {
            top_p: body.get("top_p").decimal()?,
            top_k: body.get("top_k").count()?,
            ..Sampling::default()
        },
        parallel_tool_calls: is_single.then_some(false),
        effort: body.get("output_config").get("effort").text()?.map(str::to_string),
        stream: body.get("stream").flag()?,
        made: vec![],
        conversation: None,
        context_tokens: None,
    };
    let thinking = thinking.is_some_and(|it| it != "disabled");
    Ok(Wanted { ask, echo: Echo { thinking, ..Echo::default() }, ignored })
}

fn choice(choice: &Field) -> Result<Choice> {
    match choice.get("type").text()? {
        Some("auto") | None => Ok(Choice::Free),
        Some("none") => Ok(Choice::None),
        Some("any") => Ok(Choice::Forced(ToolChoice::Any)),
        Some("tool") => {
            let name = choice.get("name").wanted_text()?;
            Ok(Choice::Forced(ToolChoice::Named(name.into())))
        }
        Some(_) => Err(choice.get("type").bad("must be auto, any, tool or none")),
    }
}

/// The form of an answer, in its place or where it was before.
fn format(body: &Field) -> Result<Option<Format>> {
    let (now, before) = (body.get("output_config").get("format"), body.get("output_format"));
    let format = if now.is_absent() { before } else { now };
    if format.is_absent() {
        return Ok(None);
    }
    match format.kind()? {
        "json_schema" => {
            let given = format.get("schema");
            let schema = given.object()?.ok_or_else(|| given.bad("is missing"))?;
            let schema = Value::Object(schema.clone());
            Ok(Some(Format::Schema { name: "answer".into(), schema, strict: true }))
        }
        kind => Err(format.get("type").bad(format!("'{kind}' is not known to this model"))),
    }
}

/// One message may hold words, calls and the results of calls; they become messages of their own.
fn message(field: &Field, messages: &mut Vec<Message>) -> Result<()> {
    let content = field.get("content");
    let assistant = match field.get("role").wanted_text()? {
        "user" => false,
        "assistant" => true,
        // Some clients put reminders between the turns.
        "system" => {
            messages.push(Message::system(words(&content)?));
            return Ok(());
        }
        role => {
            let why = format!("no '{role}'; there are user and assistant");
            return Err(field.get("role").bad(why));
        }
    };
    let (mut said, mut calls) = (Content::default(), Vec::new());
    if content.value.is_string() {
        said.text.push_str(content.wanted_text()?);
    } else {
        for block in content.list()? {
            match block.kind()? {
                "text" => said.text.push_str(block.get("text").wanted_text()?),
                "image" if !assistant => read_block(&block, AttachmentKind::Image, &mut said)?,
                "document" if !assistant => {
                    read_block(&block, AttachmentKind::Document, &mut said)?;
                }
                // A model's own; another one cannot read it.
                "thinking" | "redacted_thinking" => {}
                "tool_use" if assistant => calls.push(call(&block)?),
                "tool_result" if !assistant => messages.push(result(&block)?),
                kind => return Err(cannot(&block, kind)),
            }
        }
    }
    match assistant {
        true => messages.push(Message::calls(said.text, calls)),
        // A message of results alone has been said by them.
        false if said.is_empty() && !content.value.is_string() => {}
        false => messages.push(said.into_message(Message::user)),
    }
    Ok(())
}

fn cannot(block: &Field, kind: &str) -> Fault {
    block.get("type").bad(format!("'{kind}' cannot be sent to this model"))
}

fn call(block: &Field) -> Result<ToolCall> {
    let input = block.get("input").object()?;
    Ok(ToolCall {
        id: block.get("id").wanted_text()?.into(),
        name: block.get("name").wanted_text()?.into(),
        arguments: input.map_or_else(|| "{}".into(), |it| Value::Object(it.clone()).to_string()),
        signature: None,
    })
}

fn result(block: &Field) -> Result<Message> {
    let mut shown = shown(&block.get("content"))?;
    if block.get("is_error").flag()? {
        shown.prefix("Error: ");
    }
    let id = block.get("tool_use_id").wanted_text()?;
    Ok(shown.into_message(|text| Message::tool(id, text)))
}

/// What a tool returned: words, and pictures or documents between them.
fn shown(content: &Field) -> Result<Content> {
    if content.is_absent() || content.value.is_string() {
        return Ok(Content { text: words(content)?, ..Content::default() });
    }
    let mut read = Content::default();
    for part in content.list()? {
        match part.kind()? {
            "image" => read_block(&part, AttachmentKind::Image, &mut read)?,
            "document" => read_block(&part, AttachmentKind::Document, &mut read)?,
            _ => {
                read.text.push_str(if read.text.is_empty() { "" } else { "\n\n" });
                read.text.push_str(block(&part)?);
            }
        }
    }
    Ok(read)
}

/// The words of a text or of blocks of text.
fn words(content: &Field) -> Result<String> {
    if content.is_absent() || content.value.is_string() {
        return Ok(content.text()?.unwrap_or_default().into());
    }
    let blocks: Vec<&str> = content.list()?.iter().map(block).collect::<Result<_>>()?;
    Ok(blocks.join("\n\n"))
}

fn block<'a>(block: &Field<'a>) -> Result<&'a str> {
    match block.kind()? {
        "text" => block.get("text").wanted_text(),
        kind => Err(cannot(block, kind)),
    }
}

/// Tools that Anthropic runs itself have a type and no schema; here they do not exist.
fn tools(body: &Field, ignored: &mut Vec<String>) -> Result<Vec<Tool>> {
    let mut tools = Vec::new();
    for tool in body.get("tools").list()? {
        if tool.get("type").text()?.is_some_and(|kind| kind != "custom") {
            ignored.push(tool.path().into());
            continue;
        }
        let schema = tool.get("input_schema");
        let parameters = schema.object()?.ok_or_else(|| schema.bad("is missing"))?;
        tools.push(Tool {
            name: tool.get("name").wanted_text()?.into(),
            description: tool.get("description").text()?.unwrap_or_default().into(),
            parameters: Value::Object(parameters.clone()),
        });
    }
    Ok(tools)
}

/// An answer in blocks.
struct Blocks {
    head: Head,
    begun: bool,
    /// The block that has started and not stopped.
    open: Option<Block>,
    /// Blocks so far.
    count: usize,
    usage: Option<Usage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

impl Blocks {
    fn put(&self, out: &mut String, mut data: Value, name: &str) {
        data["type"] = name.into();
        event(out, Some(name), &data);
    }

    fn begin(&mut self, out: &mut String) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let message = self.message(json!([]), Value::Null, &self.usage.unwrap_or_default());
        self.put(out, json!({ "message": message }), "message_start");
    }

    fn message(&self, content: Value, stop: Value, tokens: &Usage) -> Value {
        json!({
            "id": format!("msg_{}", self.head.id),
            "type": "message",
            "role": "assistant",
            "model": self.head.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": null,
            "usage": usage(tokens),
        })
    }

    fn start(&mut self, out: &mut String, block: Value) {
        self.begin(out);
        self.stop(out);
        let data = json!({ "index": self.count, "content_block": block });
        self.put(out, data, "content_block_start");
        if self.count == 0 {
            self.put(out, json!({}), "ping");
        }
        self.count += 1;
    }

    /// A delta of the open block, which is the last one.
    fn piece(&self, out: &mut String, delta: Value) {
        let data = json!({ "index": self.count.saturating_sub(1), "delta": delta });
        self.put(out, data, "content_block_delta");
    }

    fn stop(&mut self, out: &mut String) {
        if let Some(open) = self.open.take() {
            if open == Block::Thinking {
                self.piece(out, json!({ "type": "signature_delta", "signature": "" }));
            }
            self.close(out);
        }
    }

    fn close(&self, out: &mut String) {
        let data = json!({ "index": self.count.saturating_sub(1) });
        self.put(out, data, "content_block_stop");
    }

    fn words(&mut self, out: &mut String, kind: Block, text: String) {
        if self.open != Some(kind) {
            self.start(
                out,
                match kind {
                    Block::Text => json!({ "type": "text", "text": "" }),
                    Block::Thinking => {
                        json!({ "type": "thinking", "thinking": "", "signature": "" })
                    }
                },
            );
            self.open = Some(kind);
        }
        self.piece(
            out,
            match kind {
                Block::Text => json!({ "type": "text_delta", "text": text }),
                Block::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
            },
        );
    }

    fn call(&mut self, out: &mut String, call: &ToolCall) {
        let ToolCall { id, name, arguments, .. } = call;
        self.start(out, json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
        self.piece(out, json!({ "type": "input_json_delta", "partial_json": arguments }));
        self.close(out);
    }

    fn end(&mut self, out: &mut String, stop: &Stop) {
        self.begin(out);
        self.stop(out);
        let delta = json!({ "stop_reason": reason(stop), "stop_sequence": null });
        let data = json!({ "delta": delta, "usage": usage(&self.usage.unwrap_or_default()) });
        self.put(out, data, "message_delta");
        self.put(out, json!({}), "message_stop");
    }
}

impl Writer for Blocks {
    fn delta(&mut self, delta: Delta, out: &mut String) {
        match delta {
            Delta::Text(text) => self.words(out, Block::Text, text),
            Delta::Reasoning(text) if self.head.echo.thinking => {
                self.words(out, Block::Thinking, text);
            }
            Delta::ToolCall(call) => self.call(out, &call),
            Delta::Usage(usage) => self.usage.get_or_insert_default().update(usage),
            Delta::Stop(stop) => self.end(out, &stop),
            Delta::Reasoning(_) | Delta::Queued | Delta::Started | Delta::Retrying(_) => {}
            Delta::Ignored(_) => {}
            Delta::Calling(_) | Delta::Called(_) => {}
        }
    }

    fn fault(&mut self, fault: &Fault, out: &mut String) {
        event(out, Some("error"), &Shape::Anthropic.error(fault));
    }

    fn whole(&self, answer: &Answer) -> Value {
        let mut content = Vec::new();
        if self.head.echo.thinking && !answer.reasoning.is_empty() {
            let thinking = &answer.reasoning;
            content.push(json!({ "type": "thinking", "thinking": thinking, "signature": "" }));
        }
        if !answer.text.is_empty() {
            content.push(json!({ "type": "text", "text": answer.text }));
        }
        content.extend(answer.tool_calls.iter().map(|call| {
            // Arguments that are no JSON are the model's fault; the client sees an empty input.
            let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
        }));
        let stop = reason(answer.stop.as_ref().unwrap_or(&Stop::End));
        self.message(content.into(), stop.into(), &answer.usage.unwrap_or_default())
    }
}

fn reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Other(_) => "end_turn",
        Stop::Length => "max_tokens",
        Stop::ToolCalls => "tool_use",
        Stop::Refused => "refusal",
    }
}

/// Anthropic counts apart what was read from the cache and what was written to it.
fn usage(usage: &Usage) -> Value {
    let (cached, written) = (usage.cached.unwrap_or(0), usage.cache_written.unwrap_or(0));
    let in_cache = cached.saturating_add(written);
    json!({
        "input_tokens": usage.input.unwrap_or(0).saturating_sub(in_cache),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.output.unwrap_or(0),
    })
}
