//! What an error of a provider means. One table for all dialects: every server that copies a wire
//! copies some of its errors and makes up the rest.

mod lengths;

use super::{Refusal, wait};
use althing_stdx::redact::redact;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// Characters of a message shown to a person; the rest is cut.
const MESSAGE_CHARS_MAX: usize = 299;

/// The fault behind an answer with an error status.
pub(super) fn refuse(refusal: &Refusal<'_>) -> Fault {
    let said = Said::read(&String::from_utf8_lossy(refusal.body));
    let kind = said.kind(Some(refusal.status));
    let wait = wait::from_headers(refusal.header).or(said.wait);
    said.fault(kind, Some(refusal.status)).status(refusal.status).retry_after(wait)
}

/// The fault behind an error object in the middle of an answer.
pub(crate) fn in_stream(error: &RawValue) -> Fault {
    let said = Said::read(error.get());
    let kind = said.kind(None);
    said.fault(kind, None).retry_after(said.wait)
}

/// Words that tell more than the status, most telling first. Compared in lower case with the
/// error's codes, types and message.
const TELLING: &[(Kind, &[&str])] = &[
    (
        Kind::NoCredit,
        &[
            "insufficient_quota",
            "insufficient balance",
            "insufficient credits",
            "credit balance is too low",
            "used all available credits",
            "billing_hard_limit",
            "billing_not_active",
            "billing_disabled",
            "requires billing",
            "enable billing",
            "exceeded_current_quota",
            "arrearage",
            // A quota of Gemini that comes back only tomorrow.
            "perday",
        ],
    ),
    (
        Kind::UnknownModel,
        &[
            "model_not_found",
            "model_decommissioned",
            "not a valid model id",
            "invalid_model",
            "invalid model",
            "model not exist",
            "model not found",
        ],
    ),
    (
        Kind::ContextTooLong,
        &[
            "context_length_exceeded",
            "context window exceeded",
            "contextwindowexceeded",
            "exceed_context_size",
            "exceeds the available context size",
            "prompt is too long",
            "maximum context length",
            "maximum prompt length",
            "exceed context limit",
            "exceeds the context length",
            "exceeds maximum context length",
            "exceeded max context length",
            "greater than the context length",
            "exceeds the maximum number of tokens",
            "exceeds the context window",
            "exceed context window",
            "context window exceeds limit",
            "range of input length",
            "request_too_large",
            "tokens_limit_reached",
            // OpenAI and who copies it.
            "exceed the configured limit",
            "tokens in request more than max tokens allowed",
            // vLLM.
            "maximum model length",
            "context length is only",
            "too long to fit into the model",
            // SGLang, Together, Novita, Poolside.
            "is longer than the model's context length",
            "tokens) exceeds the maximum allowed length",
            "maximum allowed input length",
            // LM Studio, in its own words.
            "when context the overflows",
            "tokens when the context overflows",
            "cannot truncate prompt with n_keep",
            "but the configured context size is",
            // Text Generation Inference, also behind Together; TensorRT, DeepInfra.
            "`inputs` must have less than",
            "`max_new_tokens` must be <=",
            "max_new_tokens must be <=",
            "maximum input length",
            // Groq, Cerebras.
            "reduce the length of the messages",
            // Cloudflare.
            "exceeded this model context window limit",
            // Cohere, which says "too many tokens" of answers that are too long as well.
            "size limit exceeded by",
            "too many tokens: total number of tokens",
            // Mistral, xAI, Copilot, Moonshot, Vertex, Bedrock.
            "too large for model with",
            "model_max_prompt_tokens_exceeded",
            "exceeded model token limit",
            "but model only supports up to",
            "input is too long for requested model",
            "number of input tokens exceeds maximum length",
            // Z.ai, Ollama.
            "prompt exceeds max length",
            "prompt too long",
            "prompt 超长",
        ],
    ),
    (
        Kind::BadKey,
        &[
            "api_key_invalid",
            "invalid_api_key",
            "invalid api key",
            "incorrect api key",
            "api key not valid",
            "api key expired",
            "api key not found",
        ],
    ),
    (
        Kind::Refused,
        &["content_policy_violation", "content_filter", "data_inspection_failed", "flagged"],
    ),
    // More memory will not come by trying again; nor will another country.
    (Kind::Upstream, &["requires more system memory", "unsupported_country"]),
    (Kind::Overloaded, &["overloaded"]),
];

/// Names of errors that matter only where there is no status, in the middle of a stream.
const NAMES: &[(Kind, &[&str])] = &[
    (Kind::BadKey, &["authentication_error", "permission_error"]),
    (Kind::UnknownModel, &["not_found_error"]),
    (Kind::RateLimited, &["rate_limit", "rate limit", "resource_exhausted"]),
    (
        Kind::Overloaded,
        &["api_error", "server_error", "internal server error", "unavailable", "timeout_error"],
    ),
];

/// What an error says of itself.
#[derive(Default)]
struct Said {
    is_json: bool,
    /// The status inside the body, where it names one.
    code: Option<u16>,
    /// Codes, types and message, in lower case.
    words: String,
    /// The provider's own sentence; empty where it sent nothing that can be shown.
    message: String,
    wait: Option<Duration>,
    /// Tokens of the window and of the prompt, where the error has fields for them.
    context_tokens: Option<u64>,
    prompt_tokens: Option<u64>,
}

impl Said {
    fn read(body: &str) -> Said {
        let body = body.trim();
        let mut said = match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(list)) => Said::of(list.first().unwrap_or(&Value::Null)),
            Ok(json) => Said::of(&json),
            // JSON that is none, and web pages, tell a person nothing.
            Err(_) if body.starts_with(['{', '[', '<']) => Said::default(),
            Err(_) => Said { message: body.into(), ..Said::default() },
        };
        said.words.push_str(&said.message.to_lowercase());
        said.wait = said.wait.or_else(|| wait::from_prose(&said.message));
        said
    }

    /// The shapes in the wild: `{"error": {…}}`, `{"error": "…"}`, `{"errors": [{…}]}`,
    /// `{"message": …}`, `{"detail": …}`, and the inner object or the bare string of each.
    fn of(json: &Value) -> Said {
        let error = json.get("error").filter(|error| !error.is_null());
        let error = error.or_else(|| json.pointer("/errors/0")).unwrap_or(json);
        let raw = error.pointer("/metadata/raw").and_then(Value::as_str);
        let message = message(error).or_else(|| message(json)).unwrap_or_default();
        let code = error.get("code").and_then(Value::as_u64);
        let mut said = Said {
            code: code.and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400),
            is_json: true,
            // llama-server's own fields.
            context_tokens: error.get("n_ctx").and_then(lengths::read_length),
            prompt_tokens: error.get("n_prompt_tokens").and_then(lengths::read_length),
            message: raw.map_or(message.into(), |raw| format!("{message}: {raw}")),
            ..Said::default()
        };
        for name in ["code", "type", "status"] {
            said.word(error.get(name));
        }
        error.get("details").and_then(Value::as_array).into_iter().flatten().for_each(|detail| {
            said.detail(detail);
        });
        said
    }

    /// Google's typed details: `ErrorInfo`, `QuotaFailure`, `RetryInfo`.
    fn detail(&mut self, detail: &Value) {
        self.word(detail.get("reason"));
        let violations = detail.get("violations").and_then(Value::as_array);
        for violation in violations.into_iter().flatten() {
            self.word(violation.get("quotaId"));
        }
        let delay = detail.get("retryDelay").and_then(Value::as_str);
        self.wait = delay.and_then(wait::duration).or(self.wait);
    }

    fn word(&mut self, word: Option<&Value>) {
        if let Some(word) = word.and_then(Value::as_str) {
            self.words.push_str(&word.to_lowercase());
            self.words.push(' ');
        }
    }

    fn kind(&self, status: Option<u16>) -> Kind {
        let status = status.or(self.code);
        let among = |table: &[(Kind, &[&str])]| {
            let row = |(_, words): &&(Kind, &[&str])| words.iter().any(|w| self.words.contains(w));
            table.iter().find(row).map(|(kind, _)| *kind)
        };
        // A 404 in no API's words is about the path, not about the model.
        let lost = status == Some(404) && (!self.is_json || self.words == "not found");
        let kind = among(TELLING).or_else(|| Kind::of_status(status?).filter(|_| !lost));
        kind.or_else(|| among(NAMES).filter(|_| status.is_none())).unwrap_or(Kind::Upstream)
    }

    /// Our sentence first, theirs after it.
    fn fault(&self, kind: Kind, status: Option<u16>) -> Fault {
        let ours = match kind {
            Kind::BadKey => "the provider refused the key",
            Kind::NoCredit => "the account has no credit or quota left",
            Kind::UnknownModel => "the provider does not know this model",
            Kind::RateLimited => "too many requests",
            Kind::ContextTooLong => "the prompt is too long for this model",
            Kind::Overloaded => "the provider is overloaded or down",
            Kind::Refused => "the provider declined to answer",
            Kind::TimedOut => "the provider ran out of time",
            _ if status == Some(404) => "the address may be wrong",
            _ => "the provider answered with an error",
        };
        let theirs = &self.message;
        let text = match status {
            _ if !theirs.is_empty() => format!("{ours}: {theirs}"),
            Some(status) => format!("{ours} (HTTP {status})"),
            None => ours.into(),
        };
        // Redacted before it is cut: half a key would not be known for one.
        let fault = Fault::new(kind, one_line(&redact(&text), MESSAGE_CHARS_MAX));
        if kind != Kind::ContextTooLong {
            return fault;
        }
        let limit = self.context_tokens.or_else(|| lengths::read_limit(&self.words));
        let prompt = self.prompt_tokens.or_else(|| lengths::read_prompt(&self.words));
        fault.context_tokens(limit).prompt_tokens(prompt)
    }
}

fn message(error: &Value) -> Option<&str> {
    let names = ["message", "detail", "msg", "error"];
    let found = names.iter().find_map(|name| match error.get(name)? {
        Value::String(text) => Some(text.as_str()),
        // FastAPI: a list of what is wrong with each field.
        Value::Array(list) => list.first()?.get("msg")?.as_str(),
        _ => None,
    });
    error.as_str().or(found)
}
