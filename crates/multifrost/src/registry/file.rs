//! The file itself. Some libraries write it in place, so for a moment it may be empty or half.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::wait::pause;

const NAME: &str = "services.json";
/// How often a file that cannot be read is read again, and how far apart: somebody may be writing.
const READS_MAX: usize = 5;
const READ_PAUSE: Duration = Duration::from_millis(20);
/// A longer file is not read.
const FILE_BYTES_MAX: u64 = 16 << 20;

pub(super) type Entries = Map<String, Value>;

/// Why there are no entries.
#[derive(Debug)]
pub(super) enum Unread {
    Missing,
    Broken,
    Refused(io::Error),
}

pub(super) fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

pub(super) fn read(folder: &Path) -> Result<Entries, Unread> {
    let path = folder.join(NAME);
    for _ in 0..READS_MAX {
        match fs::metadata(&path) {
            Ok(about) if about.len() > FILE_BYTES_MAX => return Err(Unread::Broken),
            _ => {}
        }
        match fs::read(&path) {
            Ok(bytes) => {
                if let Ok(entries) = serde_json::from_slice(&bytes) {
                    return Ok(entries);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Unread::Missing),
            Err(error) => return Err(Unread::Refused(error)),
        }
        pause(READ_PAUSE);
    }
    Err(Unread::Broken)
}

/// Puts a broken file aside under a name of its own, and begins anew. An empty one holds nothing.
pub(super) fn repair(folder: &Path) -> io::Result<Entries> {
    let path = folder.join(NAME);
    if fs::metadata(&path)?.len() > 0 {
        let aside = format!("{NAME}.broken-{}", crate::id::fresh());
        fs::rename(&path, folder.join(aside))?;
    }
    Ok(Map::new())
}

/// Written beside, and then put in its place at once, if that is still allowed: no reader sees half
/// of it.
pub(super) fn write(
    folder: &Path,
    entries: &Entries,
    is_allowed: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let beside = folder.join(format!("{NAME}.{}.tmp", crate::id::fresh()));
    let written = write_to(&beside, entries)
        .and_then(|()| is_allowed())
        .and_then(|()| fs::rename(&beside, folder.join(NAME)));
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_to(path: &Path, entries: &Entries) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    serde_json::to_writer_pretty(&mut file, entries)?;
    file.write_all(b"\n")?;
    file.sync_all()
}
