//! OpenAI chat completions, as api.openai.com and the many servers that copy it speak it.

use super::calls::Calls;
use super::json::{Function, Words, arguments_text, count, window};
use super::pieces::{Stretch, data_url, pieces, refuse, text_results};
use super::reader::{Out, Parser, cut, parse, reader};
use super::sampling::{
    FREQUENCY_PENALTY, PARALLEL_TOOL_CALLS, PRESENCE_PENALTY, SEED, TEMPERATURE, TOP_P,
    write_sampling,
};
use super::think::Think;
use super::{Dialect, Listed, Request, refusal};
use crate::framing::Framing;
use althing_chat::{
    Ask, Attachment, AttachmentKind, AttachmentSource, Format, Message, Role, Stop, Tool, ToolCall,
    ToolChoice, Usage,
};
use althing_stdx::{Fault, Kind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The base URL ends in `/v1`.
pub static OPENAI: Dialect = Dialect {
    name: "openai",
    write,
    reader: |stream| reader::<Chat>(if stream { Framing::Sse } else { Framing::Whole }),
    refuse: refusal::refuse,
    key_header: |key| ("authorization", format!("Bearer {key}")),
    list_path: "/models",
    list_headers: &[],
    read_list,
};

/// OpenAI's own reasoning models. They refuse `max_tokens`, which every other server knows, and
/// any temperature but their own.
const REASONING_MODELS: &[&str] = &["o1", "o3", "o4", "gpt-5", "gpt-6"];
/// Of these, those that refuse to be told how many tools they may call at once.
const SINGLE_CALL_MODELS: &[&str] = &["o1", "o3", "o4"];
/// Settings of which the API knows the field.
const FIELDS: &[(&str, &str)] = &[
    (SEED, "seed"),
    (TEMPERATURE, "temperature"),
    (TOP_P, "top_p"),
    (FREQUENCY_PENALTY, "frequency_penalty"),
    (PRESENCE_PENALTY, "presence_penalty"),
];
/// Of them, as many as its reasoning models do not refuse.
const REASONING_FIELDS: usize = 1;
/// What a document is called that has no name of a file.
const DOCUMENT: &str = "document.pdf";

fn write(model: &str, ask: &Ask) -> Result<Request> {
    let reasons = REASONING_MODELS.iter().any(|prefix| model.starts_with(prefix));
    let messages = text_results(&ask.messages);
    let messages: Vec<Value> = messages.iter().map(message).collect::<Result<_>>()?;
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), ask.stream.into());
    let fields = if reasons { &FIELDS[..REASONING_FIELDS] } else { FIELDS };
    let mut ignored = write_sampling(ask, fields, &mut body);
    let mut body = Value::Object(body);
    if ask.stream {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !ask.tools.is_empty() {
        body["tools"] = ask.tools.iter().map(tool).collect();
        // Otherwise is the default, and without tools the field is refused.
        if ask.parallel_tool_calls == Some(false) {
            match SINGLE_CALL_MODELS.iter().any(|prefix| model.starts_with(prefix)) {
                true => ignored.push(PARALLEL_TOOL_CALLS),
                false => body["parallel_tool_calls"] = false.into(),
            }
        }
    }
    if let Some(max) = ask.max_tokens {
        body[if reasons { "max_completion_tokens" } else { "max_tokens" }] = max.into();
    }
    if let Some(effort) = &ask.effort {
        body["reasoning_effort"] = effort.as_str().into();
    }
    if let Some(choice) = &ask.tool_choice {
        body["tool_choice"] = tool_choice(choice);
    }
    if !ask.stop.is_empty() {
        body["stop"] = ask.stop.as_slice().into();
    }
    if let Some(format) = &ask.format {
        body["response_format"] = response_format(format);
    }
    Ok(Request { path: "/chat/completions".into(), headers: vec![], body, ignored })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::None => "none".into(),
        ToolChoice::Any => "required".into(),
        ToolChoice::Named(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

fn response_format(format: &Format) -> Value {
    match format {
        Format::Json => json!({ "type": "json_object" }),
        Format::Schema { name, schema, strict } => {
            let schema = json!({ "name": name, "schema": schema, "strict": strict });
            json!({ "type": "json_schema", "json_schema": schema })
        }
    }
}

fn message(message: &Message) -> Result<Value> {
    let text = &message.text;
    Ok(match message.role {
        Role::System => json!({ "role": "system", "content": text }),
        Role::User if message.attachments.is_empty() => json!({ "role": "user", "content": text }),
        Role::User => {
            let parts = pieces(message).into_iter().map(part).collect::<Result<Vec<_>>>()?;
            json!({ "role": "user", "content": parts })
        }
        Role::Tool => {
            json!({ "role": "tool", "tool_call_id": message.tool_call_id, "content": text })
        }
        Role::Assistant if message.tool_calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Role::Assistant => {
            let calls: Vec<Value> = message.tool_calls.iter().map(call).collect();
            // Some servers refuse an empty text, some a missing one; null is the specified form.
            let content = Some(text).filter(|text| !text.is_empty());
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
    })
}

fn part(piece: Stretch<'_>) -> Result<Value> {
    match piece {
        Stretch::Text(_, text) => Ok(json!({ "type": "text", "text": text })),
        Stretch::Attachment(it) => match it.kind {
            AttachmentKind::Image => {
                let url = match &it.source {
                    AttachmentSource::Base64(data) => data_url(it, data),
                    AttachmentSource::Url(url) => url.clone(),
                };
                Ok(json!({ "type": "image_url", "image_url": { "url": url } }))
            }
            AttachmentKind::Document => document(it),
        },
    }
}

fn document(attachment: &Attachment) -> Result<Value> {
    let AttachmentSource::Base64(data) = &attachment.source else {
        let lacks = "reads no document by its address";
        return Err(refuse(attachment, "this server", lacks, "send the file itself, as base64"));
    };
    let name = Some(attachment.name.as_str()).filter(|name| name.ends_with(".pdf"));
    let data = data_url(attachment, data);
    let file = json!({ "filename": name.unwrap_or(DOCUMENT), "file_data": data });
    Ok(json!({ "type": "file", "file": file }))
}

fn call(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

/// Ollama takes tools in this form too.
pub(super) fn tool(tool: &Tool) -> Value {
    let Tool { name, description, parameters } = tool;
    let function = json!({ "name": name, "description": description, "parameters": parameters });
    json!({ "type": "function", "function": function })
}

/// A chunk of a stream, or a whole answer: they differ in `delta` and `message`.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Tokens>,
    x_groq: Option<Groq>,
    timings: Option<Timings>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    #[serde(borrow)]
    message: Option<Piece<'a>>,
    finish_reason: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    content: Option<Words>,
    /// DeepSeek, vLLM, LM Studio, DashScope.
    reasoning_content: Option<Words>,
    /// OpenRouter, Groq, newer vLLM; some send both.
    reasoning: Option<Words>,
    refusal: Option<Words>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(default, deserialize_with = "count")]
    index: Option<u64>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

/// Groq's own place for the counts.
#[derive(Deserialize)]
struct Groq {
    usage: Option<Tokens>,
}

/// What llama-server counts besides, in a place of its own.
#[derive(Deserialize)]
struct Timings {
    /// Tokens of the prompt that were in the cache.
    #[serde(default, deserialize_with = "count")]
    cache_n: Option<u64>,
}

/// The other names are those of `/responses`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    #[serde(alias = "input_tokens", deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(alias = "output_tokens", deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    total_tokens: Option<u64>,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<Details>,
    #[serde(alias = "output_tokens_details")]
    completion_tokens_details: Option<Details>,
    /// DeepSeek's word for cached tokens.
    #[serde(deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
    /// Moonshot's.
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
    /// OpenRouter.
    #[serde(deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
}

/// The counts in a `usage` object.
pub(crate) fn usage(object: &RawValue) -> Option<Usage> {
    serde_json::from_str(object.get()).ok().map(|tokens: Tokens| tokens.usage())
}

/// The cached tokens in a `timings` object.
pub(crate) fn cached_in_timings(object: &RawValue) -> Option<Usage> {
    let timings: Timings = serde_json::from_str(object.get()).ok()?;
    Some(Usage { cached: Some(timings.cache_n?), ..Usage::default() })
}

impl Tokens {
    fn usage(&self) -> Usage {
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens);
        let written = details.and_then(|details| details.cache_write_tokens);
        let details = self.completion_tokens_details.as_ref();
        let reasoning = details.and_then(|details| details.reasoning_tokens);
        Usage {
            input: self.prompt_tokens,
            output: self.output(reasoning.unwrap_or(0)),
            cached: cached.or(self.prompt_cache_hit_tokens).or(self.cached_tokens),
            // Most answers say 0 here, which tells nothing.
            cache_written: written.filter(|tokens| *tokens > 0),
            reasoning,
            ..Usage::default()
        }
    }

    /// xAI leaves reasoning out of `completion_tokens`; the total tells.
    fn output(&self, reasoning: u64) -> Option<u64> {
        let output = self.completion_tokens?;
        let apart = output.saturating_add(reasoning);
        let sum = self.prompt_tokens.map(|input| input.saturating_add(apart));
        Some(if sum.is_some() && sum == self.total_tokens { apart } else { output })
    }
}

#[derive(Default)]
struct Chat {
    think: Think,
    calls: Calls,
    refused: bool,
    stop: Option<Stop>,
}

impl Parser for Chat {
    fn event(&mut self, event: &str, out: &mut Out) -> Result<()> {
        if event == "[DONE]" {
            // Not every server that ends so gives a reason before.
            self.stop.get_or_insert(Stop::End);
            return self.end(out);
        }
        let chunk: Chunk = parse(event)?;
        if let Some(error) = chunk.error {
            return Err(refusal::in_stream(error));
        }
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.choice(choice, out)?;
        }
        let tokens = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage));
        let mut usage = tokens.map(|tokens| tokens.usage()).unwrap_or_default();
        usage.cached = usage.cached.or(chunk.timings.and_then(|timings| timings.cache_n));
        // Where nothing is counted, nothing is new.
        out.usage(usage);
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<()> {
        let stop = self.stop.take().ok_or_else(cut)?;
        self.think.close(out);
        self.calls.close(out);
        out.stop(if self.refused { Stop::Refused } else { stop });
        Ok(())
    }
}

impl Chat {
    fn choice(&mut self, choice: Choice, out: &mut Out) -> Result<()> {
        if let Some(error) = choice.error {
            return Err(refusal::in_stream(error));
        }
        if choice.message.is_some() {
            self.stop = Some(Stop::End);
        }
        if let Some(piece) = choice.delta.or(choice.message) {
            self.piece(piece, out)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => Ok(()),
            Some("error") => Err(Fault::new(Kind::Upstream, "the provider broke the answer off")),
            Some(reason) => {
                self.stop = Some(stop(reason));
                Ok(())
            }
        }
    }

    fn piece(&mut self, piece: Piece, out: &mut Out) -> Result<()> {
        let thoughts = [piece.reasoning_content, piece.reasoning];
        let thought = thoughts.into_iter().flatten().find(|words| !words.text.is_empty());
        self.thought(thought.unwrap_or_default().text, out);
        let Words { text, thought } = piece.content.unwrap_or_default();
        self.thought(thought, out);
        if !text.is_empty() {
            self.think.push(text, out);
        }
        let refusal = piece.refusal.unwrap_or_default().text;
        self.refused |= !refusal.is_empty();
        out.text(refusal);
        for CallPiece { index, id, function } in piece.tool_calls.into_iter().flatten() {
            let Some(Function { name, arguments }) = function else { continue };
            let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
            self.calls.fragment(index, id, name, &arguments_text(arguments))?;
        }
        Ok(())
    }

    /// A server that keeps thoughts apart itself puts no tags into its text.
    fn thought(&mut self, thought: String, out: &mut Out) {
        if !thought.is_empty() {
            self.think.close(out);
            out.reasoning(thought);
        }
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" | "eos" => Stop::End,
        "length" | "model_length" => Stop::Length,
        "tool_calls" | "function_call" => Stop::ToolCalls,
        "content_filter" => Stop::Refused,
        other => Stop::Other(other.into()),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum List {
    Wrapped {
        data: Vec<Entry>,
    },
    /// Together.
    Bare(Vec<Entry>),
}

/// Servers have many words for the same two things.
#[derive(Deserialize)]
struct Entry {
    id: String,
    owned_by: Option<String>,
    name: Option<String>,
    display_name: Option<String>,
    #[serde(default, deserialize_with = "window")]
    context_length: Option<u64>,
    #[serde(default, deserialize_with = "window")]
    context_window: Option<u64>,
    #[serde(default, deserialize_with = "window")]
    max_model_len: Option<u64>,
    #[serde(default, deserialize_with = "window")]
    max_context_length: Option<u64>,
    /// OpenRouter: who serves the model may take less than the model does.
    top_provider: Option<Server>,
    /// llama-server.
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Server {
    #[serde(default, deserialize_with = "window")]
    context_length: Option<u64>,
}

/// What the model was trained on stands there too, and says nothing about what is loaded.
#[derive(Deserialize)]
struct Meta {
    #[serde(default, deserialize_with = "window")]
    n_ctx: Option<u64>,
}

impl Entry {
    fn context_tokens(&self) -> Option<u64> {
        let own = [self.context_length, self.context_window, self.max_model_len];
        let own = own.into_iter().chain([self.max_context_length]).flatten().next();
        let served = self.top_provider.as_ref().and_then(|it| it.context_length);
        let loaded = self.meta.as_ref().and_then(|it| it.n_ctx);
        [own, served, loaded].into_iter().flatten().min()
    }
}

fn read_list(body: &[u8]) -> Result<Vec<Listed>> {
    let entries = match parse(&String::from_utf8_lossy(body))? {
        List::Wrapped { data } | List::Bare(data) => data,
    };
    let listed = |entry: Entry| Listed {
        context_tokens: entry.context_tokens(),
        id: entry.id,
        display_name: entry.display_name.or(entry.name),
        owned_by: entry.owned_by,
    };
    Ok(entries.into_iter().map(listed).collect())
}
