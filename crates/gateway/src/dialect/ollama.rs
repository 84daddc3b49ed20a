//! Ollama's own API: JSON lines, whole tool calls, counts on the last line.

use super::json::{Function, Words, arguments_object, arguments_text, count, tool_name};
use super::openai::tool;
use super::pieces::{refuse, text_results};
use super::reader::{Out, Parser, cut, parse, reader};
use super::sampling::{
    FREQUENCY_PENALTY, PARALLEL_TOOL_CALLS, PRESENCE_PENALTY, SEED, TEMPERATURE, TOOL_CHOICE,
    TOP_K, TOP_P, write_sampling,
};
use super::think::Think;
use super::{Dialect, Listed, Request, refusal};
use crate::framing::Framing;
use althing_chat::{
    Ask, Attachment, AttachmentKind, AttachmentSource, Format, Message, Role, Stop, Tool,
    ToolChoice, Usage,
};
use althing_stdx::Result;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The base URL is the server itself; a key is needed only behind a proxy or in Ollama's cloud.
pub static OLLAMA: Dialect = Dialect {
    name: "ollama",
    write,
    // A whole answer is one line.
    reader: |_| reader::<Chat>(Framing::Ndjson),
    refuse: refusal::refuse,
    key_header: |key| ("authorization", format!("Bearer {key}")),
    list_path: "/api/tags",
    list_headers: &[],
    read_list,
};

/// Settings and their names among the options.
const FIELDS: &[(&str, &str)] = &[
    (TEMPERATURE, "temperature"),
    (TOP_P, "top_p"),
    (TOP_K, "top_k"),
    (SEED, "seed"),
    (FREQUENCY_PENALTY, "frequency_penalty"),
    (PRESENCE_PENALTY, "presence_penalty"),
];

fn write(model: &str, ask: &Ask) -> Result<Request> {
    let said = text_results(&ask.messages);
    let messages = said.iter().enumerate();
    let mut messages: Vec<Value> =
        messages.map(|(at, m)| message(&said[..at], m)).collect::<Result<_>>()?;
    let (tools, rule) = tools(ask);
    messages.extend(rule.map(|rule| json!({ "role": "system", "content": rule })));
    // Ollama streams unless told not to.
    let mut body = json!({ "model": model, "messages": messages, "stream": ask.stream });
    if !tools.is_empty() {
        body["tools"] = tools.into_iter().map(tool).collect();
    }
    let mut options = Map::new();
    let mut ignored = write_sampling(ask, FIELDS, &mut options);
    // That it is asked for in words does not make it certain.
    if matches!(ask.tool_choice, Some(ToolChoice::Any | ToolChoice::Named(_))) {
        ignored.push(TOOL_CHOICE);
    }
    if ask.parallel_tool_calls == Some(false) && !ask.tools.is_empty() {
        ignored.push(PARALLEL_TOOL_CALLS);
    }
    if let Some(tokens) = ask.context_tokens {
        // Without it a longer prompt loses its beginning, and nobody is told.
        options.insert("num_ctx".into(), tokens.into());
    }
    if let Some(max) = ask.max_tokens {
        options.insert("num_predict".into(), max.into());
    }
    if !ask.stop.is_empty() {
        options.insert("stop".into(), ask.stop.as_slice().into());
    }
    if !options.is_empty() {
        body["options"] = options.into();
    }
    if let Some(effort) = &ask.effort {
        body["think"] = think(model, effort);
    }
    match &ask.format {
        Some(Format::Json) => body["format"] = "json".into(),
        Some(Format::Schema { schema, .. }) => body["format"] = schema.clone(),
        None => {}
    }
    Ok(Request { path: "/api/chat".into(), headers: vec![], body, ignored })
}

/// The tools that are offered, and a rule in words: Ollama has no field for a call that must be
/// made or must not.
fn tools(ask: &Ask) -> (Vec<&Tool>, Option<String>) {
    let all = || ask.tools.iter();
    match &ask.tool_choice {
        None => (all().collect(), None),
        Some(ToolChoice::None) => (vec![], None),
        Some(ToolChoice::Any) => {
            (all().collect(), Some("Answer with a call of one of your tools.".into()))
        }
        Some(ToolChoice::Named(name)) => (
            all().filter(|tool| tool.name == *name).collect(),
            Some(format!("Answer with a call of the tool {name}.")),
        ),
    }
}

/// Pictures stand beside the text, all before it.
fn images(message: &Message) -> Result<Vec<&str>> {
    message.attachments.iter().map(image).collect()
}

fn image(attachment: &Attachment) -> Result<&str> {
    let refuse = |lacks, instead| Err(refuse(attachment, "Ollama", lacks, instead));
    match (attachment.kind, &attachment.source) {
        (AttachmentKind::Document, _) => {
            refuse("takes no documents", "send its text, or its pages as pictures")
        }
        (_, AttachmentSource::Url(_)) => {
            refuse("takes no pictures by their address", "send the picture itself, as base64")
        }
        (AttachmentKind::Image, AttachmentSource::Base64(data)) => Ok(data),
    }
}

/// Levels exist for gpt-oss only; others are refused with them and take yes or no.
fn think(model: &str, effort: &str) -> Value {
    match effort {
        "none" | "off" => false.into(),
        level if model.contains("gpt-oss") => level.into(),
        _ => true.into(),
    }
}

fn message(before: &[Message], message: &Message) -> Result<Value> {
    let text = &message.text;
    Ok(match message.role {
        Role::System => json!({ "role": "system", "content": text }),
        Role::User if message.attachments.is_empty() => json!({ "role": "user", "content": text }),
        Role::User => {
            let images = images(message)?;
            json!({ "role": "user", "content": text, "images": images })
        }
        Role::Tool => {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            let name = tool_name(before, id).unwrap_or(id);
            json!({ "role": "tool", "tool_name": name, "tool_call_id": id, "content": text })
        }
        Role::Assistant if message.tool_calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Role::Assistant => {
            let calls = message.tool_calls.iter().map(|call| {
                let arguments = arguments_object(&call.arguments);
                json!({ "id": call.id, "function": { "name": call.name, "arguments": arguments } })
            });
            let calls: Vec<Value> = calls.collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
    })
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Option<Said<'a>>,
    done: Option<bool>,
    done_reason: Option<String>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_cached_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    eval_count: Option<u64>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Said<'a> {
    content: Option<Words>,
    thinking: Option<Words>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    id: Option<String>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Default)]
struct Chat {
    /// Models whose template Ollama does not know think inside their text.
    think: Think,
}

impl Parser for Chat {
    fn event(&mut self, event: &str, out: &mut Out) -> Result<()> {
        let line: Line = parse(event)?;
        if let Some(error) = line.error {
            return Err(refusal::in_stream(error));
        }
        if let Some(said) = line.message {
            self.said(said, out);
        }
        if line.done == Some(true) {
            self.think.close(out);
            out.usage(Usage {
                input: line.prompt_eval_count,
                output: line.eval_count,
                cached: line.prompt_eval_cached_count,
                ..Usage::default()
            });
            out.stop(stop(line.done_reason.as_deref()));
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Out) -> Result<()> {
        Err(cut())
    }
}

impl Chat {
    fn said(&mut self, said: Said, out: &mut Out) {
        let thought = said.thinking.unwrap_or_default().text;
        if !thought.is_empty() {
            self.think.close(out);
            out.reasoning(thought);
        }
        let text = said.content.unwrap_or_default().text;
        if !text.is_empty() {
            self.think.push(text, out);
        }
        for Call { id, function } in said.tool_calls.into_iter().flatten() {
            let Some(Function { name, arguments }) = function else { continue };
            let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
            out.call(id, name, arguments_text(arguments));
        }
    }
}

fn stop(reason: Option<&str>) -> Stop {
    match reason {
        None | Some("" | "stop") => Stop::End,
        Some("length") => Stop::Length,
        // `load` and `unload`: the model was moved into or out of memory and said nothing.
        Some(other) => Stop::Other(other.into()),
    }
}

#[derive(Deserialize)]
struct List {
    models: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
}

fn read_list(body: &[u8]) -> Result<Vec<Listed>> {
    let list: List = parse(&String::from_utf8_lossy(body))?;
    let listed = |entry: Entry| Listed {
        id: entry.name,
        display_name: None,
        owned_by: None,
        context_tokens: None,
    };
    Ok(list.models.unwrap_or_default().into_iter().map(listed).collect())
}
