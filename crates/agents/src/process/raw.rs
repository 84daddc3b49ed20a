//! What an agent wrote, kept in a file: without keys, and not without end.

use althing_stdx::redact::redact;
use althing_stdx::{Fault, Result};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of one file; what comes after is only mentioned.
const FILE_BYTES_MAX: usize = 16 << 20;
/// Starts whose output is kept in one folder; one more is a failure.
const STARTS_MAX: usize = 1000;
const CUT: &[u8] = b"[... the rest is left out ...]\n";

pub(super) struct Raw {
    file: File,
    room: usize,
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
        Ok(Some(Raw { file, room: FILE_BYTES_MAX }))
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.room == 0 {
            return;
        }
        let line = redact(line) + "\n";
        let bytes = if line.len() <= self.room { line.as_bytes() } else { CUT };
        self.room = if line.len() <= self.room { self.room - line.len() } else { 0 };
        // A full disk is no reason to lose an answer.
        if self.file.write_all(bytes).is_err() {
            self.room = 0;
        }
    }
}
