//! A command of the person's own as an agent: words, no shell.

use crate::reader::Format;
use althing_stdx::{Fault, Result};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

/// How a command gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptMode {
    /// On standard input, which then closes.
    #[default]
    Stdin,
    /// As the last argument; standard input is empty.
    Argument,
}

/// A command that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Custom {
    /// Its id as a model.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    pub prompt: PromptMode,
    /// What its standard output is.
    pub format: Format,
    /// Variables it gets beside the common ones; a `*` ends a prefix.
    pub variables: Vec<String>,
}

impl Custom {
    /// A command as it is written in a file, with its output as the answer.
    pub fn new(name: impl Into<String>, command: &str) -> Result<Custom> {
        let words = words(command)?;
        if words.is_empty() {
            return Err(Fault::invalid("command: is empty"));
        }
        let (prompt, format) = (PromptMode::Stdin, Format::Text);
        Ok(Custom { name: name.into(), words, prompt, format, variables: vec![] })
    }
}

/// `command` with its program at the place that it has from `folder`, so that it means the same in
/// every other one. A program that is looked for on the path stays, and what is no command too.
pub fn anchored(command: &str, folder: &Path) -> String {
    let Ok(mut words) = words(command) else { return command.to_string() };
    let relative = words.first_mut().filter(|it| it.contains('/') && !it.starts_with('/'));
    let Some(program) = relative else { return command.to_string() };
    // Taken apart and put together again, it loses its single dots.
    let place: PathBuf = folder.join(&*program).components().collect();
    *program = place.display().to_string();
    words.iter().map(|word| as_one(word)).collect::<Vec<_>>().join(" ")
}

/// A word in quotes, however it is made.
fn as_one(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Splits as a shell would, without doing anything a shell would: quotes and backslashes only.
pub(crate) fn words(command: &str) -> Result<Vec<String>> {
    let mut chars = command.chars().peekable();
    let mut words = Vec::new();
    while let Some(word) = word(&mut chars)? {
        words.push(word);
    }
    Ok(words)
}

fn word(chars: &mut Peekable<Chars<'_>>) -> Result<Option<String>> {
    while chars.next_if(|c| c.is_whitespace()).is_some() {}
    let Some(_) = chars.peek() else { return Ok(None) };
    let mut word = String::new();
    while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
        match c {
            '\'' | '"' => quoted(chars, c, &mut word)?,
            '\\' => word.push(chars.next().ok_or_else(|| cut("a backslash"))?),
            c => word.push(c),
        }
    }
    Ok(Some(word))
}

/// Up to the closing quote. Inside double quotes a backslash escapes a quote and itself.
fn quoted(chars: &mut Peekable<Chars<'_>>, quote: char, word: &mut String) -> Result<()> {
    loop {
        match chars.next().ok_or_else(|| cut("an open quote"))? {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next().ok_or_else(|| cut("a backslash"))? {
                c @ ('"' | '\\') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

fn cut(what: &str) -> Fault {
    Fault::invalid(format!("command: ends with {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &[&str]) {
        assert_eq!(words(command).unwrap(), expected, "{command}");
    }

    #[test]
    fn words_are_split_and_nothing_is_run() {
        check("", &[]);
        check("  \t\n ", &[]);
        check("a  b\tc", &["a", "b", "c"]);
        check(r#"a 'b c' "d e"f"#, &["a", "b c", "d ef"]);
        check(r#"'' "" x"#, &["", "", "x"]);
        check(r#"a\ b "q\"\\\n" 'x\y'"#, &["a b", r#"q"\\n"#, r"x\y"]);
        check(
            "a;b $(c) `d` | e > f $HOME *",
            &["a;b", "$(c)", "`d`", "|", "e", ">", "f", "$HOME", "*"],
        );
        for command in ["a 'b", "a \"b", "a \\", "\"a\\"] {
            assert!(words(command).unwrap_err().message.starts_with("command: "), "{command}");
        }
        assert_eq!(Custom::new("x", " ").unwrap_err().message, "command: is empty");
    }

    /// The words of a command that is anchored in `/a b`.
    #[track_caller]
    fn check_anchored(command: &str, expected: &[&str]) {
        assert_eq!(words(&anchored(command, Path::new("/a b"))).unwrap(), expected, "{command}");
    }

    #[test]
    fn a_command_means_the_same_from_every_folder() {
        check_anchored("./x", &["/a b/x"]);
        check_anchored("bin/./x ./y 'it''s' \"d'e\"", &["/a b/bin/x", "./y", "its", "d'e"]);
        check_anchored(r"../it\'s '' \\", &["/a b/../it's", "", "\\"]);
        for same in ["x ./y", "/bin/x  -v", "", "./x 'open"] {
            assert_eq!(anchored(same, Path::new("/a b")), same);
        }
    }
}
