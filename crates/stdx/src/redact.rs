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
    "pk_",
    "rk-",
    "rk_",
    "csk-",
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
    "r8_",
    "nvapi-",
    "pplx-",
    "AKIA",
    "ASIA",
    "glpat-",
    "npm_",
    "pypi-",
    "xapp-",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "SG.",
    "ya29.",
    "eyJ",
];
/// A word of so many characters with such a prefix is a key; so is a shorter one with so many
/// behind the prefix, a digit among them.
const KEY_CHARS_MIN: usize = 16;
const BEHIND_CHARS_MIN: usize = 10;

/// How a private key in a file begins and ends; between the two stands its kind.
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_KEY: &str = "PRIVATE KEY-----";
const PEM_END: &str = "-----END ";
const PEM_RULE: &str = "-----";
/// Bytes of its kind; where more stand there it is no such line.
const PEM_KIND_BYTES_MAX: usize = 32;

/// `text` with everything that looks like a key, or stands behind `Bearer`, replaced by `[secret]`.
pub fn redact(text: &str) -> String {
    Lines::default().redact(text)
}

/// The same for a text that comes line by line: a private key in a file takes many.
#[derive(Debug, Default)]
pub struct Lines {
    is_in_key: bool,
}

impl Lines {
    /// `line` without keys.
    pub fn redact(&mut self, line: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(line.len()), line);
        loop {
            if self.is_in_key {
                out.push_str("[secret]");
                let Some(end) = end_of_key(rest) else { return out };
                (self.is_in_key, rest) = (false, &rest[end..]);
            }
            let Some((at, end)) = start_of_key(rest) else { break };
            words_without_keys(&rest[..at], &mut out);
            (self.is_in_key, rest) = (true, &rest[end..]);
        }
        words_without_keys(rest, &mut out);
        out
    }
}

/// Where a private key begins, and where the line that says so ends.
fn start_of_key(text: &str) -> Option<(usize, usize)> {
    text.match_indices(PEM_BEGIN).find_map(|(at, begin)| {
        let kind = &text[at + begin.len()..];
        let near = kind.floor_char_boundary(PEM_KIND_BYTES_MAX + PEM_KEY.len());
        let length = kind[..near].find(PEM_KEY)?;
        Some((at, at + begin.len() + length + PEM_KEY.len()))
    })
}

/// Where a private key ends.
fn end_of_key(text: &str) -> Option<usize> {
    let kind = text.find(PEM_END)? + PEM_END.len();
    Some(text[kind..].find(PEM_RULE).map_or(text.len(), |end| kind + end + PEM_RULE.len()))
}

fn words_without_keys(text: &str, out: &mut String) {
    let mut after_bearer = false;
    for (word, is_word) in words(text) {
        let secret = is_word && (looks_like_key(word) || (after_bearer && word.len() >= 8));
        out.push_str(if secret { "[secret]" } else { word });
        if is_word {
            after_bearer = word.eq_ignore_ascii_case("bearer");
        }
    }
}

fn looks_like_key(word: &str) -> bool {
    let behind = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
    behind.is_some_and(|behind| {
        let has_digit = behind.bytes().any(|byte| byte.is_ascii_digit());
        word.len() >= KEY_CHARS_MIN || (behind.len() >= BEHIND_CHARS_MIN && has_digit)
    })
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
        check(
            "sk-abcdefgh12, sk-abcdefg12, hf_transformers",
            "[secret], sk-abcdefg12, hf_transformers",
        );
        check("", "");
        check("naïve — 東京", "naïve — 東京");
    }

    #[test]
    fn every_known_shape_is_a_key() {
        let starts = [
            "sk-",
            "sk-proj-",
            "sk-ant-api03-",
            "sk_live_",
            "pk-",
            "pk_live_",
            "rk-",
            "rk_live_",
            "csk-",
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
            "r8_",
            "nvapi-",
            "pplx-",
            "AKIA",
            "ASIA",
            "glpat-",
            "npm_",
            "pypi-",
            "xapp-",
            "xoxa-",
            "xoxb-",
            "xoxe-",
            "xoxp-",
            "xoxr-",
            "xoxs-",
            "SG.",
            "ya29.",
            "eyJ",
        ];
        for prefix in starts {
            check(&format!("use {prefix}Ab3dEf6hIj9lMn2p now"), "use [secret] now");
            check(&format!("use x{prefix}Ab3d now"), &format!("use x{prefix}Ab3d now"));
        }
        for prefix in PREFIXES {
            assert!(starts.iter().any(|it| it.starts_with(prefix)), "{prefix} has no row above");
        }
    }

    #[test]
    fn private_keys_in_files_go_whole() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nx+/=\n-----END RSA PRIVATE \
                   KEY-----";
        check(&format!("a {key} b {key}."), "a [secret] b [secret].");
        check("-----BEGIN PRIVATE KEY-----\\nMIIE", "[secret]");
        let public = "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----";
        check(public, public);
        let mut lines = Lines::default();
        let told: Vec<String> = format!("a\n{key}\nb").lines().map(|it| lines.redact(it)).collect();
        assert_eq!(told, ["a", "[secret]", "[secret]", "[secret]", "[secret]", "b"]);
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
