//! Windows of well-known models, as their makers publish them. Where a maker limits the prompt
//! apart from the whole, the prompt's limit stands here.

use crate::price::{is_version_of, spelling};
use althing_chat::{Window, WindowSource};

/// The date of the table.
pub const WINDOWS_AS_OF: &str = "2026-11-15";

/// Looks up `model` as `provider` calls it: the model itself or a dated version of it, else its
/// family.
pub(super) fn known(provider: &str, model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = spelling(name.split(':').next().unwrap_or(name));
    // Whoever resells a model calls it as its maker does.
    let is_reseller = matches!(provider, "openrouter" | "copilot" | "custom");
    let is_here = |maker: &str| is_reseller || maker == provider;
    let exact = WINDOWS.iter().find(|row| is_here(row.0) && is_version_of(&name, row.1));
    let family = || FAMILIES.iter().find(|row| is_here(row.0) && name.starts_with(row.1));
    exact.or_else(family).map(|row| row.2)
}

/// Returns the window of an agent, by the name of the program: what the models behind it take.
pub fn agent_window(agent: &str) -> Window {
    let name = agent.split(':').next().unwrap_or(agent).trim_end_matches("-cli");
    let known = AGENTS.iter().find(|(agent, _)| *agent == name);
    match known {
        Some((_, tokens)) => Window { tokens: *tokens, source: WindowSource::Table },
        None => Window { tokens: AGENT_TOKENS, source: WindowSource::Default },
    }
}

/// What a program is taken to hold that nobody knows: it keeps its own context in bounds.
const AGENT_TOKENS: u64 = 200_000;

/// Maker, model, tokens.
#[rustfmt::skip]
const WINDOWS: &[(&str, &str, u64)] = &[
    ("openai", "gpt-5.4",                922_000),
    ("openai", "gpt-5.4-mini",           272_000),
    ("openai", "gpt-5-pro",              272_000),
    ("openai", "gpt-4.1",              1_047_576),
    ("openai", "gpt-4.1-mini",         1_047_576),
    ("openai", "gpt-4.1-nano",         1_047_576),
    ("openai", "gpt-4o",                 128_000),
    ("openai", "gpt-4o-mini",            128_000),
    ("openai", "gpt-4-turbo",            128_000),
    ("openai", "gpt-4",                    8_192),
    ("openai", "gpt-3.5-turbo",           16_385),
    ("openai", "o1",                     200_000),
    ("openai", "o3",                     200_000),
    ("openai", "o3-mini",                200_000),
    ("openai", "o4-mini",                200_000),
    ("anthropic", "claude-opus-4-6",   1_000_000),
    ("anthropic", "claude-sonnet-4-6", 1_000_000),
    ("xai", "grok-4",                    256_000),
    ("xai", "grok-code-fast-1",          256_000),
    ("dashscope", "qwen3-max",           262_144),
    ("dashscope", "qwen-max",             32_768),
    ("dashscope", "qwen-plus",           131_072),
    ("dashscope", "qwen-turbo",          131_072),
];

/// Maker, how names begin, tokens: the least that any model of the family takes. The first that
/// fits counts.
#[rustfmt::skip]
const FAMILIES: &[(&str, &str, u64)] = &[
    ("openai", "gpt-6",                  922_000),
    ("openai", "gpt-5",                  272_000),
    ("anthropic", "claude-fable-5",    1_000_000),
    ("anthropic", "claude-opus-5",     1_000_000),
    ("anthropic", "claude-sonnet-5",   1_000_000),
    ("anthropic", "claude-",             200_000),
    ("google", "gemini-",              1_048_576),
    ("xai", "grok-4",                    131_072),
    ("xai", "grok-3",                    131_072),
];

/// Agents, and what the models they use take at least.
const AGENTS: &[(&str, u64)] = &[("claude", 200_000), ("codex", 272_000), ("gemini", 1_048_576)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_their_versions_and_their_families() {
        #[rustfmt::skip]
        let table = [
            ("openai", "gpt-4.1", Some(1_047_576)),
            ("openai", "gpt-4.1-2025-04-14", Some(1_047_576)),
            ("openai", "gpt-4o-2024-11-20", Some(128_000)),
            ("openai", "gpt-5.1", Some(272_000)),
            ("openai", "gpt-5.4-2026-03-05", Some(922_000)),
            ("openai", "gpt-6.1-sol", Some(922_000)),
            ("openai", "gpt-4", Some(8_192)),
            ("openai", "gpt-2", None),
            ("openai", "claude-opus-5", None),
            ("anthropic", "claude-sonnet-4-5-20250929", Some(200_000)),
            ("anthropic", "claude-opus-4-6", Some(1_000_000)),
            ("anthropic", "claude-opus-5-5", Some(1_000_000)),
            ("google", "gemini-2.5-pro", Some(1_048_576)),
            ("xai", "grok-4-0709", Some(256_000)),
            ("xai", "grok-4.6", Some(131_072)),
            ("openrouter", "anthropic/claude-sonnet-4.5", Some(200_000)),
            ("openrouter", "openai/gpt-4.1:floor", Some(1_047_576)),
            ("custom", "gpt-4o", Some(128_000)),
            ("custom", "house-model", None),
            ("dashscope", "qwen-max", Some(32_768)),
        ];
        for (provider, model, want) in table {
            assert_eq!(known(provider, model), want, "{provider}:{model}");
        }
    }

    #[test]
    fn agents() {
        assert_eq!(agent_window("claude-cli:opus").tokens, 200_000);
        assert_eq!(agent_window("codex-cli").source, WindowSource::Table);
        assert_eq!(agent_window("mine"), Window { tokens: 200_000, source: WindowSource::Default });
    }
}
