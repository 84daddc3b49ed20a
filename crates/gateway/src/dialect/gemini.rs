//! Gemini's generateContent.

use super::json::{arguments_object, arguments_text, count, tool_name, window};
use super::pieces::{Stretch, media_type, pieces, refuse, text_results};
use super::reader::{Out, Parser, cut, parse, reader};
use super::sampling::{
    EFFORT, FREQUENCY_PENALTY, PARALLEL_TOOL_CALLS, PRESENCE_PENALTY, SEED, TEMPERATURE, TOP_K,
    TOP_P, write_sampling,
};
use super::{Dialect, Listed, Request, refusal};
use crate::framing::Framing;
use althing_chat::{
    Ask, Attachment, AttachmentSource, Format, Message, Role, Stop, ToolChoice, Usage,
};
use althing_stdx::Result;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The base URL is the server itself.
pub static GEMINI: Dialect = Dialect {
    name: "gemini",
    write,
    reader: |stream| reader::<Chat>(if stream { Framing::Sse } else { Framing::Whole }),
    refuse: refusal::refuse,
    key_header: |key| ("x-goog-api-key", key.into()),
    list_path: "/v1beta/models?pageSize=1000",
    list_headers: &[],
    read_list,
};

/// Thinking budgets for the words of effort, as Google's own OpenAI endpoint maps them; other
/// words get the last one.
const BUDGETS: &[(&str, u32)] = &[("none", 0), ("minimal", 1024), ("low", 1024), ("medium", 8192)];
const BUDGET_HIGH: u32 = 24576;
/// No model of 2.5 takes a smaller budget but none at all.
const BUDGET_MIN: u32 = 512;
/// Gemini 3 and later refuse a call in the history without the signature it came with. This is the
/// documented stand-in for one that nobody kept.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Settings and their fields.
const FIELDS: &[(&str, &str)] = &[
    (TEMPERATURE, "temperature"),
    (TOP_P, "topP"),
    (TOP_K, "topK"),
    (SEED, "seed"),
    (FREQUENCY_PENALTY, "frequencyPenalty"),
    (PRESENCE_PENALTY, "presencePenalty"),
];

fn write(model: &str, ask: &Ask) -> Result<Request> {
    let mut body = json!({ "contents": contents(model, &text_results(&ask.messages))? });
    let system = ask.system();
    if !system.is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
    }
    if !ask.tools.is_empty() {
        // `parametersJsonSchema` takes JSON Schema as it is; `parameters` takes a dialect of
        // OpenAPI and refuses `$schema`, `$ref` and `additionalProperties`.
        let functions = ask.tools.iter().map(|tool| {
            let (name, description) = (&tool.name, &tool.description);
            let schema = &tool.parameters;
            json!({ "name": name, "description": description, "parametersJsonSchema": schema })
        });
        body["tools"] = json!([{ "functionDeclarations": functions.collect::<Vec<_>>() }]);
    }
    if let Some(choice) = &ask.tool_choice {
        let calling = match choice {
            ToolChoice::None => json!({ "mode": "NONE" }),
            ToolChoice::Any => json!({ "mode": "ANY" }),
            ToolChoice::Named(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
        };
        body["toolConfig"] = json!({ "functionCallingConfig": calling });
    }
    let (config, ignored) = config(model, ask);
    if !config.is_empty() {
        body["generationConfig"] = config.into();
    }
    let verb = if ask.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let path = format!("/v1beta/{}:{verb}", resource(model));
    Ok(Request { path, headers: vec![], body, ignored })
}

/// What is configured, and what cannot be.
fn config(model: &str, ask: &Ask) -> (Map<String, Value>, Vec<&'static str>) {
    let mut config = Map::new();
    if let Some(max) = ask.max_tokens {
        config.insert("maxOutputTokens".into(), max.into());
    }
    let mut ignored = write_sampling(ask, FIELDS, &mut config);
    if ask.parallel_tool_calls == Some(false) && !ask.tools.is_empty() {
        ignored.push(PARALLEL_TOOL_CALLS);
    }
    if let Some(effort) = ask.effort.as_deref() {
        match thinking(model, effort, ask.max_tokens) {
            Some(thinking) => _ = config.insert("thinkingConfig".into(), thinking),
            None => ignored.push(EFFORT),
        }
    }
    if !ask.stop.is_empty() {
        config.insert("stopSequences".into(), ask.stop.as_slice().into());
    }
    if let Some(format) = &ask.format {
        config.insert("responseMimeType".into(), "application/json".into());
        if let Format::Schema { schema, .. } = format {
            config.insert("responseJsonSchema".into(), schema.clone());
        }
    }
    (config, ignored)
}

/// Gemini 2.5 takes a budget, 3 and later a level; older ones refuse both.
fn thinking(model: &str, effort: &str, max_tokens: Option<u32>) -> Option<Value> {
    if is_old(model) {
        return None;
    }
    if !model.contains("gemini-2.5") {
        // The newer ones cannot be kept from thinking.
        let level = Some(effort.to_uppercase()).filter(|level| level != "NONE");
        return level.map(|level| json!({ "includeThoughts": true, "thinkingLevel": level }));
    }
    let row = BUDGETS.iter().find(|(word, _)| *word == effort);
    let budget = row.map_or(BUDGET_HIGH, |(_, tokens)| *tokens);
    // The limit counts thoughts and answer together.
    let half = max_tokens.map_or(u32::MAX, |max| (max / 2).max(BUDGET_MIN));
    let budget = budget.min(half);
    Some(json!({ "includeThoughts": budget > 0, "thinkingBudget": budget }))
}

/// The model's place in the path, with nothing in it that could lead elsewhere.
pub(crate) fn resource(model: &str) -> String {
    let folder = if model.contains('/') { "" } else { "models/" };
    format!("{folder}{}", escape_path(model))
}

/// Escapes what may not stand in a path; slashes stay.
pub(crate) fn escape_path(text: &str) -> String {
    let mut path = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                path.push(byte as char);
            }
            // Cannot fail: it writes into a string.
            other => _ = write!(path, "%{other:02X}"),
        }
    }
    path
}

/// Messages of one role in a row become one: all results of a turn's calls must stand together.
fn contents(model: &str, messages: &[Message]) -> Result<Vec<Value>> {
    let mut turns: Vec<(&str, Vec<Value>)> = vec![];
    for (at, message) in messages.iter().enumerate() {
        let (role, parts) = match message.role {
            Role::System => continue,
            Role::User => ("user", asked(model, message)?),
            Role::Tool => ("user", vec![response(&messages[..at], message)]),
            Role::Assistant => ("model", said(model, message)),
        };
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    let turn = |(role, parts)| json!({ "role": role, "parts": parts });
    Ok(turns.into_iter().map(turn).collect())
}

fn asked(model: &str, message: &Message) -> Result<Vec<Value>> {
    if message.attachments.is_empty() {
        return Ok(vec![json!({ "text": message.text })]);
    }
    let part = |piece| match piece {
        Stretch::Text(_, text) => Ok(json!({ "text": text })),
        Stretch::Attachment(it) => attached(model, it),
    };
    pieces(message).into_iter().map(part).collect()
}

fn attached(model: &str, attachment: &Attachment) -> Result<Value> {
    let kind = media_type(attachment);
    match &attachment.source {
        AttachmentSource::Base64(data) => {
            Ok(json!({ "inlineData": { "mimeType": kind, "data": &**data } }))
        }
        AttachmentSource::Url(_) if is_old(model) => {
            let lacks = "reads no file by its address";
            Err(refuse(attachment, model, lacks, "send the file itself, as base64"))
        }
        AttachmentSource::Url(url) => {
            let mut file = json!({ "fileUri": url });
            if let Some(kind) = kind {
                file["mimeType"] = kind.into();
            }
            Ok(json!({ "fileData": file }))
        }
    }
}

/// Models before 2.5, which lack what came later.
fn is_old(model: &str) -> bool {
    model.contains("gemini-1") || model.contains("gemini-2.0")
}

fn said(model: &str, message: &Message) -> Vec<Value> {
    let calls = message.tool_calls.iter().enumerate().map(|(at, call)| {
        let args = arguments_object(&call.arguments);
        let mut part = json!({ "functionCall": { "name": call.name, "args": args } });
        if let Some(id) = own_id(&call.id) {
            part["functionCall"]["id"] = id.into();
        }
        let stand_in = (at == 0 && wants_signature(model)).then_some(NO_SIGNATURE);
        if let Some(signature) = call.signature.as_deref().or(stand_in) {
            part["thoughtSignature"] = signature.into();
        }
        part
    });
    let text = (!message.text.is_empty() || message.tool_calls.is_empty())
        .then(|| json!({ "text": message.text }));
    text.into_iter().chain(calls).collect()
}

fn wants_signature(model: &str) -> bool {
    ["gemini-3", "gemini-4"].iter().any(|start| model.contains(start))
}

fn response(before: &[Message], message: &Message) -> Value {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let name = tool_name(before, id).unwrap_or(id);
    let mut part = json!({
        "functionResponse": { "name": name, "response": { "output": message.text } },
    });
    if let Some(id) = own_id(id) {
        part["functionResponse"]["id"] = id.into();
    }
    part
}

/// The provider's id of a call; not one we made up, which says nothing to the server and repeats
/// from turn to turn. Without ids it matches results to calls by their order.
fn own_id(id: &str) -> Option<&str> {
    let number = id.strip_prefix("call_").unwrap_or(id);
    let made_up = number.bytes().all(|byte| byte.is_ascii_digit());
    (!made_up).then_some(id)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Tokens>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    #[serde(deserialize_with = "count")]
    prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    cached_content_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    candidates_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    thoughts_token_count: Option<u64>,
}

impl Tokens {
    /// Thoughts and what built-in tools read are counted apart.
    fn usage(&self) -> Usage {
        Usage {
            input: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            output: sum(self.candidates_token_count, self.thoughts_token_count),
            cached: self.cached_content_token_count,
            reasoning: self.thoughts_token_count,
            ..Usage::default()
        }
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    }
}

#[derive(Default)]
struct Chat {
    /// Said at the end of the body: there is no end mark, and early models give a reason with
    /// every chunk.
    stop: Option<Stop>,
}

impl Parser for Chat {
    fn event(&mut self, event: &str, out: &mut Out) -> Result<()> {
        let chunk: Chunk = parse(event)?;
        if let Some(error) = chunk.error {
            return Err(refusal::in_stream(error));
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.stop = Some(Stop::Refused);
        }
        if let Some(candidate) = chunk.candidates.into_iter().flatten().next() {
            let parts = candidate.content.and_then(|content| content.parts);
            parts.into_iter().flatten().for_each(|part| said_part(part, out));
            self.stop = candidate.finish_reason.as_deref().map(stop).or(self.stop.take());
        }
        if let Some(tokens) = chunk.usage_metadata {
            out.usage(tokens.usage());
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<()> {
        out.stop(self.stop.take().ok_or_else(cut)?);
        Ok(())
    }
}

fn said_part(part: Part, out: &mut Out) {
    let text = part.text.unwrap_or_default();
    if part.thought == Some(true) {
        out.reasoning(text);
    } else {
        out.text(text);
    }
    if let Some(Call { id, name, args }) = part.function_call {
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        out.signed_call(id, name, arguments_text(args), part.thought_signature);
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "STOP" => Stop::End,
        "MAX_TOKENS" => Stop::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Stop::Refused,
        other => Stop::Other(other.into()),
    }
}

#[derive(Deserialize)]
struct List {
    models: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    display_name: Option<String>,
    #[serde(default, deserialize_with = "window")]
    input_token_limit: Option<u64>,
    supported_generation_methods: Option<Vec<String>>,
}

fn read_list(body: &[u8]) -> Result<Vec<Listed>> {
    let list: List = parse(&String::from_utf8_lossy(body))?;
    let speaks = |entry: &Entry| {
        let methods = entry.supported_generation_methods.iter().flatten();
        methods.into_iter().any(|method| method == "generateContent")
    };
    let listed = |entry: Entry| Listed {
        id: entry.name.strip_prefix("models/").unwrap_or(&entry.name).into(),
        display_name: entry.display_name,
        owned_by: None,
        context_tokens: entry.input_token_limit,
    };
    Ok(list.models.unwrap_or_default().into_iter().filter(speaks).map(listed).collect())
}
