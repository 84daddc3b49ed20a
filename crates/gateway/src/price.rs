//! What well-known models cost. A dated table under what the person knows better: what neither
//! knows has no price, never the price 0. That is for what runs on machines of the person's own.

mod home;

use crate::{Endpoint, LOCAL_FILE};
use althing_chat::Usage;
pub(crate) use home::is_home;
use std::sync::Arc;

/// The date of the table: list prices for standard calls with prompts of ordinary length, as the
/// providers published them.
pub const PRICES_AS_OF: &str = "2026-11-15";

/// USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Input read from the provider's cache; the same as `input` where there is no discount.
    pub cached: f64,
    /// Input written to the provider's cache; the same as `input` where that costs no more.
    pub cache_write: f64,
}

/// What Anthropic takes for input that it writes to its cache, as a multiple of other input.
const CACHE_WRITE_FACTOR: f64 = 1.25;

impl Price {
    /// What runs on a machine of the person's own.
    pub const ZERO: Price = Price { input: 0.0, output: 0.0, cached: 0.0, cache_write: 0.0 };

    /// USD for `usage`; `None` where the provider did not count the tokens.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        if *self == Price::ZERO {
            return Some(0.0);
        }
        let (input, output) = (usage.input?, usage.output?);
        let cached = usage.cached.unwrap_or(0).min(input);
        let written = usage.cache_written.unwrap_or(0).min(input - cached);
        let usd = (input - cached - written) as f64 * self.input
            + cached as f64 * self.cached
            + written as f64 * self.cache_write
            + output as f64 * self.output;
        Some(usd / 1e6)
    }
}

/// The person's own prices over the table. Clones share them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    own: Arc<[Own]>,
}

/// What the person set for one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    /// An endpoint's id, or the provider it is like.
    pub place: String,
    pub model: String,
    pub price: Price,
}

impl Prices {
    /// Where two are about the same, the first counts.
    pub fn new(own: Vec<Own>) -> Prices {
        Prices { own: own.into() }
    }

    /// The price of `model` at `endpoint`: what the person set for the endpoint, else for the
    /// provider that it is like, else the table's.
    pub fn price(&self, endpoint: &Endpoint, model: &str) -> Option<Price> {
        let (id, row) = (&endpoint.id, endpoint.provider.name);
        let own = self.set_for(id, model).or_else(|| self.set_for(row, model));
        let of_file = || (row == LOCAL_FILE.name).then_some(Price::ZERO);
        own.or_else(of_file).or_else(|| price(row, &endpoint.base_url, model))
    }

    /// What the person set.
    pub fn own(&self) -> &[Own] {
        &self.own
    }

    /// An own price holds for dated versions too, as the table's do; the whole name wins.
    fn set_for(&self, place: &str, model: &str) -> Option<Price> {
        // Most people set none, and this is asked at every request.
        if self.own.is_empty() {
            return None;
        }
        let (bare, _) = crate::split_effort(model);
        let name = spelling(bare);
        let here = || self.own.iter().filter(|own| own.place == place);
        let exact = |model: &str| here().find(|own| spelling(&own.model) == spelling(model));
        let version = || here().find(|own| is_version_of(&name, &spelling(&own.model)));
        exact(model).or_else(|| exact(bare)).or_else(version).map(|own| own.price)
    }
}

/// One spelling: makers and resellers differ in case, dots and hyphens.
pub(crate) fn spelling(model: &str) -> String {
    model.to_ascii_lowercase().replace('.', "-")
}

/// The price of `model` at `provider`, where the table knows it. What people run themselves is free
/// where it is theirs; others rent the same servers out.
fn price(provider: &str, base_url: &str, model: &str) -> Option<Price> {
    let (model, _) = crate::split_effort(model);
    if crate::provider(provider)?.local {
        return is_home(base_url).then_some(Price::ZERO);
    }
    if provider == "openrouter" && model.ends_with(":free") {
        return Some(Price::ZERO);
    }
    // OpenRouter takes the maker's price and writes the maker before the name.
    let (maker, name) = match model.split_once('/') {
        Some(("x-ai", name)) if provider == "openrouter" => ("xai", name),
        Some((maker, name)) if provider == "openrouter" => (maker, name),
        _ => (provider, model),
    };
    let name = spelling(name);
    let row = PRICES.iter().find(|row| row.0 == maker && is_version_of(&name, row.1))?;
    let factor = if maker == "anthropic" { CACHE_WRITE_FACTOR } else { 1.0 };
    Some(Price { input: row.2, output: row.3, cached: row.4, cache_write: row.2 * factor })
}

/// Whether `name` is `base` itself or a dated or preview version of it, not another variant.
pub(crate) fn is_version_of(name: &str, base: &str) -> bool {
    let Some((start, rest)) = name.split_at_checked(base.len()) else { return false };
    let is_same = |(byte, base): (u8, u8)| byte == if base == b'.' { b'-' } else { base };
    let mut words = rest.split('-');
    start.bytes().zip(base.bytes()).all(is_same)
        && words.next() == Some("")
        && words.all(is_version)
}

/// `latest`, `preview`, or part of a date; a single digit would be the next model's number.
fn is_version(word: &str) -> bool {
    let digits = word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    digits || matches!(word, "latest" | "preview")
}

/// Maker, model, input, output, cached input.
#[rustfmt::skip]
const PRICES: &[(&str, &str, f64, f64, f64)] = &[
    ("openai", "gpt-6.1-sol",           2.00,  10.00, 0.10),
    ("openai", "gpt-6-sol",             2.00,  10.00, 0.20),
    ("openai", "gpt-6-luna",            0.10,   0.50, 0.01),
    ("openai", "gpt-6-astra",          10.00,  50.00, 1.00),
    ("openai", "gpt-5.4",               2.50,  15.00, 0.25),
    ("openai", "gpt-5.4-mini",          0.75,   4.50, 0.075),
    ("openai", "gpt-5.3-codex",         1.75,  14.00, 0.175),
    ("openai", "gpt-5.2",               1.75,  14.00, 0.175),
    ("openai", "gpt-5.1",               1.25,  10.00, 0.125),
    ("openai", "gpt-5",                 1.25,  10.00, 0.125),
    ("openai", "gpt-5-mini",            0.25,   2.00, 0.025),
    ("openai", "gpt-5-nano",            0.05,   0.40, 0.005),
    ("openai", "gpt-5-pro",            15.00, 120.00, 15.00),
    ("openai", "gpt-4.1",               2.00,   8.00, 0.50),
    ("openai", "gpt-4.1-mini",          0.40,   1.60, 0.10),
    ("openai", "gpt-4.1-nano",          0.10,   0.40, 0.025),
    ("openai", "gpt-4o",                2.50,  10.00, 1.25),
    ("openai", "gpt-4o-mini",           0.15,   0.60, 0.075),
    ("openai", "o3",                    2.00,   8.00, 0.50),
    ("openai", "o3-mini",               1.10,   4.40, 0.55),
    ("openai", "o4-mini",               1.10,   4.40, 0.275),
    ("openai", "o1",                   15.00,  60.00, 7.50),
    ("anthropic", "claude-fable-5-1",  10.00,  50.00, 1.00),
    ("anthropic", "claude-opus-5-5",    4.00,  20.00, 0.20),
    ("anthropic", "claude-opus-5",      5.00,  25.00, 0.50),
    ("anthropic", "claude-opus-4-6",    5.00,  25.00, 0.50),
    ("anthropic", "claude-opus-4-5",    5.00,  25.00, 0.50),
    ("anthropic", "claude-opus-4-1",   15.00,  75.00, 1.50),
    ("anthropic", "claude-opus-4",     15.00,  75.00, 1.50),
    ("anthropic", "claude-sonnet-5-5",  2.00,  10.00, 0.20),
    ("anthropic", "claude-sonnet-5",    2.00,  10.00, 0.20),
    ("anthropic", "claude-sonnet-4-6",  3.00,  15.00, 0.30),
    ("anthropic", "claude-sonnet-4-5",  3.00,  15.00, 0.30),
    ("anthropic", "claude-sonnet-4",    3.00,  15.00, 0.30),
    ("anthropic", "claude-3-7-sonnet",  3.00,  15.00, 0.30),
    ("anthropic", "claude-3-5-sonnet",  3.00,  15.00, 0.30),
    ("anthropic", "claude-haiku-4-5",   1.00,   5.00, 0.10),
    ("anthropic", "claude-3-5-haiku",   0.80,   4.00, 0.08),
    ("anthropic", "claude-3-haiku",     0.25,   1.25, 0.03),
    ("google", "gemini-2.5-pro",        1.25,  10.00, 0.125),
    ("google", "gemini-2.5-flash",      0.30,   2.50, 0.03),
    ("google", "gemini-2.5-flash-lite", 0.10,   0.40, 0.01),
    ("google", "gemini-2.0-flash",      0.10,   0.40, 0.025),
    ("xai", "grok-4.6",                 2.00,   6.00, 0.50),
    ("xai", "grok-4.5",                 2.00,   6.00, 0.50),
    ("xai", "grok-4",                   3.00,  15.00, 0.75),
    ("xai", "grok-3",                   3.00,  15.00, 0.75),
    ("xai", "grok-3-mini",              0.30,   0.50, 0.075),
    ("xai", "grok-code-fast-1",         0.20,   1.50, 0.02),
    ("dashscope", "qwen-max",           1.60,   6.40, 1.60),
    ("dashscope", "qwen-turbo",         0.05,   0.20, 0.05),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(provider: &str, model: &str, want: Option<(f64, f64)>) {
        check_at(provider, "http://localhost:8000/v1", model, want);
    }

    #[track_caller]
    fn check_at(provider: &str, base_url: &str, model: &str, want: Option<(f64, f64)>) {
        let got = price(provider, base_url, model).map(|price| (price.input, price.output));
        assert_eq!(got, want, "{provider}:{model} at {base_url}");
    }

    #[test]
    fn a_model_its_dated_versions_and_nothing_else() {
        check("openai", "gpt-5.1", Some((1.25, 10.0)));
        check("openai", "gpt-5.1@high", Some((1.25, 10.0)));
        check("openai", "gpt-5-mini-2025-08-07", Some((0.25, 2.0)));
        check("openai", "gpt-4o-2024-11-20", Some((2.5, 10.0)));
        check("openai", "gpt-4o-audio-preview", None);
        check("openai", "gpt-5.9", None);
        check("openai", "gpt-4", None);
        check("anthropic", "claude-sonnet-4-5-20250929", Some((3.0, 15.0)));
        check("anthropic", "claude-opus-4-20250514", Some((15.0, 75.0)));
        check("anthropic", "claude-opus-4-9", None);
        check("google", "gemini-2.5-flash-preview-09-2025", Some((0.3, 2.5)));
        check("xai", "grok-4-0709", Some((3.0, 15.0)));
    }

    #[test]
    fn makers_resellers_and_ones_own_machine() {
        check("openrouter", "anthropic/claude-sonnet-4.5", Some((3.0, 15.0)));
        check("openrouter", "x-ai/grok-4.5", Some((2.0, 6.0)));
        check("openrouter", "meta-llama/llama-3.3-70b:free", Some((0.0, 0.0)));
        check("openrouter", "meta-llama/llama-3.3-70b", None);
        check("anthropic", "gpt-5.1", None);
        check("custom", "gpt-5.1", None);
        check("nobody", "gpt-5.1", None);
        for local in ["ollama", "lmstudio", "llamaswap", "vllm"] {
            check(local, "whatever:8b", Some((0.0, 0.0)));
            check_at(local, "http://192.168.0.7:8000/v1", "whatever:8b", Some((0.0, 0.0)));
            check_at(local, "https://rented.example.com/v1", "whatever:8b", None);
        }
    }

    #[test]
    fn ones_own_prices_win() {
        let set = |place: &str, model: &str, usd| {
            let price = Price { input: usd, output: usd, cached: usd, cache_write: usd };
            Own { place: place.into(), model: model.into(), price }
        };
        let prices = Prices::new(vec![
            set("openai", "gpt-5.1", 1.0),
            set("work", "gpt-5.1", 2.0),
            set("openai", "gpt-5.1@high", 3.0),
            set("ollama", "Qwen3:8b", 4.0),
            set("custom", "house-model", 5.0),
        ]);
        #[rustfmt::skip]
        let table = [
            ("openai", "openai", "gpt-5.1", Some(1.0)),
            ("openai", "openai", "gpt-5.1@low", Some(1.0)),
            ("openai", "openai", "gpt-5.1@high", Some(3.0)),
            ("openai", "openai", "gpt-5.1-2025-11-13", Some(1.0)),
            ("prov_1", "openai", "GPT-5-1", Some(1.0)),
            ("work", "openai", "gpt-5.1", Some(2.0)),
            ("openai", "openai", "gpt-5", Some(1.25)),
            ("ollama", "ollama", "qwen3:8b", Some(4.0)),
            ("ollama", "ollama", "llama3", Some(0.0)),
            ("mine", "custom", "house-model", Some(5.0)),
            ("mine", "custom", "house-model-2", None),
        ];
        for (id, row, model, want) in table {
            let like = Endpoint::clone(&crate::tests::endpoint(row, "http://localhost"));
            let endpoint = Endpoint { id: id.into(), ..like };
            let got = prices.price(&endpoint, model).map(|price| price.input);
            assert_eq!(got, want, "{id} ({row}) {model}");
        }
        let like = Endpoint::clone(&crate::tests::endpoint("custom", ""));
        let file = Endpoint { provider: &LOCAL_FILE, ..like };
        assert_eq!(prices.price(&file, "any"), Some(Price::ZERO), "a file of one's own is free");
    }

    #[test]
    fn writing_to_a_cache_costs_more_only_where_the_provider_says_so() {
        let write = |provider: &str, model: &str| {
            price(provider, "", model).map(|price| price.cache_write / price.input)
        };
        assert_eq!(write("anthropic", "claude-opus-5-5"), Some(1.25));
        assert_eq!(write("openrouter", "anthropic/claude-sonnet-4.5"), Some(1.25));
        assert_eq!(write("openai", "gpt-5.1"), Some(1.0));
    }

    #[test]
    fn costs() {
        let price = Price { input: 2.0, output: 10.0, cached: 0.5, cache_write: 2.5 };
        let usage = |input, output, cached| Usage { input, output, cached, ..Usage::default() };
        let million = Some(1_000_000);
        assert_eq!(price.cost(&usage(million, million, None)), Some(12.0));
        assert_eq!(price.cost(&usage(million, Some(0), Some(500_000))), Some(1.25));
        assert_eq!(price.cost(&usage(million, Some(0), Some(9_000_000))), Some(0.5));
        let written = Usage { cache_written: Some(400_000), ..usage(million, Some(0), None) };
        assert_eq!(price.cost(&written), Some(2.2));
        let both = Usage { cached: Some(600_000), ..written };
        assert_eq!(price.cost(&both), Some(1.3));
        // More than there is counts no further.
        let too_much = Usage { cache_written: million, ..both };
        assert_eq!(price.cost(&too_much), Some(1.3));
        assert_eq!(price.cost(&usage(None, million, None)), None);
        assert_eq!(price.cost(&usage(million, None, None)), None);
        assert_eq!(Price::ZERO.cost(&Usage::default()), Some(0.0));
    }
}
