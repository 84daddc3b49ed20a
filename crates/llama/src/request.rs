//! What is asked in OpenAI's dialect. Every field is known here: it is done, it changes no answer,
//! or it is refused by its name.

mod message;
#[cfg(test)]
mod tests;
mod tools;

#[cfg(test)]
pub use tools::ToolChoice;
pub use tools::{ToolUse, read_parameters, read_strictness};

use crate::grammar;
use crate::refusal::Refusal;
use crate::schema::{self, Strictness};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Stop sequences of one request, as OpenAI has it.
const STOPS_MAX: usize = 4;
const STOP_BYTES_MAX: usize = 1_024;
/// Alternatives that a token may be listed with, as OpenAI has it.
const TOP_LOGPROBS_MAX: u32 = 20;
const LOGIT_BIAS_MAX: f32 = 100.0;
const TOP_K_MAX: i32 = 1 << 20;
/// Texts of one request for embeddings; more are refused.
const INPUTS_MAX: usize = 2_048;

/// Fields that change no answer: bookkeeping, and hints about caches and speed.
const HARMLESS: &[&str] = &[
    "model",
    "user",
    "metadata",
    "store",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "prediction",
    "id_slot",
];

/// What a template is given besides its settings.
const RESERVED: &[&str] = &[
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "continue_final_message",
    "bos_token",
    "eos_token",
    "raise_exception",
    "strftime_now",
];

/// Values with which a field that is not supported changes nothing.
const NEUTRAL: &[(&str, &str)] = &[
    ("n", "1"),
    ("cache_prompt", "true"),
    ("return_progress", "false"),
    ("timings_per_token", "false"),
    ("modalities", r#"["text"]"#),
    ("functions", "[]"),
    ("best_of", "1"),
    ("echo", "false"),
];

/// A request for a completion.
#[derive(Debug, Default)]
pub struct ChatRequest {
    /// As templates read them: contents are texts.
    pub messages: Vec<Value>,
    pub stream: bool,
    /// Whether a stream ends with the usage.
    pub include_usage: bool,
    pub tokens_max: Option<u32>,
    pub sampling: Sampling,
    pub stops: Vec<String>,
    pub output: OutputForm,
    pub tools: ToolUse,
    /// How many alternatives each token is listed with; none: no log-probabilities.
    pub logprobs: Option<usize>,
    /// For the template: its own settings.
    pub settings: Map<String, Value>,
    /// Only templates that know it can obey it.
    pub reasoning_effort: Option<String>,
}

/// How the next token is chosen; what is missing is llama.cpp's own default.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub top_k: Option<i32>,
    pub min_p: Option<f32>,
    pub seed: Option<u32>,
    pub frequency_penalty: f32,
    pub presence_penalty: f32,
    pub repeat_penalty: Option<f32>,
    pub logit_bias: Vec<(i32, f32)>,
}

/// What the answer must look like.
#[derive(Debug, Default, Clone, PartialEq)]
pub enum OutputForm {
    #[default]
    Text,
    /// JSON that matches a schema.
    Json(Value),
    /// Text that matches a grammar in llama.cpp's own notation.
    Grammar(String),
}

/// A request for embeddings.
#[derive(Debug, PartialEq)]
pub struct EmbeddingRequest {
    pub inputs: Vec<String>,
    /// Whether vectors are sent as base64 of little-endian floats.
    pub base64: bool,
}

/// The fields of a body; whoever reads one takes it out, so what is left was not understood.
struct Fields(Map<String, Value>);

impl Fields {
    fn read(body: &[u8]) -> Result<Fields, Refusal> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Fields(fields)),
            Ok(_) => Err(Refusal::invalid("the body: must be a JSON object")),
            Err(error) => Err(Refusal::invalid(format!("the body: {error}"))),
        }
    }

    /// Takes a field; null is as good as missing.
    fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, String> {
        match self.0.shift_remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let read = serde_json::from_value(value);
                read.map(Some).map_err(|error| format!("{name}: {error}"))
            }
        }
    }

    fn take_number(&mut self, name: &str, least: f32, most: f32) -> Result<Option<f32>, String> {
        let value = self.take::<f32>(name)?;
        match value.filter(|value| !(least..=most).contains(value)) {
            Some(wrong) => Err(format!("{name}: must be from {least} to {most}, not {wrong}")),
            None => Ok(value),
        }
    }

    /// Refuses what nobody took and what is not harmless.
    fn refuse_rest(self) -> Result<(), String> {
        let is_neutral = |name: &str, value: &Value| {
            let neutral = NEUTRAL.iter().filter(|(known, _)| *known == name);
            {
                let value = value.to_string();
                neutral.map(|(_, text)| *text).any(|text| value == text)
            }
        };
        let refused = self.0.iter().find(|(name, value)| {
            !value.is_null() && !HARMLESS.contains(&name.as_str()) && !is_neutral(name, value)
        });
        match refused {
            None => Ok(()),
            Some((name, _)) => Err(format!("{name}: this runner cannot do that; leave it out")),
        }
    }
}

impl ChatRequest {
    /// Reads a body and refuses what this runner cannot do.
    pub fn read(body: &[u8]) -> Result<ChatRequest, Refusal> {
        Fields::read(body).and_then(|fields| ChatRequest::take(fields).map_err(Refusal::invalid))
    }

    /// Refuses tokens that the model does not have.
    pub fn check_tokens(&self, count: i32) -> Result<(), Refusal> {
        match self.sampling.logit_bias.iter().find(|(token, _)| *token >= count) {
            None => Ok(()),
            Some((token, _)) => Err(Refusal::invalid(format!(
                "logit_bias: the model has {count} tokens, and none has the number {token}"
            ))),
        }
    }

    fn take(mut fields: Fields) -> Result<ChatRequest, String> {
        let messages = fields.take("messages")?.ok_or("messages: is missing")?;
        let limits: [Option<u32>; 2] =
            [fields.take("max_completion_tokens")?, fields.take("max_tokens")?];
        if matches!(limits, [Some(new), Some(old)] if new != old) {
            return Err("max_tokens: differs from max_completion_tokens; leave one out".into());
        }
        let tools = ToolUse::take(&mut fields)?;
        let request = ChatRequest {
            messages: message::normalise(messages)?,
            stream: fields.take("stream")?.unwrap_or(false),
            include_usage: take_include_usage(&mut fields)?,
            tokens_max: limits.into_iter().flatten().next(),
            sampling: take_sampling(&mut fields)?,
            stops: take_stops(&mut fields)?,
            output: take_output(&mut fields)?,
            tools,
            logprobs: take_logprobs(&mut fields)?,
            settings: take_settings(&mut fields)?,
            reasoning_effort: fields.take("reasoning_effort")?,
        };
        fields.refuse_rest()?;
        if request.tools.is_offered() && request.output != OutputForm::Text {
            return Err("response_format: cannot be had together with tools; ask for one".into());
        }
        Ok(request)
    }
}

fn take_include_usage(fields: &mut Fields) -> Result<bool, String> {
    let options: Map<String, Value> = fields.take("stream_options")?.unwrap_or_default();
    // Padding that hides how long pieces are is not needed on a private socket.
    refuse_unknown(&options, &["include_usage", "include_obfuscation"], "stream_options")?;
    match options.get("include_usage") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(wanted)) => Ok(*wanted),
        Some(_) => Err("stream_options.include_usage: must be true or false".into()),
    }
}

/// Takes the template's settings; none may stand in for what the template is given anyway.
fn take_settings(fields: &mut Fields) -> Result<Map<String, Value>, String> {
    let settings: Map<String, Value> = fields.take("chat_template_kwargs")?.unwrap_or_default();
    match settings.keys().find(|name| RESERVED.contains(&name.as_str())) {
        Some(name) => Err(format!("chat_template_kwargs.{name}: is no setting of a template")),
        None => Ok(settings),
    }
}

fn take_sampling(fields: &mut Fields) -> Result<Sampling, String> {
    let seed: Option<i64> = fields.take("seed")?;
    let top_k: Option<i32> = fields.take("top_k")?;
    if let Some(wrong) = top_k.filter(|value| !(0..=TOP_K_MAX).contains(value)) {
        return Err(format!("top_k: must be from 0 to {TOP_K_MAX}, not {wrong}"));
    }
    Ok(Sampling {
        temperature: fields.take_number("temperature", 0.0, 2.0)?,
        top_p: fields.take_number("top_p", 0.0, 1.0)?,
        top_k,
        min_p: fields.take_number("min_p", 0.0, 1.0)?,
        // Any number is a seed; minus one means chance, as llama-server has it.
        seed: seed.filter(|seed| *seed != -1).map(|seed| seed as u32),
        frequency_penalty: fields.take_number("frequency_penalty", -2.0, 2.0)?.unwrap_or(0.0),
        presence_penalty: fields.take_number("presence_penalty", -2.0, 2.0)?.unwrap_or(0.0),
        repeat_penalty: fields.take_number("repeat_penalty", 0.0, 2.0)?,
        logit_bias: take_logit_bias(fields)?,
    })
}

fn take_logit_bias(fields: &mut Fields) -> Result<Vec<(i32, f32)>, String> {
    let biases: Map<String, Value> = fields.take("logit_bias")?.unwrap_or_default();
    let read = |(token, bias): (String, Value)| {
        let number = token.parse().ok().filter(|token| *token >= 0);
        let number = number.ok_or(format!("logit_bias: {token:?} is not the number of a token"))?;
        let limits = -LOGIT_BIAS_MAX..=LOGIT_BIAS_MAX;
        let bias = bias.as_f64().map(|bias| bias as f32).filter(|bias| limits.contains(bias));
        let bias = bias.ok_or(format!("logit_bias: {token} must be from -100 to 100"))?;
        Ok((number, bias))
    };
    biases.into_iter().map(read).collect()
}

fn take_stops(fields: &mut Fields) -> Result<Vec<String>, String> {
    let stops = match fields.take("stop")? {
        None => vec![],
        Some(Value::String(stop)) => vec![stop],
        Some(stops) => serde_json::from_value(stops).map_err(|error| format!("stop: {error}"))?,
    };
    let fits = |stop: &String| (1..=STOP_BYTES_MAX).contains(&stop.len());
    match stops.len() <= STOPS_MAX && stops.iter().all(fits) {
        true => Ok(stops),
        false => Err(format!("stop: at most {STOPS_MAX}, of 1 to {STOP_BYTES_MAX} bytes each")),
    }
}

fn take_output(fields: &mut Fields) -> Result<OutputForm, String> {
    let format: Option<Map<String, Value>> = fields.take("response_format")?;
    let grammar: Option<String> = fields.take("grammar")?;
    let bare: Option<Value> = fields.take("json_schema")?;
    let wanted = match format {
        None => None,
        Some(format) => read_format(&format)?,
    };
    let bare =
        bare.map(|it| schema::rewrite(&it, "json_schema", Strictness::Refuse)).transpose()?;
    if let Some(grammar) = &grammar {
        grammar::check(grammar).map_err(|why| format!("grammar: {why}"))?;
    }
    match (wanted, bare, grammar) {
        (None, None, None) => Ok(OutputForm::Text),
        (Some(schema), None, None) | (None, Some(schema), None) => Ok(OutputForm::Json(schema)),
        (None, None, Some(grammar)) => Ok(OutputForm::Grammar(grammar)),
        _ => Err("grammar: only one of response_format, json_schema and grammar".into()),
    }
}

/// Returns the schema of a response format, as llama.cpp keeps it; none: plain text.
fn read_format(format: &Map<String, Value>) -> Result<Option<Value>, String> {
    let known: &[&str] = match format.get("type").and_then(Value::as_str) {
        Some("text") => &["type"],
        Some("json_object") => &["type", "schema"],
        Some("json_schema") => &["type", "json_schema"],
        Some(other) => {
            return Err(format!(
                "response_format.type: {other:?} is none of text, json_object, json_schema"
            ));
        }
        None => return Err("response_format.type: is missing".into()),
    };
    refuse_unknown(format, known, "response_format")?;
    match known.get(1) {
        None => Ok(None),
        Some(&"schema") => {
            let any_object = serde_json::json!({ "type": "object" });
            let schema = format.get("schema").filter(|it| !it.is_null()).unwrap_or(&any_object);
            schema::rewrite(schema, "response_format.schema", Strictness::Refuse).map(Some)
        }
        Some(_) => read_named_schema(format.get("json_schema").unwrap_or(&Value::Null)).map(Some),
    }
}

/// Reads OpenAI's `json_schema`. Without `strict` it promises to do its best, so that may be said.
fn read_named_schema(named: &Value) -> Result<Value, String> {
    let place = "response_format.json_schema";
    let named = named.as_object().ok_or(format!("{place}: must be an object"))?;
    refuse_unknown(named, &["name", "description", "schema", "strict"], place)?;
    let strictness = match named.get("strict") {
        Some(Value::Bool(false)) => Strictness::PassOver,
        _ => Strictness::Refuse,
    };
    let place = format!("{place}.schema");
    let schema = named.get("schema").ok_or(format!("{place}: is missing"))?;
    schema::rewrite(schema, &place, strictness)
}

/// Refuses fields that are not understood, unless they are null.
fn refuse_unknown(fields: &Map<String, Value>, known: &[&str], place: &str) -> Result<(), String> {
    let mut given = fields.iter().filter(|(_, value)| !value.is_null());
    match given.find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => Err(format!("{place}.{name}: this runner cannot do that; leave it out")),
        None => Ok(()),
    }
}

fn take_logprobs(fields: &mut Fields) -> Result<Option<usize>, String> {
    let wanted: Option<bool> = fields.take("logprobs")?;
    let top: Option<u32> = fields.take("top_logprobs")?;
    match (wanted.unwrap_or(false), top) {
        (_, Some(top)) if top > TOP_LOGPROBS_MAX => {
            Err(format!("top_logprobs: must be from 0 to {TOP_LOGPROBS_MAX}, not {top}"))
        }
        (false, Some(1..)) => Err("top_logprobs: needs logprobs to be true".into()),
        (false, _) => Ok(None),
        (true, top) => Ok(Some(top.unwrap_or(0) as usize)),
    }
}

impl EmbeddingRequest {
    /// Reads a body and refuses what this runner cannot do.
    pub fn read(body: &[u8]) -> Result<EmbeddingRequest, Refusal> {
        Fields::read(body)
            .and_then(|fields| EmbeddingRequest::take(fields).map_err(Refusal::invalid))
    }

    fn take(mut fields: Fields) -> Result<EmbeddingRequest, String> {
        let inputs = match fields.take("input")? {
            None => return Err("input: is missing".into()),
            Some(Value::String(text)) => vec![text],
            Some(texts) => serde_json::from_value::<Vec<String>>(texts)
                .map_err(|_| "input: must be a text or a list of texts")?,
        };
        if inputs.is_empty() || inputs.len() > INPUTS_MAX {
            return Err(format!("input: 1 to {INPUTS_MAX} texts, not {}", inputs.len()));
        }
        let base64 = match fields.take::<String>("encoding_format")?.as_deref() {
            None | Some("float") => false,
            Some("base64") => true,
            Some(other) => {
                return Err(format!("encoding_format: {other:?} is not float or base64"));
            }
        };
        fields.refuse_rest()?;
        Ok(EmbeddingRequest { inputs, base64 })
    }
}
