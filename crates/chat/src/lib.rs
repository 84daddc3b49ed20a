//! The words between Althing and anything that speaks: an HTTP model, a CLI agent, a worker or a
//! scripted voice. Messages and tools in, deltas out. No I/O.

mod attachment;
mod sampling;

pub use attachment::{Attachment, AttachmentKind, AttachmentSource};
pub use sampling::Sampling;

use althing_stdx::{Fault, Kind, Result};
use futures_util::stream::{BoxStream, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A voice. Every method, the council and every face speak through this one trait.
pub trait Model: Send + Sync {
    /// `provider:model`, unique among the models of this machine.
    fn id(&self) -> &str;

    /// Says something. The stream ends after `Delta::Stop` or the first error; dropping it cancels
    /// the call.
    fn speak(&self, ask: Ask) -> Speaking;

    /// Functions that the model is offered beside those of a request; they take room in its window.
    fn tools(&self) -> &[Tool] {
        &[]
    }

    /// Whether other things stand around its answers, such as the progress lines of a program: that
    /// these repeat themselves says nothing about the answer.
    fn is_noisy(&self) -> bool {
        false
    }
}

/// What a model says, as it says it.
pub type Speaking = BoxStream<'static, Result<Delta>>;

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// What else tunes the answer.
    #[serde(default, skip_serializing_if = "Sampling::is_default")]
    pub sampling: Sampling,
    /// How hard to think, as the provider names it (`low`, `medium`, `high`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Which tool has to be called; none: the model decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether several tools may be called at once; none: as the model is used to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Texts that end the answer where the model comes to one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// What the answer has to be; none: text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Whether the provider is asked to stream. The answer is a stream of deltas either way.
    pub stream: bool,
    /// Calls that were made for this answer before it broke off; whoever makes calls does not make
    /// these again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Called>,
    /// The conversation this request belongs to, for servers that keep what they read of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Tokens of the window that the request was fitted to, for servers that size the window per
    /// request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
}

/// Requests of one conversation begin alike, so a server that sees its name can find its cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The same for all requests of one run.
    pub run: String,
    /// The seat that speaks, from 0.
    pub seat: u32,
}

/// A tool call that the answer must have, or that it must not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// None may be called, though the conversation may have calls of them.
    None,
    Any,
    /// Of the tool with this name.
    Named(String),
}

/// JSON as an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Any object.
    Json,
    /// What a JSON Schema allows; the name tells the model what it is. `strict`: nothing else can
    /// come, at the price of a simpler schema.
    Schema { name: String, schema: Value, strict: bool },
}

impl Ask {
    /// A system prompt and a user message, streamed.
    pub fn new(system: impl Into<String>, user: impl Into<String>) -> Ask {
        let system = system.into();
        let mut messages = vec![Message::user(user)];
        if !system.is_empty() {
            messages.insert(0, Message::system(system));
        }
        Ask {
            messages,
            tools: vec![],
            max_tokens: None,
            temperature: None,
            sampling: Sampling::default(),
            effort: None,
            tool_choice: None,
            parallel_tool_calls: None,
            stop: vec![],
            format: None,
            stream: true,
            made: vec![],
            conversation: None,
            context_tokens: None,
        }
    }

    /// All system text, in order, as one.
    pub fn system(&self) -> String {
        let texts =
            self.messages.iter().filter(|m| m.role == Role::System).map(|m| m.text.as_str());
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Characters of all messages: the basis of an estimate where nobody counts tokens. Pictures
    /// and documents count as the text that takes as many.
    pub fn chars(&self) -> usize {
        let text: usize = self.messages.iter().map(|m| m.text.chars().count()).sum();
        text + self.attachments().map(Attachment::as_chars).sum::<usize>()
    }

    /// Names of the settings that are set and that a voice may not heed.
    pub fn tuned(&self) -> Vec<&'static str> {
        let Sampling { top_p, top_k, seed, frequency_penalty, presence_penalty } = &self.sampling;
        let all = [
            ("max_tokens", self.max_tokens.is_some()),
            ("temperature", self.temperature.is_some()),
            ("top_p", top_p.is_some()),
            ("top_k", top_k.is_some()),
            ("seed", seed.is_some()),
            ("frequency_penalty", frequency_penalty.is_some()),
            ("presence_penalty", presence_penalty.is_some()),
            ("effort", self.effort.is_some()),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }

    /// What a voice says that heeds only the words: which settings it leaves out.
    pub fn ignored_by_text(&self) -> Option<Delta> {
        let names = self.tuned();
        let names = names.into_iter().map(str::to_string).collect::<Vec<_>>();
        (!names.is_empty()).then_some(Delta::Ignored(names))
    }

    /// Pictures and documents of all messages.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.messages.iter().flat_map(|message| &message.attachments)
    }

    /// Fails where there is a picture or a document: `who` reads only text.
    pub fn check_text_only(&self, who: &str) -> Result<()> {
        match self.attachments().next() {
            None => Ok(()),
            Some(it) => Err(Fault::invalid(format!(
                "{}: {who} reads only text here; leave it out, or ask a model that sees pictures",
                it.name
            ))),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub text: String,
    /// Pictures and documents, in the order of their places in the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// What an assistant asked to be called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Which call a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Byte offsets in `text` where a part ends that later requests of the conversation repeat: the
    /// question, then each speech. In ascending order, on character boundaries, and never moved by
    /// what a later request adds. A provider that caches block by block gets a block for each part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_ends: Vec<usize>,
}

impl Message {
    fn new(role: Role, text: impl Into<String>) -> Message {
        Message {
            role,
            text: text.into(),
            attachments: vec![],
            tool_calls: vec![],
            tool_call_id: None,
            cache_ends: vec![],
        }
    }
    pub fn system(text: impl Into<String>) -> Message {
        Message::new(Role::System, text)
    }
    pub fn user(text: impl Into<String>) -> Message {
        Message::new(Role::User, text)
    }
    pub fn assistant(text: impl Into<String>) -> Message {
        Message::new(Role::Assistant, text)
    }
    /// An assistant message that asks for tools.
    pub fn calls(text: impl Into<String>, tool_calls: Vec<ToolCall>) -> Message {
        Message { tool_calls, ..Message::new(Role::Assistant, text) }
    }
    /// The result of the call `id`.
    pub fn tool(id: impl Into<String>, text: impl Into<String>) -> Message {
        Message { tool_call_id: Some(id.into()), ..Message::new(Role::Tool, text) }
    }
}

/// A function a model may ask for. `parameters` is a JSON Schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON text, as the model wrote it; `{}` where it wrote nothing.
    pub arguments: String,
    /// What the provider wants to see again beside the call, as it came: the signature of the
    /// thought that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A call that was made for a model, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    pub call: ToolCall,
    /// What the model was told.
    pub result: String,
    /// The result is why there is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    pub took_ms: u64,
    /// It was made before the run stopped, and not again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// The call waits in line for a server that runs one model at a time.
    Queued,
    /// The wait is over and the request goes out.
    Started,
    /// The attempt failed before the first token and will be made again.
    Retrying(Retry),
    /// Settings of the request that the model's provider has no words for, by their names in
    /// [`Ask`]. No part of the answer.
    Ignored(Vec<String>),
    /// Thinking aloud. Never part of the answer.
    Reasoning(String),
    Text(String),
    /// A whole call: streamed fragments are joined before this.
    ToolCall(ToolCall),
    /// A call is being made for the model, which goes on when it has the result. No part of the
    /// answer.
    Calling(ToolCall),
    /// It was made.
    Called(Called),
    /// Tokens so far. Later reports replace earlier ones.
    Usage(Usage),
    /// The end, and why.
    Stop(Stop),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    pub wait_ms: u64,
    pub kind: Kind,
    pub message: String,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had said everything.
    End,
    /// The token limit.
    Length,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// The model or the provider's filter declined.
    Refused,
    /// Something else, in the provider's word.
    Other(String),
}

/// Tokens, where the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the prompt, cached ones included.
    pub input: Option<u64>,
    /// All tokens of the answer, reasoning included.
    pub output: Option<u64>,
    /// Of `input`: read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Of `input`: written to the provider's cache, where that has a price of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_written: Option<u64>,
    /// Of `output`: spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// What it cost by the account of whoever counted, in billionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nano_usd: Option<u64>,
}

impl Usage {
    /// Characters of a token, roughly, in the languages of the West.
    pub(crate) const CHARS_PER_TOKEN: usize = 4;
    /// Tokens an answer is expected to have before it is known, thinking included.
    pub const ANSWER_EXPECTED: u64 = 800;
    /// Billionths in a dollar.
    pub const NANO_PER_USD: f64 = 1e9;

    /// What it cost by the account of whoever counted.
    pub fn cost_usd(&self) -> Option<f64> {
        self.cost_nano_usd.map(|nano| nano as f64 / Usage::NANO_PER_USD)
    }

    /// What a call uses where nobody counts: a prompt of so many characters, and an answer of so
    /// many, or one that is not there yet.
    pub fn guess(prompt_chars: usize, answer_chars: Option<usize>) -> Usage {
        let tokens = |chars: usize| chars.div_ceil(Usage::CHARS_PER_TOKEN) as u64;
        let output = answer_chars.map_or(Usage::ANSWER_EXPECTED, tokens);
        Usage { input: Some(tokens(prompt_chars)), output: Some(output), ..Usage::default() }
    }

    /// Later reports replace earlier ones, number by number.
    pub fn update(&mut self, later: Usage) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cached = later.cached.or(self.cached);
        self.cache_written = later.cache_written.or(self.cache_written);
        self.reasoning = later.reasoning.or(self.reasoning);
        self.cost_nano_usd = later.cost_nano_usd.or(self.cost_nano_usd);
        // A part is never more than its whole, whatever a server reports.
        self.cached = self.cached.map(|it| it.min(self.input.unwrap_or(it)));
        self.reasoning = self.reasoning.map(|it| it.min(self.output.unwrap_or(it)));
    }

    /// What two calls used together, as far as it is known.
    pub fn plus(self, other: Usage) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (one, other) => one.or(other),
        };
        Usage {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached: sum(self.cached, other.cached),
            cache_written: sum(self.cache_written, other.cache_written),
            reasoning: sum(self.reasoning, other.reasoning),
            cost_nano_usd: sum(self.cost_nano_usd, other.cost_nano_usd),
        }
    }
}

/// How many tokens a model can read and write in one call, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub tokens: u64,
    pub source: WindowSource,
}

impl Window {
    /// What a model is taken to have where nobody knows better.
    pub const UNKNOWN: Window = Window { tokens: 8_192, source: WindowSource::Default };
}

/// Where the size of a window comes from, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The person set it.
    Configured,
    /// The provider or the model's file says so.
    Provider,
    /// The dated table of well-known models.
    Table,
    /// Nobody knows: a stated default.
    Default,
}

/// A whole answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub text: String,
    pub reasoning: String,
    pub tool_calls: Vec<ToolCall>,
    pub usage: Option<Usage>,
    pub stop: Option<Stop>,
}

impl Answer {
    /// Takes in one delta.
    pub fn add(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(&text),
            Delta::Reasoning(text) => self.reasoning.push_str(&text),
            Delta::ToolCall(call) => self.tool_calls.push(call),
            Delta::Usage(usage) => self.usage.get_or_insert_default().update(usage),
            Delta::Stop(stop) => self.stop = Some(stop),
            Delta::Queued | Delta::Started | Delta::Retrying(_) | Delta::Ignored(_) => {}
            Delta::Calling(_) | Delta::Called(_) => {}
        }
    }

    /// Listens to the end. A stream that ends without `Stop` was cut.
    pub async fn collect(mut speaking: Speaking) -> Result<Answer> {
        let mut answer = Answer::default();
        while let Some(delta) = speaking.next().await {
            answer.add(delta?);
        }
        match answer.stop {
            Some(_) => Ok(answer),
            None => Err(Fault::new(Kind::Network, "the answer broke off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_never_more_than_its_whole() {
        let mut usage = Usage::default();
        let (input, output) = (Some(100), Some(20));
        usage.update(Usage { input, output, cached: Some(9_000), ..Usage::default() });
        usage.update(Usage { reasoning: Some(9_000), ..Usage::default() });
        assert_eq!((usage.cached, usage.reasoning), (input, output));
    }
}
