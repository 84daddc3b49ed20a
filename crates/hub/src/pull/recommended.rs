//! A short list of models to begin with. Data; sizes are those of the registry on the day named.

use super::memory::memory_with_cache;

/// When the list was last looked over.
pub const AS_OF: &str = "2026-11";

/// A model that is worth beginning with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recommended {
    /// As the command takes it.
    pub name: &'static str,
    /// Bytes of its file.
    pub bytes: u64,
    /// Memory of a conversation of 8,192 tokens: layers × heads kept × (key + value) × 2 bytes.
    pub cache: u64,
    /// What it is good for.
    pub note: &'static str,
}

impl Recommended {
    /// Returns the memory it needs.
    pub fn memory(&self) -> u64 {
        memory_with_cache(self.bytes, self.cache)
    }
}

const MB: u64 = 1_000_000;

/// Returns the largest model that fits `free` bytes of memory; where nobody knows how many are free,
/// the usual one.
pub fn recommend(free: Option<u64>) -> Option<&'static Recommended> {
    match free {
        None => RECOMMENDED.iter().find(|row| row.name == USUAL),
        Some(free) => RECOMMENDED.iter().rev().find(|row| row.memory() <= free),
    }
}

/// What is recommended to everybody.
const USUAL: &str = "llama3.2";

/// The models, from small to large; different families, so that several can sit at one table.
pub const RECOMMENDED: &[Recommended] = &[
    row("smollm2:135m", 271, 180, "to try things out; answers in short, often wrong"),
    row("llama3.2:1b", 1_300, 256, "small machines; short answers and summaries"),
    row("gemma2:2b", 1_600, 832, "small machines; good prose for its size"),
    row("llama3.2", 2_000, 896, "8 GB machines; a good first model"),
    row("qwen3:4b", 2_500, 1_152, "8 GB machines; thinks before it answers, many languages"),
    row("mistral:7b", 4_400, 1_024, "16 GB machines; European languages"),
    row("qwen3:8b", 5_200, 1_152, "16 GB machines; code, reasoning, many languages"),
    row("phi4", 9_100, 1_600, "24 GB machines; reasoning and mathematics"),
];

const fn row(
    name: &'static str,
    megabytes: u64,
    cache_mib: u64,
    note: &'static str,
) -> Recommended {
    Recommended { name, bytes: megabytes * MB, cache: cache_mib << 20, note }
}

#[cfg(test)]
mod tests {
    use super::super::name::{ModelName, parse_name};
    use super::*;

    #[test]
    fn the_command_takes_every_name_and_the_list_is_in_order() {
        assert!((5..=8).contains(&RECOMMENDED.len()));
        for row in RECOMMENDED {
            assert!(matches!(parse_name(row.name), Ok(ModelName::Ollama(_))), "{}", row.name);
            assert!(row.memory() > row.bytes);
        }
        assert!(RECOMMENDED.is_sorted_by_key(|row| row.bytes));
    }

    #[test]
    fn the_largest_that_fits_is_recommended() {
        let name = |free| recommend(free).map(|row| row.name);
        assert_eq!(name(None), Some("llama3.2"));
        assert_eq!(name(Some(100_000_000)), None);
        assert_eq!(name(Some(1_000_000_000)), Some("smollm2:135m"));
        assert_eq!(name(Some(3_500_000_000)), Some("llama3.2"));
        assert_eq!(name(Some(u64::MAX)), Some("phi4"));
    }
}
