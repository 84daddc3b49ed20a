//! Passwords where they are written as such, and logins in addresses. What a secret says is no matter
//! of the judge, and is not put back.

use super::pattern;
use regex::{Captures, Regex};
use std::sync::LazyLock;

const COVER: &str = "[secret]";

/// A login in an address: `postgres://ada:hunter2@db/shop`.
static LOGIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?P<start>\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+@"));

/// A value behind the word for it: `password: "…"`, `Pwd=…;`, `DB_PASSWORD=…`.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?P<start>\b(?:[A-Za-z0-9]*[_-])*(?i:pass(?:word|wd|phrase|code)|pwd|secret|token|api[_ -]?key|access[_ -]?key|account[_ -]?key|private[_ -]?key|credential)s?(?P<sign>[ \t]*(?:=|:|\bis\b)[ \t]*)(?P<quote>["'`]?))(?P<value>[^\s"'`;,)\]}]+)"#,
    )
});

/// Shorter values are words.
const VALUE_CHARS_MIN: usize = 5;

/// `text` with every password and every login in an address covered for good.
pub(super) fn cover(text: &str) -> String {
    let text = LOGIN.replace_all(text, |found: &Captures| format!("{}{COVER}@", &found["start"]));
    let cover = |found: &Captures| match is_secret(found) {
        true => format!("{}{COVER}", &found["start"]),
        false => found[0].to_string(),
    };
    VALUE.replace_all(&text, cover).into_owned()
}

/// Whether a value is one, and no word about it (`password: required`), no place to be filled in
/// and no name of where it is kept.
fn is_secret(found: &Captures) -> bool {
    let value = &found["value"];
    let is_filled = !value.starts_with(['$', '<', '{', '[', '%', '*']);
    let is_set = &found["sign"] == "=";
    let is_quoted = !found["quote"].is_empty();
    let has = |is: fn(char) -> bool| value.contains(is);
    let is_mixed = has(|c| c.is_ascii_digit())
        || has(|c| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '_' | '/' | ':' | '('));
    let is_call = value.contains('(') || value.contains("env.");
    value.chars().count() >= VALUE_CHARS_MIN
        && is_filled
        && !is_call
        && (is_mixed || is_set || is_quoted)
}

/// Prepares the patterns.
pub(super) fn prepare() {
    LazyLock::force(&LOGIN);
    LazyLock::force(&VALUE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(cover(text), want);
    }

    #[test]
    fn passwords_and_logins_go_for_good() {
        check(
            "at postgres://ada:hunter2@db:5432/shop now",
            "at postgres://[secret]@db:5432/shop now",
        );
        check("redis://:p4ss@cache", "redis://[secret]@cache");
        check("password: hunter2!", "password: [secret]");
        check("Password=abcdef;Server=x", "Password=[secret];Server=x");
        check("DB_PASSWORD=postgres", "DB_PASSWORD=[secret]");
        check("the password is Tr0ub4dor", "the password is [secret]");
        check("api_key = 'abcdefgh'", "api_key = '[secret]'");
        check("AccountKey=abc123==;x", "AccountKey=[secret];x");
    }

    #[test]
    fn words_about_passwords_stay() {
        for text in [
            "password: required, token: optional",
            "Hash every password with argon2id; the password is hashed",
            "API_TOKEN=$TOKEN, password=<yours>, secret: ${{ secrets.X }}",
            "token = get_token(), key: value, the token is short",
            "see https://example.com:8443/a@b",
            "password policy: 12 characters",
        ] {
            check(text, text);
        }
    }
}
