//! Names of those who make models, of models, and of the agents of this run.

use super::pattern;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A word as names are written: letters and digits with hyphens, dots, underscores or invisible
/// characters between them.
pub(super) static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[A-Za-z][A-Za-z0-9]*(?:[-_.\u{200b}\u{200c}\u{200d}\u{2060}\u{ad}]+[A-Za-z0-9]+)*")
});

/// Makers and models whose names mean nothing else.
const NAMES: &[&str] = &[
    "openai",
    "chatgpt",
    "gpt",
    "codex",
    "opencode",
    "claude",
    "grok",
    "xai",
    "deepseek",
    "qwen",
    "mixtral",
    "codestral",
    "devstral",
    "magistral",
    "kimi",
    "chatglm",
    "minimax",
    "openrouter",
    "ollama",
    "lmstudio",
    "huggingface",
    "groq",
    "deepmind",
    "bard",
    "llamacpp",
    "copilot",
];

/// Names that are words too, with the words behind which they are just that.
const AMBIGUOUS: &[(&str, &[&str])] = &[
    (
        "google",
        &[
            "account",
            "accounts",
            "ads",
            "analytics",
            "api",
            "apis",
            "authenticator",
            "calendar",
            "chrome",
            "cloud",
            "docs",
            "drive",
            "fonts",
            "forms",
            "login",
            "maps",
            "meet",
            "oauth",
            "pay",
            "play",
            "scholar",
            "search",
            "sheets",
            "sign",
            "storage",
            "tag",
            "translate",
            "workspace",
        ],
    ),
    ("anthropic", &["argument", "bias", "principle", "reasoning", "selection"]),
    ("gemini", &["constellation", "mission", "north", "observatory", "program", "south", "zodiac"]),
    ("llama", &["farm", "herd", "wool"]),
    ("mistral", &["wind", "winds"]),
    ("cohere", &["with", "into"]),
    ("perplexity", &["of", "is", "score", "metric"]),
];

/// Words of model names that say something only with a number beside them.
const FAMILIES: &[&str] =
    &["opus", "sonnet", "haiku", "flash", "gemma", "phi", "nova", "glm", "command", "turbo"];

/// Names of agents that are plain words: covering them would blind the judge for nothing.
const PLAIN: &[&str] = &[
    "agent", "cheap", "default", "fast", "judge", "large", "local", "main", "model", "planner",
    "small", "smart", "test",
];
/// Shorter names of agents are too likely to be words.
const CONFIGURED_CHARS_MIN: usize = 3;

/// What counts as a name in this run.
#[derive(Default)]
pub(super) struct Names {
    /// Configured names in small letters, longest first.
    literals: Vec<String>,
}

impl Names {
    pub(super) fn new(agents: impl IntoIterator<Item = String>) -> Names {
        let mut literals: BTreeSet<String> = BTreeSet::new();
        for agent in agents {
            // `openai:gpt-5.1@high` is also `gpt-5.1`, wherever it stands alone.
            let bare = agent.split('@').next().unwrap_or(&agent).to_string();
            let model = bare.split_once(':').map(|(_, model)| model.to_string());
            let last = bare.rsplit('/').next().map(String::from);
            literals.extend([Some(agent), model, last, Some(bare)].into_iter().flatten());
        }
        let mut literals: Vec<String> = literals
            .into_iter()
            .map(|it| it.trim().to_lowercase())
            .filter(|it| tells(it))
            .collect();
        literals.sort_by_key(|it| std::cmp::Reverse(it.len()));
        literals.dedup();
        Names { literals }
    }

    pub(super) fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Whether a word is the name of a maker or a model, given the text behind it.
    pub(super) fn is_name(&self, token: &str, after: &str) -> bool {
        let token = token.to_lowercase();
        let parts: Vec<&str> =
            token.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).collect();
        let squeezed = parts.concat();
        let has_number = squeezed.contains(|c: char| c.is_ascii_digit());
        let is_one = |word: &str| NAMES.contains(&word);
        if is_one(&squeezed) || parts.iter().any(|part| is_one(without_number(part))) {
            return true;
        }
        if has_number && parts.iter().any(|part| FAMILIES.contains(&without_number(part))) {
            return true;
        }
        if matches!(parts[..], [o, "mini" | "pro" | "preview", ..] if is_o_series(o)) {
            return true;
        }
        let row = AMBIGUOUS.iter().find(|(name, _)| {
            squeezed == *name || parts.iter().any(|part| without_number(part) == *name)
        });
        row.is_some_and(|(_, plain)| {
            let next = after.split(|c: char| !c.is_alphanumeric()).find(|it| !it.is_empty());
            has_number || !next.is_some_and(|next| plain.contains(&next.to_lowercase().as_str()))
        })
    }
}

/// `llama3` is `llama`.
fn without_number(part: &str) -> &str {
    part.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn is_o_series(part: &str) -> bool {
    part.len() == 2 && part.starts_with('o') && part.ends_with(|c: char| c.is_ascii_digit())
}

/// Whether a configured name gives anything away.
fn tells(name: &str) -> bool {
    name.chars().count() >= CONFIGURED_CHARS_MIN && !PLAIN.contains(&name)
}

/// Whether `name` at this place of `text` is no part of a longer word.
pub(super) fn is_edge(text: &str, name: &str, at: usize, end: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let before = is_word(name.chars().next()) && is_word(text[..at].chars().next_back());
    let after = is_word(name.chars().next_back()) && is_word(text[end..].chars().next());
    !before && !after
}
