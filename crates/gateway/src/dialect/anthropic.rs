//! Anthropic messages: blocks in, blocks out.

use super::calls::Calls;
use super::json::{arguments_object, arguments_text, count, window};
use super::pieces::{Stretch, media_type, pieces};
use super::reader::{Out, Parser, cut, parse, reader};
use super::sampling::{EFFORT, TEMPERATURE, TOP_K, TOP_P, write_sampling};
use super::{Dialect, Listed, Request, refusal};
use crate::framing::Framing;
use althing_chat::{
    Ask, Attachment, AttachmentKind, AttachmentSource, Format, Message, Role, Stop, ToolChoice,
    Usage,
};
use althing_stdx::Result;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

pub(crate) mod caching;
mod thinking;

/// The base URL is the server itself.
pub static ANTHROPIC: Dialect = Dialect {
    name: "anthropic",
    write,
    reader: |stream| reader::<Chat>(if stream { Framing::Sse } else { Framing::Whole }),
    refuse: refusal::refuse,
    key_header: |key| ("x-api-key", key.into()),
    list_path: "/v1/models?limit=1000",
    list_headers: &[VERSION],
    read_list,
};

pub(crate) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
/// The API wants a limit in every request; this one where the caller sets none.
const MAX_TOKENS: u32 = 8192;
/// JSON without a schema is only asked for in words: the API has no field for it.
const JSON_RULE: &str = "Answer with one JSON object and nothing else: no words before or after it, \
                         no code fence.";

fn write(model: &str, ask: &Ask) -> Result<Request> {
    let max_tokens = ask.max_tokens.unwrap_or(MAX_TOKENS);
    let mut messages = messages(&ask.messages);
    let breakpoints = caching::keep_breakpoints(&mut messages);
    let mut body = json!({
        "model": model,
        "max_tokens": max_tokens,
        "messages": messages,
        "stream": ask.stream,
    });
    let system = system(ask);
    if !system.is_empty() {
        body["system"] = caching::system(system, breakpoints);
    }
    if !ask.tools.is_empty() {
        let tools = ask.tools.iter().map(|tool| {
            let (name, description) = (&tool.name, &tool.description);
            json!({ "name": name, "description": description, "input_schema": tool.parameters })
        });
        body["tools"] = tools.collect();
    }
    let thinks = thinking::write(model, ask, max_tokens, &mut body);
    let mut sampling = Map::new();
    let mut ignored = write_sampling(ask, sampling_fields(model, ask, thinks), &mut sampling);
    sampling.into_iter().for_each(|(field, value)| body[field] = value);
    if ask.effort.is_some() && !thinks && !thinking::is_off(ask) {
        ignored.push(EFFORT);
    }
    if let Some(choice) = tool_choice(ask) {
        body["tool_choice"] = choice;
    }
    if !ask.stop.is_empty() {
        body["stop_sequences"] = ask.stop.as_slice().into();
    }
    if let Some(Format::Schema { schema, .. }) = &ask.format {
        // The effort may stand there already.
        body["output_config"]["format"] = json!({ "type": "json_schema", "schema": schema });
    }
    let headers = vec![(VERSION.0, VERSION.1.to_string())];
    Ok(Request { path: "/v1/messages".into(), headers, body, ignored })
}

fn system(ask: &Ask) -> String {
    let mut system = ask.system();
    if ask.format == Some(Format::Json) {
        system.push_str(if system.is_empty() { "" } else { "\n\n" });
        system.push_str(JSON_RULE);
    }
    system
}

/// Settings that the model takes. With thinking, and on newer models always, the API refuses them,
/// and it refuses a temperature beside `top_p`.
fn sampling_fields(
    model: &str,
    ask: &Ask,
    thinks: bool,
) -> &'static [(&'static str, &'static str)] {
    const ALL: &[(&str, &str)] = &[(TOP_K, TOP_K), (TEMPERATURE, TEMPERATURE), (TOP_P, TOP_P)];
    match () {
        () if thinks || !thinking::takes_temperature(model) => &[],
        () if ask.temperature.is_some() => &ALL[..2],
        () => ALL,
    }
}

/// Which tool has to be called, and whether only one may be. It goes with tools alone.
fn tool_choice(ask: &Ask) -> Option<Value> {
    let mut choice = match &ask.tool_choice {
        Some(ToolChoice::Any) => json!({ "type": "any" }),
        Some(ToolChoice::Named(name)) => json!({ "type": "tool", "name": name }),
        Some(ToolChoice::None) => return Some(json!({ "type": "none" })),
        None if ask.tools.is_empty() || ask.parallel_tool_calls != Some(false) => return None,
        None => json!({ "type": "auto" }),
    };
    if ask.parallel_tool_calls == Some(false) {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

/// Messages of one role in a row become one: all results of a turn's calls must stand together.
fn messages(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = vec![];
    for message in messages {
        let role = match message.role {
            Role::System => continue,
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        let blocks = blocks(message);
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            // A message without blocks is refused.
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn blocks(message: &Message) -> Vec<Value> {
    let text = &message.text;
    if message.role == Role::Tool {
        let id = wire_id(message.tool_call_id.as_deref().unwrap_or_default());
        let content: Value = match message.attachments.is_empty() {
            true => text.as_str().into(),
            false => said(message).into(),
        };
        return vec![json!({ "type": "tool_result", "tool_use_id": id, "content": content })];
    }
    let texts: Vec<Value> = said(message);
    let calls = message.tool_calls.iter().map(|call| {
        let (id, input) = (wire_id(&call.id), arguments_object(&call.arguments));
        json!({ "type": "tool_use", "id": id, "name": call.name, "input": input })
    });
    texts.into_iter().chain(calls).collect()
}

/// The words of a message and what stands between them.
fn said(message: &Message) -> Vec<Value> {
    let blocks = pieces(message).into_iter().map(|piece| match piece {
        Stretch::Attachment(it) => vec![attached(it)],
        Stretch::Text(start, text) => {
            let ends = message.cache_ends.iter().filter_map(|end| end.checked_sub(start));
            let ends: Vec<usize> = ends.filter(|end| *end <= text.len()).collect();
            caching::text_blocks(text, &ends)
        }
    });
    blocks.flatten().collect()
}

fn attached(attachment: &Attachment) -> Value {
    let kind = match attachment.kind {
        AttachmentKind::Image => "image",
        AttachmentKind::Document => "document",
    };
    let source = match &attachment.source {
        AttachmentSource::Url(url) => json!({ "type": "url", "url": url }),
        AttachmentSource::Base64(data) => {
            json!({ "type": "base64", "media_type": media_type(attachment), "data": &**data })
        }
    };
    json!({ "type": kind, "source": source })
}

/// Ids of other providers may hold characters that are refused here.
fn wire_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// An event of a stream; or a whole answer, whose type is `message`.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "count")]
    index: Option<u64>,
    message: Option<Start>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    delta: Option<Delta>,
    usage: Option<Tokens>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<Vec<Block<'a>>>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    id: Option<String>,
    name: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
}

/// The counts in a `usage` object.
pub(crate) fn usage(object: &RawValue) -> Option<Usage> {
    serde_json::from_str(object.get()).ok().map(|tokens: Tokens| tokens.usage())
}

impl Tokens {
    /// `input_tokens` leaves out what was read from or written to the cache.
    fn usage(&self) -> Usage {
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let cache = written.saturating_add(self.cache_read_input_tokens.unwrap_or(0));
        Usage {
            input: self.input_tokens.map(|input| input.saturating_add(cache)),
            output: self.output_tokens,
            cached: self.cache_read_input_tokens,
            // Most answers say 0 here, which tells nothing.
            cache_written: self.cache_creation_input_tokens.filter(|tokens| *tokens > 0),
            ..Usage::default()
        }
    }
}

#[derive(Default)]
struct Chat {
    calls: Calls,
    stop: Option<Stop>,
}

impl Parser for Chat {
    fn event(&mut self, event: &str, out: &mut Out) -> Result<()> {
        let event: Event = parse(event)?;
        if let Some(error) = event.error {
            return Err(refusal::in_stream(error));
        }
        for (at, block) in event.content.into_iter().flatten().enumerate() {
            self.block(Some(at as u64), block, out)?;
        }
        if let Some(block) = event.content_block {
            self.block(event.index, block, out)?;
        }
        let mut reason = event.stop_reason;
        if let Some(delta) = event.delta {
            out.reasoning(delta.thinking.unwrap_or_default());
            out.text(delta.text.unwrap_or_default());
            self.calls.arguments(event.index, &delta.partial_json.unwrap_or_default())?;
            reason = reason.or(delta.stop_reason);
        }
        if let Some(tokens) = event.usage.or(event.message.and_then(|start| start.usage)) {
            out.usage(tokens.usage());
        }
        self.stop = reason.as_deref().map(stop).or(self.stop.take());
        if matches!(&*event.kind, "message_stop" | "message") {
            self.stop.get_or_insert(Stop::End);
            return self.end(out);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<()> {
        let stop = self.stop.take().ok_or_else(cut)?;
        self.calls.close(out);
        out.stop(stop);
        Ok(())
    }
}

impl Chat {
    /// A block as it begins in a stream, mostly empty, or as it is in a whole answer.
    fn block(&mut self, index: Option<u64>, block: Block, out: &mut Out) -> Result<()> {
        out.reasoning(block.thinking.unwrap_or_default());
        out.text(block.text.unwrap_or_default());
        if block.kind != "tool_use" {
            return Ok(());
        }
        let (id, name) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
        self.calls.open(index, id, name)?;
        // A stream begins with an empty object and sends the arguments as text.
        let input = arguments_text(block.input);
        if input == "{}" { Ok(()) } else { self.calls.arguments(index, &input) }
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" => Stop::End,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "tool_use" => Stop::ToolCalls,
        "refusal" => Stop::Refused,
        // Among them `pause_turn`, which only the provider's own tools bring about.
        other => Stop::Other(other.into()),
    }
}

#[derive(Deserialize)]
struct List {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    display_name: Option<String>,
    #[serde(default, deserialize_with = "window")]
    max_input_tokens: Option<u64>,
}

fn read_list(body: &[u8]) -> Result<Vec<Listed>> {
    let list: List = parse(&String::from_utf8_lossy(body))?;
    let listed = |entry: Entry| Listed {
        id: entry.id,
        display_name: entry.display_name,
        owned_by: None,
        context_tokens: entry.max_input_tokens,
    };
    Ok(list.data.into_iter().map(listed).collect())
}
