//! What an agent wrote, kept in a file: without keys, and not without end.

use althing_stdx::redact::redact;
use althing_stdx::{Fault, Result};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of one file; what comes after is only mentioned.
const FILE_BYTES_MAX: usize = 16 << 20;
const CUT: &[u8] = b"[... the rest is left out ...]\n";

pub(super) struct Raw {
    file: File,
    room: usize,
}

impl Raw {
    /// A new file in `folder`, which is made if need be; both are for the person only.
    pub(super) fn open(folder: Option<&Path>, name: &str) -> Result<Option<Raw>> {
        let Some(folder) = folder else { return Ok(None) };
        let open = || -> io::Result<File> {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options.open(folder.join(name))
        };
        let failed = |error| Fault::internal(format!("cannot keep the output: {error}"));
        Ok(Some(Raw { file: open().map_err(failed)?, room: FILE_BYTES_MAX }))
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
