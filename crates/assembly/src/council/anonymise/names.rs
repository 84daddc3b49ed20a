//! Names of those who make models, of models, and of the agents of this run.

use super::fold::fold_small;
use super::pattern;
use crate::council::words::words;
use regex::Regex;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

/// A word as names are written, once the text is folded: letters and digits with hyphens, dots or
/// underscores between them.
pub(super) static TOKEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[A-Za-z][A-Za-z0-9]*(?:[-_.]+[A-Za-z0-9]+)*"));

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
    "llamaswap",
    "vllm",
    "dashscope",
    "copilot",
    "claudecode",
    "geminicli",
    "codexcli",
    "gptoss",
    "moonshotai",
    "zhipu",
    "zhipuai",
    "bytedance",
    "doubao",
    "hunyuan",
    "erniebot",
    "tongyi",
    "qwq",
    "qvq",
    "stepfun",
    "ai21",
    "nemotron",
    "olmo",
    "allenai",
    "internlm",
    "baichuan",
    "minicpm",
    "exaone",
    "nousresearch",
    "wizardlm",
    "vicuna",
    "pixtral",
    "ministral",
    "voxtral",
    "cerebras",
    "sambanova",
    "deepinfra",
    "siliconflow",
    "litellm",
    "llamafile",
    "koboldcpp",
    "antigravity",
    "windsurf",
    "smollm",
    "longcat",
];
/// A name of so many letters is found at the beginning of a longer word too, where a large letter or
/// a digit follows it: `OpenAIGPT`.
const JOINED_CHARS_MIN: usize = 6;
/// A name of so many letters is found in a longer row of single letters too.
const SPACED_CHARS_MIN: usize = 4;

/// Letters with blanks or signs between them: `C l a u d e`.
pub(super) static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b[A-Za-z0-9](?:[ \t]{1,3}[A-Za-z0-9]\b){2,}|\b[A-Za-z0-9](?:[-_.*·|/]{1,2}[A-Za-z0-9]\b){2,}",
    )
});

/// Names that some write as two words.
const PAIRS: &[(&str, &str)] = &[
    ("Open", "AI"),
    ("Chat", "GPT"),
    ("Deep", "Seek"),
    ("Hugging", "Face"),
    ("LM", "Studio"),
    ("Moonshot", "AI"),
    ("Nous", "Research"),
    ("Roo", "Code"),
    ("Kilo", "Code"),
    ("Amazon", "Nova"),
    ("Step", "Fun"),
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

/// Those of them that are no other word with a version behind: a plan may have a `command 2`.
const VERSIONED: &[&str] = &["opus", "sonnet", "haiku", "gemma", "phi", "glm"];

/// What may stand behind a name and belongs to it: versions, sizes and kinds of models.
static BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[ \u{a0}_-](?:(?i:opus|sonnet|haiku|flash|turbo|pro|mini|nano|lite|ultra|codex|coder|instruct)|Code|Preview|Thinking|Large|Medium|Small|Max|Next|[A-Za-z]?[0-9]+(?:\.[0-9]+)*[A-Za-z]?)\b)+",
    )
});
/// A version, as it stands behind the name of a family.
static VERSION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[ \u{a0}][0-9]+(?P<minor>\.[0-9]+)?\b"));

/// Names of agents that are plain words: covering them would blind the judge for nothing.
const PLAIN: &[&str] = &[
    "agent", "api", "cheap", "cloud", "custom", "default", "demo", "fast", "gateway", "home",
    "judge", "large", "local", "main", "model", "models", "planner", "proxy", "remote", "server",
    "small", "smart", "test", "together", "work", "worker",
];
/// Shorter names of agents are too likely to be words; of models (`o3`) one less will do.
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
            literals.extend(parts(&fold_small(agent.trim()).text));
        }
        let mut literals: Vec<String> = literals.into_iter().collect();
        literals.sort_by_key(|it| Reverse(it.len()));
        Names { literals }
    }

    pub(super) fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Without those of `chosen` that are plain words and in more than one plan: they say nothing
    /// about who wrote one. `plans` are all texts of each.
    pub(super) fn without_common_words(mut self, chosen: &[String], plans: &[String]) -> Names {
        let chosen: HashSet<String> =
            chosen.iter().map(|it| fold_small(it.trim()).text.into_owned()).collect();
        let plans: Vec<HashSet<String>> =
            plans.iter().map(|plan| words(&fold_small(plan).text).collect()).collect();
        let is_common = |name: &String| plans.iter().filter(|it| it.contains(name)).count() > 1;
        let is_word = |name: &String| name.chars().all(char::is_alphabetic);
        self.literals.retain(|name| !(chosen.contains(name) && is_word(name) && is_common(name)));
        self
    }

    /// Where names stand whose letters were parted: their places in `run`.
    pub(super) fn spaced(&self, run: &str) -> Vec<Range<usize>> {
        let letters = run.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric());
        let (places, letters): (Vec<usize>, String) =
            letters.map(|(at, c)| (at, c.to_ascii_lowercase())).unzip();
        let known = NAMES.iter().copied().chain(AMBIGUOUS.iter().map(|(name, _)| *name));
        // A short one may stand in any row of letters.
        let known = known.filter(|it| it.len() >= SPACED_CHARS_MIN || letters == **it);
        let known = known.filter(|name| letters.contains(name)).collect::<Vec<_>>().into_iter();
        let found =
            known.flat_map(|name| letters.match_indices(name).map(|(at, it)| (at, it.len())));
        let mut found: Vec<Range<usize>> =
            found.map(|(at, length)| places[at]..places[at + length - 1] + 1).collect();
        found.sort_by_key(|it| (it.start, Reverse(it.end)));
        found
    }

    /// Where a word is the name of a maker or a model: how many bytes of the text behind it belong
    /// to the name.
    pub(super) fn reach(&self, token: &str, after: &str) -> Option<usize> {
        let pair = PAIRS.iter().find(|(first, second)| {
            let rest = after.strip_prefix(' ').and_then(|it| it.strip_prefix(second));
            token == *first && rest.is_some_and(|it| !it.starts_with(char::is_alphanumeric))
        });
        if let Some((_, second)) = pair {
            let end = 1 + second.len();
            return Some(end + behind(&after[end..]));
        }
        self.is_name(token, after).then(|| behind(after))
    }

    fn is_name(&self, token: &str, after: &str) -> bool {
        let is_written_large = token.starts_with(|c: char| c.is_ascii_uppercase());
        if token.split(|c: char| !c.is_ascii_alphanumeric()).any(is_joined) {
            return true;
        }
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
        // `Sonnet 4` and `sonnet 4.5`, but no sonnet 14 lines long.
        let version = VERSION.captures(after).filter(|_| VERSIONED.contains(&squeezed.as_str()));
        if version.is_some_and(|it| is_written_large || it.name("minor").is_some()) {
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

/// The names of makers and models that are in `text`, however its words are joined.
pub(super) fn named(text: &str) -> Vec<&'static str> {
    let letters = squeezed(text);
    let all = NAMES.iter().copied().chain(AMBIGUOUS.iter().map(|(name, _)| *name));
    all.chain(FAMILIES.iter().copied()).filter(|name| letters.contains(name)).collect()
}

/// The letters and digits of a folded text, small and without what stands between them.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether a name is one of the words that `word` is joined of: `ClaudeCode`, `myOpenAIKey`.
fn is_joined(word: &str) -> bool {
    let is_upper = |at: usize| word.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |at: usize| word.as_bytes().get(at).is_some_and(u8::is_ascii_lowercase);
    let is_start =
        |at: &usize| *at == 0 || (is_upper(*at) && (is_lower(at - 1) || is_lower(at + 1)));
    let starts: Vec<usize> = (0..word.len()).filter(is_start).chain([word.len()]).collect();
    let small = word.to_ascii_lowercase();
    let mut pieces = starts
        .iter()
        .enumerate()
        .flat_map(|(nth, from)| starts[nth + 1..].iter().map(move |to| (*from, *to)));
    let is_one = |name: &str| NAMES.contains(&without_number(name));
    // What is no word of its own but the whole is looked at elsewhere.
    let is_piece =
        pieces.any(|(from, to)| (from, to) != (0, word.len()) && is_one(&small[from..to]));
    let begins = |from: usize, name: &str| {
        name.len() >= JOINED_CHARS_MIN
            && small[from..].starts_with(name)
            && word[from + name.len()..].starts_with(|c: char| !c.is_ascii_lowercase())
    };
    is_piece || starts.iter().any(|from| NAMES.iter().any(|name| begins(*from, name)))
}

/// How many bytes of the text behind a name still belong to it.
pub(super) fn behind(after: &str) -> usize {
    BEHIND.find(after).map_or(0, |it| it.end())
}

/// A folded text in small letters as names are compared: where `name` has a number, with a hyphen for
/// each of the ways to part its words. Every byte stays at its place.
pub(super) fn compared(name: &str, small: &str) -> String {
    match name.contains(|c: char| c.is_ascii_digit()) {
        true => small.replace([' ', '_'], "-"),
        false => small.to_string(),
    }
}

/// What of `openrouter:corp/zebra-9@high` gives somebody away, alone or together.
fn parts(agent: &str) -> Vec<String> {
    let bare = agent.split('@').next().unwrap_or(agent);
    let (provider, model) =
        bare.split_once(':').map_or((None, bare), |(provider, model)| (Some(provider), model));
    let mut path = model.rsplit('/');
    let (last, maker) = (path.next(), path.next());
    let is_short_model = |it: &&str| provider.is_some() && is_short_model(it);
    let all = [Some(agent), Some(bare), Some(model), provider, last, maker];
    let told = all.into_iter().flatten().filter(|it| tells(it) || is_short_model(it));
    told.map(String::from).collect()
}

/// `llama3` is `llama`.
fn without_number(part: &str) -> &str {
    part.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn is_o_series(part: &str) -> bool {
    part.len() == 2 && part.starts_with('o') && part.ends_with(|c: char| c.is_ascii_digit())
}

/// Whether a configured name gives anything away that is not found by itself: `google` is, and then
/// `google maps` is not.
fn tells(name: &str) -> bool {
    let is_ambiguous = AMBIGUOUS.iter().any(|(it, _)| *it == name);
    let is_known = is_ambiguous || NAMES.contains(&name) || PLAIN.contains(&name);
    name.chars().count() >= CONFIGURED_CHARS_MIN && !is_known
}

/// `o3` or `r1`.
fn is_short_model(name: &str) -> bool {
    let has = |is: fn(&u8) -> bool| name.as_bytes().iter().any(is);
    name.len() + 1 == CONFIGURED_CHARS_MIN
        && has(u8::is_ascii_alphabetic)
        && has(u8::is_ascii_digit)
}

/// Prepares the patterns.
pub(super) fn prepare() {
    LazyLock::force(&TOKEN);
    LazyLock::force(&SPACED);
    LazyLock::force(&BEHIND);
    LazyLock::force(&VERSION);
}

/// Whether `name` at this place of `text` is no part of a longer word.
pub(super) fn is_edge(text: &str, name: &str, at: usize, end: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let before = is_word(name.chars().next()) && is_word(text[..at].chars().next_back());
    let after = is_word(name.chars().next_back()) && is_word(text[end..].chars().next());
    !before && !after
}
