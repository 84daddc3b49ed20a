//! The question and the files that come with it.

use althing_assembly::event::Quoted;
use althing_chat::Attachment;
use althing_hub::attach::{DOCUMENT_BYTES_MAX, is_attachment, read_attachment};
use althing_hub::runs::{CONTEXT_BYTES_MAX, QUESTION_CHARS_MAX};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Files of one question.
const FILES_MAX: usize = 32;
/// Of a question in bytes: what the limit in characters can take up at most.
const QUESTION_BYTES_MAX: usize = QUESTION_CHARS_MAX * 4;

/// Of a key.
const SECRET_BYTES_MAX: usize = 16 * 1024;

/// What was asked.
#[derive(Debug, PartialEq)]
pub struct Input {
    pub question: String,
    pub context: Vec<Quoted>,
    /// Pictures and PDFs among the files.
    pub attachments: Vec<Attachment>,
}

/// Reads the question from the argument, standard input or the only file, and the other files as
/// context. Standard input is read only where somebody asked for it or nothing else is the question.
pub fn read(question: Option<&str>, files: &[PathBuf]) -> Result<Input> {
    if files.len() > FILES_MAX {
        return Err(Fault::invalid(format!("--file: {} files; at most {FILES_MAX}", files.len())));
    }
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    let wants_stdin = question == Some("-") || files.iter().any(is_stdin);
    if question == Some("-") && files.iter().any(is_stdin) {
        return Err(Fault::invalid("standard input can be the question or a file, not both"));
    }
    let is_piped = !std::io::stdin().is_terminal();
    let (mut context, mut attachments) = (Vec::new(), Vec::new());
    for path in files {
        let (name, what, bytes) = (name_of(path), what_is(path), read_file(path)?);
        match read_attachment(&what, &bytes)? {
            Some(it) => attachments.push(Attachment { name, ..it }),
            None => context.push(Quoted { name, text: text_of(bytes, &what, CONTEXT_BYTES_MAX)? }),
        }
    }
    check_size(&context)?;
    let question = match question {
        Some("-") => read_stdin("the question", QUESTION_BYTES_MAX)?,
        Some(question) => question.to_string(),
        None if context.len() == 1 => context.remove(0).text,
        None if is_piped && !wants_stdin => read_stdin("the question", QUESTION_BYTES_MAX)?,
        None => {
            return Err(Fault::invalid(
                "no question: give it as an argument, by --file or on standard input",
            ));
        }
    };
    if question.trim().is_empty() {
        return Err(Fault::invalid("question: it is empty"));
    }
    Ok(Input { question: question.trim().to_string(), context, attachments })
}

/// A secret: typed unseen at the terminal, or the first line of standard input. None where that is
/// empty.
pub fn secret(prompt: &str) -> Result<Option<Secret>> {
    let typed = match std::io::stdin().is_terminal() {
        true => unseen(prompt)?,
        false => first_line(std::io::stdin().lock(), "the key", SECRET_BYTES_MAX)?,
    };
    Ok(Some(typed.trim()).filter(|key| !key.is_empty()).map(Secret::new))
}

/// Whatever comes after the line is not waited for: a pipe may stay open.
fn first_line(source: impl Read, what: &str, bytes_max: usize) -> Result<String> {
    let mut bytes = Vec::new();
    let mut limited = BufReader::new(source.take(bytes_max as u64 + 1));
    let read = limited.read_until(b'\n', &mut bytes);
    read.map_err(|e| Fault::invalid(format!("{what}: {e}")))?;
    text_of(bytes, what, bytes_max)
}

/// A line from the terminal that is not echoed. Ctrl-C would leave the terminal silent, so it is
/// switched off with the echo and read as a character.
fn unseen(prompt: &str) -> Result<String> {
    let failed = |e: rustix::io::Errno| Fault::internal(format!("the terminal: {e}"));
    let terminal = std::io::stdin();
    let before = tcgetattr(&terminal).map_err(failed)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    crate::printer::tell(prompt);
    // The question first, and all that was told before it.
    crate::printer::finish_telling();
    tcsetattr(&terminal, OptionalActions::Now, &silent).map_err(failed)?;
    let mut line = String::new();
    let read = terminal.read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Now, &before).map_err(failed)?;
    crate::printer::tell("\n");
    read.map_err(|e| Fault::invalid(format!("the key: {e}")))?;
    if line.contains('\x03') { Err(Fault::new(Kind::Cancelled, "stopped")) } else { Ok(line) }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| name != "-").unwrap_or("standard input".into())
}

/// How errors call a file.
fn what_is(path: &Path) -> String {
    format!("--file {}", path.display())
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    let what = what_is(path);
    if path.as_os_str() == "-" {
        return read_any(std::io::stdin().lock(), &what);
    }
    let kind = |e: &std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => Kind::NotFound,
        _ => Kind::InvalidParams,
    };
    let file =
        std::fs::File::open(path).map_err(|e| Fault::new(kind(&e), format!("{what}: {e}")))?;
    read_any(file, &what)
}

/// A picture or a document is longer than a text may be.
fn read_any(mut source: impl Read, what: &str) -> Result<Vec<u8>> {
    let text = read_bytes(&mut source, what, CONTEXT_BYTES_MAX)?;
    if !is_attachment(&text) {
        return Ok(text);
    }
    let rest = read_bytes(source, what, DOCUMENT_BYTES_MAX)?;
    Ok([text, rest].concat())
}

fn read_stdin(what: &str, bytes_max: usize) -> Result<String> {
    read_text(std::io::stdin().lock(), what, bytes_max)
}

fn read_text(source: impl Read, what: &str, bytes_max: usize) -> Result<String> {
    text_of(read_bytes(source, what, bytes_max)?, what, bytes_max)
}

/// At most one byte more than `bytes_max`, which tells that there is more.
fn read_bytes(source: impl Read, what: &str, bytes_max: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut limited = source.take(bytes_max as u64 + 1);
    limited.read_to_end(&mut bytes).map_err(|e| Fault::invalid(format!("{what}: {e}")))?;
    Ok(bytes)
}

fn text_of(bytes: Vec<u8>, what: &str, bytes_max: usize) -> Result<String> {
    if bytes.len() > bytes_max {
        return Err(Fault::invalid(format!("{what}: more than {bytes_max} bytes")));
    }
    if bytes.contains(&0) {
        return Err(Fault::invalid(format!("{what}: not a text")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn check_size(context: &[Quoted]) -> Result<()> {
    let bytes: usize = context.iter().map(|file| file.text.len()).sum();
    if bytes <= CONTEXT_BYTES_MAX {
        return Ok(());
    }
    Err(Fault::invalid(format!("--file: {bytes} bytes together; at most {CONTEXT_BYTES_MAX}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_file_is_the_question_and_others_are_context() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.md"), folder.path().join("b.md"));
        std::fs::write(&a, "Why?\n").unwrap();
        std::fs::write(&b, "because").unwrap();
        assert_eq!(
            read(None, std::slice::from_ref(&a)).unwrap(),
            Input { question: "Why?".into(), context: vec![], attachments: vec![] }
        );
        let both = read(Some("How?"), &[a, b]).unwrap();
        assert_eq!(both.question, "How?");
        assert_eq!(both.context[1], Quoted { name: "b.md".into(), text: "because".into() });
    }

    #[test]
    fn a_key_is_the_first_line() {
        let line = |text: &str| first_line(text.as_bytes(), "the key", 8);
        assert_eq!(line("a key\nmore and more"), Ok("a key\n".into()));
        assert_eq!(line(""), Ok(String::new()));
        assert_eq!(line("123456789\n").unwrap_err().message, "the key: more than 8 bytes");
        assert_eq!(line("a\0b\n").unwrap_err().message, "the key: not a text");
    }

    #[test]
    fn what_is_wrong_is_named() {
        #[track_caller]
        fn check(bytes: &[u8], want: &str) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("f");
            std::fs::write(&path, bytes).unwrap();
            let fault = read(Some("q"), &[path]).unwrap_err();
            assert!(fault.message.ends_with(want), "{}", fault.message);
        }
        check(b"a\0b", "f: not a text");
        check(&vec![b'x'; CONTEXT_BYTES_MAX + 1], "f: more than 262144 bytes");
        let missing = read(Some("q"), &["no-such-file".into()]).unwrap_err();
        assert_eq!(missing.kind, Kind::NotFound);
        let many = vec![PathBuf::from("x"); FILES_MAX + 1];
        assert!(read(Some("q"), &many).unwrap_err().message.contains("at most 32"));
        assert!(read(Some("-"), &["-".into()]).is_err());
    }
}
