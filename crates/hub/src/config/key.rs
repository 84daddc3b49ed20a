//! Whether a text can be an API key. What is wrong with it is said without showing any of it.

use althing_gateway::Provider;
use althing_stdx::redact::Secret;

/// Providers that sell access hand out keys at least this long.
const KEY_CHARS_MIN: usize = 20;
/// The longest known are the tokens of company gateways.
const KEY_CHARS_MAX: usize = 4_096;

/// What examples write where a key should go, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "...",
    "…",
    "xxxxx",
    "*****",
    "your-",
    "your_",
    "yourkey",
    "yourapi",
    "-here",
    "_here",
    "<",
    ">",
    "changeme",
    "change-me",
    "change_me",
    "replace",
    "insert",
    "placeholder",
    "api-key",
    "api_key",
];

/// The key of `provider`, or what is wrong with it.
pub(super) fn key(provider: &Provider, text: &str) -> Result<Secret, String> {
    let unused = |problem: &str| Err(format!("{problem}; it is treated as not set"));
    let chars = text.chars().count();
    if text.is_empty() {
        return unused("is empty");
    }
    if text.starts_with(['"', '\'']) {
        return unused("holds quotation marks; take them away");
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return unused("holds a blank or a control character");
    }
    let lower = text.to_lowercase();
    if PLACEHOLDERS.iter().any(|word| lower.contains(word)) {
        return unused("looks like a placeholder");
    }
    if !text.chars().all(is_key_char) {
        return unused("holds a character that keys do not have");
    }
    // A server of one's own takes any word for a key.
    if provider.needs_key && chars < KEY_CHARS_MIN {
        return unused(&format!("is too short for a key of {}", provider.title));
    }
    if chars > KEY_CHARS_MAX {
        return unused(&format!("is longer than {KEY_CHARS_MAX} characters"));
    }
    Ok(Secret::new(text))
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '/' | '+' | '=' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_gateway::provider;

    #[track_caller]
    fn check(name: &str, text: &str, want: Result<(), &str>) {
        match (key(provider(name).unwrap(), text), want) {
            (Ok(secret), Ok(())) => assert_eq!(secret.expose(), text),
            (Err(problem), Err(why)) => {
                assert!(problem.contains(why), "{text}: {problem}");
                assert!(text.len() < 4 || !problem.contains(text), "{problem}");
            }
            (got, want) => panic!("{text}: {got:?} instead of {want:?}"),
        }
    }

    #[test]
    fn keys() {
        check("openai", "sk-proj-abcDEF_123:456-789", Ok(()));
        check("google", "AIzaSyA.with/plus+and=signs", Ok(()));
        check("lmstudio", "lm-studio", Ok(()));
        check("custom", "x", Ok(()));
        check("openai", &"k".repeat(KEY_CHARS_MAX), Ok(()));
    }

    #[test]
    fn no_keys() {
        let placeholder = Err("looks like a placeholder");
        for text in ["sk-...", "your-key-here", "<OPENAI_KEY>", "sk-XXXXXXXXXXXXXXXXXXXXXXX", "…"]
        {
            check("openai", text, placeholder);
            check("custom", text, placeholder);
        }
        check("openai", "", Err("is empty"));
        check("openai", "sk-proj-abcdef 1234567890", Err("blank"));
        check("openai", "sk-proj-abcdef\u{7}1234567890", Err("control"));
        check("openai", "\"sk-proj-abcdef1234567890\"", Err("quotation"));
        check("openai", "sk-proj-${SOMETHING}-1234567", Err("a character that keys"));
        check("openai", "sk-proj-äöü-1234567-abcdefgh", Err("a character that keys"));
        check("openai", "sk-short", Err("too short"));
        check("openai", &"k".repeat(KEY_CHARS_MAX + 1), Err("4096"));
    }
}
