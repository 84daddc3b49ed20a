//! What a worker or an extension prints, in a file of its own with a limit. Who has none loses nothing
//! but its words.

use crate::log::now_ms;
use althing_stdx::redact::redact;
use althing_stdx::text::{clip, printable};
use althing_stdx::{Fault, Kind, Result};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file that has grown so long becomes the old one, whose words are gone then.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Characters of a line; a longer one is cut.
const LINE_CHARS_MAX: usize = 2_000;
const END: &str = "log";
const OLD_END: &str = "old.log";

/// The log of one of them. Clones write the same one.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    folder: PathBuf,
    name: String,
    page: Arc<Mutex<Option<Page>>>,
}

/// The file as it is being written.
#[derive(Debug)]
struct Page {
    file: File,
    /// Bytes that still fit.
    room: u64,
}

/// One line, safe for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub at_ms: u64,
    /// `out`, `err`, or `althing` for what we say of it; of an extension also how much it matters.
    pub from: String,
    pub text: String,
}

impl Log {
    pub(crate) fn new(folder: &Path, name: &str) -> Log {
        Log { folder: folder.into(), name: name.into(), page: Arc::default() }
    }

    /// Every worker that has a log in `folder`.
    pub(crate) fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let name = |file: fs::DirEntry| {
            let name = file.file_name().to_string_lossy().into_owned();
            Some(name.strip_suffix(&format!(".{END}"))?.to_string())
        };
        let names = files.filter_map(name).filter(|name| !name.ends_with(".old"));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Adds what was printed. It is called from where a worker's output is read, so it must not
    /// fail, and what cannot be written is lost.
    pub(crate) fn add(&self, from: &str, text: &str) {
        let at = now_ms();
        let lines = text.lines().map(|line| {
            let line = printable(&redact(&clip(line, LINE_CHARS_MAX)));
            format!("{at} {from} {line}\n")
        });
        let lines: String = lines.collect();
        // Told in the comment above.
        let _ = self.write(&lines);
    }

    fn write(&self, lines: &str) -> std::io::Result<()> {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        if page.as_ref().is_none_or(|page| page.room == 0) {
            *page = None;
            *page = Some(self.open()?);
        }
        let Some(page) = page.as_mut() else { return Ok(()) };
        page.room = page.room.saturating_sub(lines.len() as u64);
        // One write at the end of the file: several processes may have the same worker.
        page.file.write_all(lines.as_bytes())
    }

    fn open(&self) -> std::io::Result<Page> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let (path, old) = (self.path(END), self.path(OLD_END));
        if fs::metadata(&path).is_ok_and(|found| found.len() >= FILE_BYTES_MAX) {
            fs::rename(&path, old)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let room = FILE_BYTES_MAX.saturating_sub(file.metadata()?.len()).max(1);
        Ok(Page { file, room })
    }

    fn path(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}.{end}", self.name))
    }

    /// The last lines.
    pub(crate) fn last(&self, lines_max: usize) -> Result<Vec<Line>> {
        let is_name = !self.name.contains(['/', '\0']) && !self.name.starts_with('.');
        if !is_name || !self.path(END).exists() {
            let text = format!("'{}' has printed nothing yet", self.name);
            return Err(Fault::new(Kind::NotFound, text));
        }
        let text = [OLD_END, END].map(|end| read(&self.path(end)).unwrap_or_default()).concat();
        let lines: Vec<Line> = text.lines().filter_map(line).collect();
        Ok(lines[lines.len().saturating_sub(lines_max)..].to_vec())
    }
}

/// The file, or the end of one that is longer than we ever write.
fn read(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(2 * FILE_BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.take(2 * FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn line(text: &str) -> Option<Line> {
    let (at, rest) = text.split_once(' ')?;
    let (from, text) = rest.split_once(' ')?;
    let (from, text) = (printable(from), printable(text));
    Some(Line { at_ms: at.parse().ok()?, from, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn lines_are_kept_safe_and_few() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("workers");
        let log = Log::new(&folder, "calc");
        assert_eq!(log.last(9).unwrap_err().kind, Kind::NotFound);
        assert_eq!(Log::new(&folder, "../x").last(9).unwrap_err().kind, Kind::NotFound);
        log.add("out", "one\ntwo \x1b[31m");
        log.add("err", "key sk-proj-abcdefghijklmnop-1234");
        let lines = log.last(2).unwrap();
        assert_eq!((lines[0].from.as_str(), lines[0].text.as_str()), ("out", "two \\u{1b}[31m"));
        assert!(lines[1].from == "err" && !lines[1].text.contains("abcdefgh"), "{lines:?}");
        let mode = log.path(END).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(Log::names(&folder), ["calc"]);

        let long = "x".repeat(5_000);
        for _ in 0..3_000 {
            log.add("out", &long);
        }
        log.add("out", "last");
        let sizes = [END, OLD_END].map(|end| log.path(end).metadata().unwrap().len());
        assert!(sizes.iter().all(|size| *size < FILE_BYTES_MAX + 10_000), "{sizes:?}");
        assert_eq!(log.last(1).unwrap()[0].text, "last");
        assert_eq!(Log::names(&folder), ["calc"]);
    }
}
