//! Secrets as values that cannot be printed, and removal of key-shaped words from text that is
//! about to be shown or logged.

use std::fmt;

/// A key. It shows itself only to the one who asks by name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value itself, for the header of a request and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Enough to tell two keys apart and too little to use: `…abcd`; short keys show nothing.
    pub fn hint(&self) -> String {
        let tail: Vec<char> = self.0.chars().rev().take(4).collect();
        if self.0.chars().count() < 20 {
            "…".into()
        } else {
            format!("…{}", tail.iter().rev().collect::<String>())
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Prefixes of keys in the wild. A word that starts so and goes on for long is taken for a key.
const PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "pk-",
    "rk-",
    "xai-",
    "AIza",
    "gho_",
    "ghp_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "hf_",
    "gsk_",
    "AKIA",
    "ASIA",
    "glpat-",
    "npm_",
    "pypi-",
    "xoxb-",
    "xoxp-",
    "ya29.",
    "eyJ",
];
const KEY_CHARS_MIN: usize = 16;

/// `text` with everything that looks like a key, or stands behind `Bearer`, replaced by `[secret]`.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_bearer = false;
    for (word, is_word) in words(text) {
        let secret = is_word && (looks_like_key(word) || (after_bearer && word.len() >= 8));
        out.push_str(if secret { "[secret]" } else { word });
        if is_word {
            after_bearer = word.eq_ignore_ascii_case("bearer");
        }
    }
    out
}

fn looks_like_key(word: &str) -> bool {
    word.len() >= KEY_CHARS_MIN && PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

/// Splits into runs of key characters and runs of everything else, in order and without loss.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_key_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let kind = is_key_char(first);
        let end = rest.find(|c| is_key_char(c) != kind).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        Some((run, kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(redact(text), want);
    }

    #[test]
    fn keys_go_and_prose_stays() {
        check("bad key sk-proj-abcdefghijklmnop1234!", "bad key [secret]!");
        check("key=AIzaSyA1234567890abcdefg;", "key=[secret];");
        check("Authorization: Bearer abcdefgh.ijkl", "Authorization: Bearer [secret]");
        check(
            "the bearer of news, sk-8 and risk-averse people",
            "the bearer of news, sk-8 and risk-averse people",
        );
        check("", "");
        check("naïve — 東京", "naïve — 東京");
    }

    #[test]
    fn a_secret_does_not_print_itself() {
        let secret = Secret::new("sk-proj-abcdefghijklmnop1234");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(secret.hint(), "…1234");
        assert_eq!(Secret::new("short").hint(), "…");
        assert_eq!(secret.expose(), "sk-proj-abcdefghijklmnop1234");
    }
}
