//! What an agent wrote, kept in a file: without keys, and of what has no end the head and the tail.

use crate::keep::Keep;
use althing_stdx::redact::Lines;
use althing_stdx::{Fault, Result};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of one file that are written as they come. Of what comes after, the first and the last
/// [`TAIL_BYTES_MAX`] follow at the end, and the rest is counted.
const HEAD_BYTES_MAX: usize = 16 << 20;
const TAIL_BYTES_MAX: usize = 128 << 10;
/// Starts whose output is kept in one folder; one more is a failure.
const STARTS_MAX: usize = 1000;

/// One file. Its tail is written when it is dropped.
pub(super) struct Raw {
    file: File,
    lines: Lines,
    room: usize,
    rest: Option<Keep>,
}

/// A new folder for one start of an agent below `folder`, with the first number that is free.
/// Both are for the person only.
pub(super) fn start(folder: Option<&Path>) -> Result<Option<PathBuf>> {
    let Some(folder) = folder else { return Ok(None) };
    let private = |recursive: bool| {
        let mut builder = DirBuilder::new();
        builder.recursive(recursive).mode(0o700);
        builder
    };
    let make = || -> io::Result<PathBuf> {
        private(true).create(folder)?;
        for number in 1..=STARTS_MAX {
            let one = folder.join(number.to_string());
            match private(false).create(&one) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| one),
            }
        }
        Err(io::Error::other(format!("{STARTS_MAX} are kept already")))
    };
    make().map(Some).map_err(failed)
}

fn failed(error: io::Error) -> Fault {
    Fault::internal(format!("cannot keep the output: {error}"))
}

impl Raw {
    /// A new file in `folder`, for the person only.
    pub(super) fn open(folder: Option<&Path>, name: &str) -> Result<Option<Raw>> {
        let Some(folder) = folder else { return Ok(None) };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(folder.join(name)).map_err(failed)?;
        Ok(Some(Raw::new(file, HEAD_BYTES_MAX)))
    }

    fn new(file: File, room: usize) -> Raw {
        Raw { file, lines: Lines::default(), room, rest: None }
    }

    pub(super) fn line(&mut self, line: &str) {
        let line = self.lines.redact(line);
        if let Some(rest) = &mut self.rest {
            return rest.line(&line);
        }
        match self.room.checked_sub(line.len() + 1) {
            Some(room) => {
                self.room = room;
                self.write(&(line + "\n"));
            }
            None => self.rest.insert(Keep::new(TAIL_BYTES_MAX)).line(&line),
        }
    }

    fn write(&mut self, text: &str) {
        // A full disk is no reason to lose an answer.
        if self.file.write_all(text.as_bytes()).is_err() {
            self.room = 0;
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            self.write(&rest.text());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_head_and_the_tail_of_a_flood() {
        const ROOM: usize = 1000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout.txt");
        let mut raw = Raw::new(File::create(&path).unwrap(), ROOM);
        (0..100_000).for_each(|at| raw.line(&at.to_string()));
        drop(raw);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("0\n1\n") && text.ends_with("\n99999\n"));
        assert!(text.contains(" bytes left out …]\n"));
        assert!(text.len() <= ROOM + 2 * TAIL_BYTES_MAX + 100, "{}", text.len());
        let all = |at: usize| text.contains(&format!("\n{at}\n"));
        assert!((1..1000).all(all), "nothing is lost where the head ends");
    }
}
