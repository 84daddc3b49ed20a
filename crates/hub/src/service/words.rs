//! The words of the capability service: what its functions take and give, whatever face asks.
//! Field names are those of the protocol; faces rename nothing.

use althing_chat::{Message, Tool, ToolCall, Usage};
use althing_stdx::redact::Secret;
use std::time::Duration;

/// How a provider came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    ApiKey = 1,
    OAuth = 2,
    Local = 3,
}

impl ProviderKind {
    /// Every kind, with the name it has on the wire.
    pub const ALL: [(ProviderKind, &str); 3] = [
        (ProviderKind::ApiKey, "PROVIDER_TYPE_API_KEY"),
        (ProviderKind::OAuth, "PROVIDER_TYPE_OAUTH"),
        (ProviderKind::Local, "PROVIDER_TYPE_LOCAL"),
    ];
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The connection it is on, as `ListConnections` names it.
    pub connection: String,
    /// As people call it: the process behind a bus name, a User-Agent.
    pub name: String,
}

#[derive(Debug, Clone)]
pub struct AddApiKey {
    pub name: String,
    /// A row of the gateway's table: `openai`, `anthropic`, `ollama`, `vllm`, …
    pub provider_type: String,
    pub api_key: Option<Secret>,
    pub base_url: Option<String>,
}

#[derive(Debug, Clone)]
pub struct AddOAuth {
    pub name: String,
    /// `copilot` or `dashscope`.
    pub provider_type: String,
}

#[derive(Debug, Clone)]
pub struct AddLocal {
    pub name: String,
    pub model_path: String,
}

/// A provider that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    pub provider_id: String,
    /// What the person should know: `not checked: …`.
    pub note: Option<String>,
}

/// What a person has to do to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    pub device_code: Secret,
    pub user_code: String,
    pub verification_uri: String,
    pub verification_uri_complete: Option<String>,
    pub expires_in: i32,
    pub interval: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub access_token: Secret,
    pub refresh_token: Option<Secret>,
    pub expiry_date_ms: i64,
    pub resource_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    pub provider_id: String,
    pub name: String,
    pub kind: ProviderKind,
    /// The row of the gateway's table it is like.
    pub provider_type: String,
    pub base_url: Option<String>,
    pub local_path: Option<String>,
    pub enabled: bool,
    /// Where it comes from, for a person to read: `added`, or the variable or file that set it.
    pub source: String,
    /// `…abcd`, where there is a key.
    pub key_hint: Option<String>,
    /// Anything wrong or worth knowing: not checked yet, hidden by the environment.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    pub model_id: String,
    pub provider_id: String,
    pub display: String,
    pub enabled: bool,
    pub capability_chat: Option<bool>,
    pub capability_streaming: Option<bool>,
}

/// `provider_id` may be [`ALIAS`]: then `model_id` is another alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTarget {
    pub provider_id: String,
    pub model_id: String,
}

/// The provider of targets that are aliases themselves.
pub const ALIAS: &str = "alias";

/// A target as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetState {
    pub target: RouteTarget,
    /// Why it is skipped; none: it can be asked.
    pub dead: Option<String>,
    /// Why it is left alone for a while.
    pub rest: Option<TargetRest>,
}

/// A pause of a target, or of all targets of an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRest {
    /// What the target did: the name of a kind.
    pub why: String,
    /// How long it is still left alone.
    pub wait: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CompleteRequest {
    pub model_id: String,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    pub max_tokens: Option<u32>,
    pub temperature: Option<f32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The assistant's message, its tool calls included.
    pub message: Message,
    pub reasoning: String,
    pub usage: Option<Usage>,
    /// `provider:model` that answered.
    pub answered_by: String,
}

/// What `ReceiveStream` gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Received {
    /// What the model thinks before it answers, where it tells; never together with text.
    pub reasoning: String,
    /// At most `max_chunks` pieces of text; none after a time-out.
    pub chunks: Vec<String>,
    pub tool_call: Option<ToolCall>,
    pub done: bool,
    pub usage: Option<Usage>,
    /// With `done`: `provider:model` that answered.
    pub answered_by: Option<String>,
}

/// What happened between two instants.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Snapshot {
    pub window_start_ms: i64,
    pub window_end_ms: i64,
    pub requests_total: i64,
    pub requests_failed: i64,
    pub prompt_tokens_total: i64,
    pub completion_tokens_total: i64,
    /// None where not a single request has a known price.
    pub cost_total: Option<f64>,
    /// Requests whose price nobody knows; their cost is not in `cost_total`.
    pub requests_unpriced: i64,
    /// Of `prompt_tokens_total`: read from the providers' caches.
    pub cached_tokens_total: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionInfo {
    pub connection_id: String,
    pub client_name: String,
    pub requests_count: i64,
    /// `dbus`, `http` or `mcp`.
    pub face: &'static str,
}

/// What changed; the faces announce it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    ProviderAdded(String),
    ProviderRemoved(String),
    /// A login ended, a check came back.
    ProviderChanged(String),
    /// The models of this provider.
    ModelsChanged(String),
    /// The rules of this alias.
    RouteChanged(String),
    ConnectionOpened(String),
    ConnectionClosed(String),
}
