//! The message on the disk.

use super::{Document, Form};
use crate::config::edit::replace;
use althing_exthost::document::DOCUMENT_BYTES_MAX;
use althing_stdx::{Fault, Kind, Result};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Unsaved messages that are kept under one name; one more is lost, and told of.
const KEPT_MAX: usize = 100;

/// Reads a document; its form is what its name or its beginning says. `-` is standard input.
pub fn open(path: &Path) -> Result<Document> {
    let shown = path.display();
    let wrong = |why: String| Fault::invalid(format!("message: {shown}: {why}"));
    let mut bytes = Vec::new();
    let most = DOCUMENT_BYTES_MAX as u64 + 1;
    let is_stdin = path.as_os_str() == "-";
    let read = match is_stdin {
        true => std::io::stdin().take(most).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Fault::new(Kind::NotFound, format!("message: {shown}: there is no such file"))
        }
        _ => wrong(error.to_string()),
    })?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(wrong(format!("more than {DOCUMENT_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8".into()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let document = Document::new(Form::of(&name, &text), text);
    match is_stdin {
        true => Ok(document),
        false => {
            let file = std::path::absolute(path).map_err(|error| wrong(error.to_string()))?;
            Ok(document.in_file(file))
        }
    }
}

/// Writes a document, all at once.
pub fn save(path: &Path, text: &str) -> Result<()> {
    replace(path, text.as_bytes()).map_err(|error| unwritable(path, &error))
}

/// The same, but nothing is lost that nobody has seen: a file that has something else than `known` (or
/// is there at all, where nothing is known of it) is not replaced, which is a 409.
pub fn save_over(path: &Path, text: &str, known: Option<&str>) -> Result<()> {
    let is_new = reserve(path)?;
    if !is_new {
        let bytes = std::fs::metadata(path).map_err(|error| unwritable(path, &error))?.len();
        let is = |known: &str| is_text(path, bytes, known);
        // What is to be written may be there already: another one wrote the same.
        if !known.is_some_and(is) && !is(text) {
            let shown = path.display();
            let what = match known {
                Some(_) => format!("{shown} was changed by another program since it was opened"),
                None => format!("{shown} exists already"),
            };
            return Err(Fault::invalid(format!("path: {what}; it is not replaced")).status(409));
        }
    }
    save(path, text).inspect_err(|_| {
        if is_new {
            // An empty file in its place helps nobody; the error that matters is the first.
            let _ = std::fs::remove_file(path);
        }
    })
}

/// Makes the file if there is none; false if there is one.
fn reserve(path: &Path) -> Result<bool> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// Whether a file of so many bytes has this text; one that cannot be read has not.
fn is_text(path: &Path, bytes: u64, text: &str) -> bool {
    bytes == text.len() as u64 && std::fs::read(path).is_ok_and(|found| found == text.as_bytes())
}

/// Keeps changes that nobody saved when the program ends, in a new file of `folder`.
pub fn keep(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| unwritable(folder, &error))?;
    for number in 1..=KEPT_MAX {
        let path = folder.join(format!("{number}-{name}"));
        if reserve(&path)? {
            return save(&path, text).map(|()| path);
        }
    }
    let text = format!("{} is full: {KEPT_MAX} unsaved messages", folder.display());
    Err(Fault::invalid(text))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(Kind::NotFound, format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
#[test]
fn a_document_comes_back_as_it_went() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.hl7");
    assert_eq!(open(&path).unwrap_err().kind, Kind::NotFound);
    save(&path, "MSH|^~\\&|\r").unwrap();
    let document = open(&path).unwrap();
    assert_eq!((document.form(), document.text()), (Form::Hl7, "MSH|^~\\&|\r"));
    assert_eq!(document.file(), Some(&path));
    save(&path, "").unwrap();
    assert_eq!(open(&path).unwrap().text(), "");
    std::fs::write(&path, b"\xff").unwrap();
    assert!(open(&path).unwrap_err().message.ends_with("is not UTF-8"));
    assert!(save(&home.path().join("none/b"), "x").is_err());
}

#[cfg(test)]
#[test]
fn what_nobody_has_seen_is_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.hl7");
    let read = || std::fs::read_to_string(&path).unwrap();
    save_over(&path, "one", None).unwrap();
    let exists = save_over(&path, "two", None).unwrap_err();
    assert_eq!((exists.status, read()), (Some(409), "one".into()));
    assert!(exists.message.contains("exists already"), "{exists}");
    save_over(&path, "two", Some("one")).unwrap();
    std::fs::write(&path, "another's").unwrap();
    let changed = save_over(&path, "three", Some("two")).unwrap_err();
    assert!(changed.message.contains("was changed by another program"), "{changed}");
    assert_eq!((changed.status, read()), (Some(409), "another's".into()));
    save_over(&path, "another's", Some("two")).unwrap();
    // One that was removed is written anew.
    std::fs::remove_file(&path).unwrap();
    save_over(&path, "four", Some("two")).unwrap();
    assert_eq!(read(), "four");
    let kept: Vec<_> = (0..2).map(|_| keep(home.path(), "a.hl7", "x").unwrap()).collect();
    assert!(kept[0] != kept[1] && kept.iter().all(|path| path.is_file()));
}
