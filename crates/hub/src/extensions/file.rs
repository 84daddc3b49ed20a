//! The message on the disk.

use super::{Document, Form};
use crate::config::edit::replace;
use althing_exthost::document::DOCUMENT_BYTES_MAX;
use althing_stdx::{Fault, Kind, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

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
    replace(path, text.as_bytes()).map_err(|error| {
        Fault::new(Kind::NotFound, format!("{} cannot be written: {error}", path.display()))
    })
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
