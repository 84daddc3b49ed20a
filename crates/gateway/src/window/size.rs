//! Numbers of tokens as people write them: `4096`, `8k`, `1m`; also behind the name of a seat.

use std::borrow::Cow;

/// The smallest window that can be asked for; the instructions alone need most of it.
pub const CONTEXT_TOKENS_MIN: u64 = 512;
/// The largest window that can be asked for.
pub const CONTEXT_TOKENS_MAX: u64 = 10_000_000;
/// Digits behind an `@` that are no size: the number of a version.
const VERSION_DIGITS_MAX: usize = 2;
/// Digits of a size without a letter; more are a date with its year in full.
const SIZE_DIGITS_MAX: usize = 7;

/// Reads a size within the limits; `k` stands for 1,024 tokens and `m` for 1,024 times that. The
/// error completes a sentence about the field; it repeats nothing, since people paste keys anywhere.
pub fn parse_tokens(text: &str) -> Result<u64, String> {
    let tokens = read_size(text.trim());
    let fits = |tokens: &u64| (CONTEXT_TOKENS_MIN..=CONTEXT_TOKENS_MAX).contains(tokens);
    tokens.filter(fits).ok_or_else(|| {
        format!(
            "must be a number of tokens from {CONTEXT_TOKENS_MIN} to {CONTEXT_TOKENS_MAX}, such \
             as 4096 or 8k"
        )
    })
}

fn read_size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1_024),
        (at, 'm' | 'M') => (&text[..at], 1_024 * 1_024),
        _ => (text, 1),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(factor)
}

/// Splits the size of the window off the name of a seat: `gpt-5.1@high@32k` is `gpt-5.1@high` with
/// 32,768 tokens. Size and effort may stand in either order.
pub fn split_context(name: &str) -> Result<(Cow<'_, str>, Option<u64>), String> {
    let Some((start, last)) = name.rsplit_once('@') else { return Ok((name.into(), None)) };
    if is_size(last) {
        if start.rsplit_once('@').is_some_and(|(_, other)| is_size(other)) {
            return Err("context_tokens (behind the @) stands there twice".into());
        }
        return Ok((start.into(), Some(context_tokens(last)?)));
    }
    let is_effort = crate::split_effort(name).1.is_some();
    match start.rsplit_once('@').filter(|(_, size)| is_effort && is_size(size)) {
        Some((start, size)) => Ok((format!("{start}@{last}").into(), Some(context_tokens(size)?))),
        None => Ok((name.into(), None)),
    }
}

fn context_tokens(text: &str) -> Result<u64, String> {
    parse_tokens(text).map_err(|problem| format!("context_tokens (behind the @) {problem}"))
}

/// Tells a size from the versions and dates that some models have behind an `@`: `@001`, `@2`,
/// `@240229`, `@20250929`. With a letter it is always a size.
fn is_size(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = text.len() <= VERSION_DIGITS_MAX || text.starts_with('0');
    let is_name = is_version || text.len() > SIZE_DIGITS_MAX || is_short_date(text);
    read_size(text).is_some() && !(is_plain && is_name)
}

/// Tells whether `text` can be a date as YYMMDD.
fn is_short_date(text: &str) -> bool {
    let part = |from: usize| text.get(from..from + 2).and_then(|part| part.parse::<u32>().ok());
    let is_day = matches!((part(2), part(4)), (Some(1..=12), Some(1..=31)));
    text.len() == 6 && is_day
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, want) in [
            ("4096", Some(4_096)),
            (" 8k ", Some(8_192)),
            ("32K", Some(32_768)),
            ("1m", Some(1_048_576)),
            ("512", Some(512)),
            ("10000000", Some(10_000_000)),
            ("511", None),
            ("10000001", None),
            ("10m", None),
            ("0", None),
            ("-4096", None),
            ("4.5k", None),
            ("k", None),
            ("", None),
            ("99999999999999999999k", None),
            ("8192 tokens", None),
        ] {
            assert_eq!(parse_tokens(text).ok(), want, "{text}");
        }
        let problem = parse_tokens("12").unwrap_err();
        assert!(problem.contains("512 to 10000000"), "{problem}");
    }

    #[test]
    fn sizes_behind_names() {
        #[track_caller]
        fn check(name: &str, bare: &str, tokens: Option<u64>) {
            assert_eq!(split_context(name), Ok((bare.into(), tokens)), "{name}");
        }
        check("gpt-5.1", "gpt-5.1", None);
        check("gpt-5.1@high", "gpt-5.1@high", None);
        check("gpt-5.1@4096", "gpt-5.1", Some(4_096));
        check("ollama:qwen3:8b@8k", "ollama:qwen3:8b", Some(8_192));
        check("gpt-5.1@high@32k", "gpt-5.1@high", Some(32_768));
        check("gpt-5.1@32k@high", "gpt-5.1@high", Some(32_768));
        check("claude-sonnet-4-5@20250929", "claude-sonnet-4-5@20250929", None);
        check("claude-sonnet-4-5@20250929@64k", "claude-sonnet-4-5@20250929", Some(65_536));
        check("model@240229", "model@240229", None);
        check("model@251231@high", "model@251231@high", None);
        check("model@240229@32k", "model@240229", Some(32_768));
        check("model@10000000", "model@10000000", None);
        check("model@123456789", "model@123456789", None);
        for tokens in [4_096, 32_768, 100_000, 128_000, 131_072, 200_000, 262_144, 1_048_576] {
            check(&format!("model@{tokens}"), "model", Some(tokens));
        }
        check("text-bison@001", "text-bison@001", None);
        check("model@2", "model@2", None);
        check("a@b", "a@b", None);
        check("@", "@", None);
        let problem = split_context("gpt-5.1@100").unwrap_err();
        assert!(problem.starts_with("context_tokens (behind the @) must be"), "{problem}");
        for name in ["gpt-5.1@high@99m", "gpt-5.1@0k", "gpt-5.1@1k@2k"] {
            assert!(split_context(name).is_err(), "{name}");
        }
    }
}
