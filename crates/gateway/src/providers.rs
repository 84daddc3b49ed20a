//! The providers, one row each, and what a model's name tells. A provider that speaks a known
//! dialect is one more row here and nothing else.

use crate::cache_hint::CacheHint;
use crate::dialect::Dialect;
use crate::dialect::anthropic::ANTHROPIC;
use crate::dialect::gemini::GEMINI;
use crate::dialect::ollama::OLLAMA;
use crate::dialect::openai::OPENAI;
use crate::login::copilot::COPILOT;
use crate::window::Inspect;
use std::fmt;

/// One provider.
pub struct Provider {
    /// As written before the colon of a model's id.
    pub name: &'static str,
    /// As shown to people.
    pub title: &'static str,
    pub dialect: &'static Dialect,
    /// Empty where only the person knows the address.
    pub base_url: &'static str,
    /// Environment variables that may hold the key; the first one found wins.
    pub key_env: &'static [&'static str],
    /// `<prefix>_BASE_URL`, `<prefix>_MODELS`.
    pub env_prefix: &'static str,
    pub needs_key: bool,
    /// Whether it usually runs on the person's own machine and costs nothing.
    pub local: bool,
    /// Calls at once, unless the person says otherwise: 1 where one model is loaded at a time.
    pub parallel: usize,
    /// Chat models to take without being asked, best first.
    pub preferred: &'static [&'static str],
    /// How its servers tell how many tokens a model takes.
    pub inspect: Inspect,
    /// What its servers are told so that they find what they have read before.
    pub cache_hint: CacheHint,
}

impl Provider {
    /// What a person does so that it can be used.
    pub fn how_to_open(&self) -> String {
        match self.key_env {
            [] => format!("log in with `althing providers add-oauth {}`", self.name),
            variables => format!("set {}", variables.join(" or ")),
        }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The date of every `preferred` list. An older name stays in the list behind the newer ones, for
/// accounts that do not have these.
pub const PREFERRED_AS_OF: &str = "2026-11-15";

/// Calls at once to a server that takes many.
const PARALLEL: usize = 8;

const CLOUD: Provider = Provider {
    name: "",
    title: "",
    dialect: &OPENAI,
    base_url: "",
    key_env: &[],
    env_prefix: "",
    needs_key: true,
    local: false,
    parallel: PARALLEL,
    preferred: &[],
    inspect: Inspect::List,
    cache_hint: CacheHint::Nothing,
};
const LOCAL: Provider = Provider { needs_key: false, local: true, parallel: 1, ..CLOUD };

/// Every provider, in the order in which they are offered.
pub static PROVIDERS: &[Provider] = &[
    Provider {
        name: "openai",
        title: "OpenAI",
        base_url: "https://api.openai.com/v1",
        key_env: &["OPENAI_API_KEY"],
        env_prefix: "OPENAI",
        preferred: &[
            "gpt-6.1-sol",
            "gpt-6-sol",
            "gpt-5.4",
            "gpt-5.2",
            "gpt-5.1",
            "gpt-5",
            "gpt-4.1",
        ],
        inspect: Inspect::Nothing,
        cache_hint: CacheHint::Key,
        ..CLOUD
    },
    Provider {
        name: "anthropic",
        title: "Anthropic",
        dialect: &ANTHROPIC,
        base_url: "https://api.anthropic.com",
        key_env: &["ANTHROPIC_API_KEY"],
        env_prefix: "ANTHROPIC",
        preferred: &[
            "claude-opus-5-5",
            "claude-sonnet-5-5",
            "claude-sonnet-5",
            "claude-sonnet-4-6",
            "claude-sonnet-4-5",
        ],
        ..CLOUD
    },
    Provider {
        name: "google",
        title: "Google",
        dialect: &GEMINI,
        base_url: "https://generativelanguage.googleapis.com",
        key_env: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        env_prefix: "GOOGLE",
        preferred: &["gemini-4-argon", "gemini-3.8-flash", "gemini-2.5-pro", "gemini-2.5-flash"],
        ..CLOUD
    },
    Provider {
        name: "xai",
        title: "xAI",
        base_url: "https://api.x.ai/v1",
        key_env: &["XAI_API_KEY"],
        env_prefix: "XAI",
        preferred: &["grok-4.6", "grok-4.5", "grok-4.3", "grok-4"],
        inspect: Inspect::Nothing,
        ..CLOUD
    },
    Provider {
        name: "ollama",
        title: "Ollama",
        dialect: &OLLAMA,
        base_url: "http://localhost:11434",
        key_env: &["OLLAMA_API_KEY"],
        env_prefix: "OLLAMA",
        inspect: Inspect::Ollama,
        ..LOCAL
    },
    Provider {
        name: "openrouter",
        title: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        key_env: &["OPENROUTER_API_KEY"],
        env_prefix: "OPENROUTER",
        preferred: &["openai/gpt-5.1", "anthropic/claude-sonnet-4.5", "google/gemini-2.5-pro"],
        cache_hint: CacheHint::Breakpoints,
        ..CLOUD
    },
    Provider {
        name: "lmstudio",
        title: "LM Studio",
        base_url: "http://localhost:1234/v1",
        key_env: &["LMSTUDIO_API_KEY"],
        env_prefix: "LMSTUDIO",
        inspect: Inspect::LmStudio,
        ..LOCAL
    },
    Provider {
        name: "llamaswap",
        title: "llama-swap",
        base_url: "http://localhost:8080/v1",
        key_env: &["LLAMASWAP_API_KEY"],
        env_prefix: "LLAMASWAP",
        inspect: Inspect::LlamaSwap,
        cache_hint: CacheHint::Slot,
        ..LOCAL
    },
    Provider {
        name: "llamacpp",
        title: "llama.cpp server",
        base_url: "http://localhost:8080/v1",
        key_env: &["LLAMACPP_API_KEY"],
        env_prefix: "LLAMACPP",
        inspect: Inspect::LlamaServer,
        cache_hint: CacheHint::Slot,
        ..LOCAL
    },
    Provider {
        name: "vllm",
        title: "vLLM",
        base_url: "http://localhost:8000/v1",
        key_env: &["VLLM_API_KEY"],
        env_prefix: "VLLM",
        // It batches the calls of its one model.
        parallel: PARALLEL,
        ..LOCAL
    },
    Provider {
        name: "dashscope",
        title: "DashScope",
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_env: &["DASHSCOPE_API_KEY"],
        env_prefix: "DASHSCOPE",
        preferred: &["qwen3-max", "qwen-max", "qwen-plus"],
        inspect: Inspect::Nothing,
        ..CLOUD
    },
    Provider {
        name: "copilot",
        title: "GitHub Copilot",
        dialect: &COPILOT,
        base_url: "https://api.githubcopilot.com",
        // No key opens it, only a login.
        env_prefix: "COPILOT",
        preferred: &["gpt-5.1", "gpt-4.1"],
        ..CLOUD
    },
    Provider {
        name: "custom",
        title: "Custom server",
        key_env: &["CUSTOM_API_KEY"],
        env_prefix: "CUSTOM",
        needs_key: false,
        ..CLOUD
    },
];

/// A model in a file of this machine. It is not in the list: a runner knows its address, and people
/// may call a server of their own `local`.
pub static LOCAL_FILE: Provider = Provider {
    name: "local",
    title: "Local model",
    env_prefix: "LOCAL",
    inspect: Inspect::File,
    cache_hint: CacheHint::Slot,
    ..LOCAL
};

/// What functions in other languages are like that are models. No dialect is spoken with them, and
/// nobody knows their price.
pub static WORKER: Provider = Provider {
    name: "worker",
    title: "Worker",
    env_prefix: "WORKER",
    parallel: PARALLEL,
    inspect: Inspect::Nothing,
    ..LOCAL
};

/// The row called `name`.
pub fn provider(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// A part of a name and the family it tells; the first that fits wins, so a mixture is named after
/// who taught it (`deepseek-r1-distill-llama`), and a maker's brand comes before common words.
const FAMILIES: &[(&str, &str)] = &[
    ("claude", "claude"),
    ("gemini", "gemini"),
    ("gemma", "gemma"),
    ("grok", "grok"),
    ("gpt", "gpt"),
    ("deepseek", "deepseek"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("devstral", "mistral"),
    ("codestral", "mistral"),
    ("pixtral", "mistral"),
    ("nemotron", "nemotron"),
    ("llama", "llama"),
    ("phi", "phi"),
    ("command", "command"),
    ("granite", "granite"),
    ("kimi", "kimi"),
    ("minimax", "minimax"),
    ("glm", "glm"),
    ("nova", "nova"),
    ("olmo", "olmo"),
    ("falcon", "falcon"),
    ("smollm", "smollm"),
];

/// Whose kin a model is, so that different minds are seated first; `other` where nothing tells.
pub fn family(model_id: &str) -> &'static str {
    let name = last_part(model_id);
    let is_o = matches!(name.as_bytes(), [b'o', b'1'..=b'9', rest @ ..]
        if rest.first().is_none_or(|next| !next.is_ascii_alphanumeric()));
    let row = FAMILIES.iter().find(|(part, _)| name.contains(part));
    if is_o { "gpt" } else { row.map_or("other", |(_, family)| family) }
}

/// Parts of names of models that do something other than chat.
const NOT_CHAT: &[&str] = &[
    "embed",
    "bge-",
    "minilm",
    "paraphrase",
    "whisper",
    "dall-e",
    "image",
    "moderation",
    "rerank",
    "realtime",
    "audio",
    "transcribe",
    "stable-diffusion",
    "davinci",
    "babbage",
    "turbo-instruct",
    "deep-research",
];
/// The same, where the part would also be found in other words: whole words only.
const NOT_CHAT_WORDS: &[&str] = &["tts", "sora", "veo", "clip", "gte", "e5", "aqa", "lyria", "ocr"];

/// Whether a model can hold a conversation, by its name.
pub fn is_chat_model(id: &str) -> bool {
    let name = last_part(id);
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    !NOT_CHAT.iter().any(|part| name.contains(part))
        && !words.any(|word| NOT_CHAT_WORDS.contains(&word))
}

fn last_part(id: &str) -> String {
    id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_whole_and_names_unique() {
        for (at, row) in PROVIDERS.iter().enumerate() {
            assert!(std::ptr::eq(provider(row.name).unwrap(), row), "two rows called {}", row.name);
            assert_eq!(row.env_prefix, row.name.to_ascii_uppercase(), "row {at}");
            assert!(!row.title.is_empty(), "{}", row.name);
            assert_eq!(row.key_env.is_empty(), row.name == "copilot");
            assert!(!row.base_url.ends_with('/'), "{}", row.name);
            assert_eq!(row.base_url.is_empty(), row.name == "custom");
            assert_eq!(row.local, row.base_url.contains("//localhost:"), "{}", row.name);
            assert!(row.preferred.iter().all(|id| is_chat_model(id)), "{}", row.name);
        }
        assert!(provider("nobody").is_none());
    }

    #[test]
    fn families() {
        #[rustfmt::skip]
        let table = [
            ("gpt-5.1", "gpt"), ("o3-mini", "gpt"), ("o1", "gpt"), ("openai/gpt-oss-20b", "gpt"),
            ("anthropic/claude-sonnet-4.5", "claude"), ("gemini-2.5-pro", "gemini"),
            ("gemma3:4b", "gemma"), ("grok-4", "grok"), ("llama3.2:1b", "llama"),
            ("deepseek-r1-distill-llama-70b", "deepseek"), ("Qwen2.5-Coder", "qwen"),
            ("qwq-32b", "qwen"), ("mixtral-8x7b", "mistral"), ("phi4", "phi"), ("olmo-2", "olmo"),
            ("meta-llama/something-new", "other"), ("", "other"),
        ];
        for (id, want) in table {
            assert_eq!(family(id), want, "{id}");
        }
    }

    #[test]
    fn chat_models() {
        let chat = ["gpt-5.1", "claude-sonnet-4-5", "llama3.2", "qwen3:8b", "mistral-7b-instruct"];
        #[rustfmt::skip]
        let other = [
            "text-embedding-3-small", "nomic-embed-text", "bge-m3", "all-minilm",
            "whisper-1", "tts-1-hd", "gpt-4o-mini-tts", "dall-e-3", "gpt-image-1",
            "omni-moderation-latest", "gpt-4o-realtime-preview", "gpt-4o-audio-preview",
            "gpt-4o-transcribe", "BAAI/bge-reranker-v2", "paraphrase-multilingual",
            "imagen-4.0", "veo-3.0", "sora-2", "davinci-002", "gpt-3.5-turbo-instruct",
            "openai/clip",
        ];
        assert!(chat.iter().all(|id| is_chat_model(id)), "{chat:?}");
        for id in other {
            assert!(!is_chat_model(id), "{id}");
        }
    }
}
