//! The file itself. Some libraries write it in place, so for a moment it may be empty or half.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::limits::REGISTRY_BYTES_MAX;
use crate::wait::pause;

pub(super) const NAME: &str = "services.json";
/// How often a file that cannot be read is read again, and how far apart: somebody may be writing.
const READS_MAX: usize = 5;
const READ_PAUSE: Duration = Duration::from_millis(20);

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
            Ok(about) if about.len() > REGISTRY_BYTES_MAX => return Err(Unread::Broken),
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

/// Where the file is: a link to it stays a link.
fn place(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(NAME);
    match path.is_symlink() {
        true => match fs::canonicalize(&path) {
            // It is made where the link leads to.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(folder.join(fs::read_link(&path)?))
            }
            place => place,
        },
        false => Ok(path),
    }
}

/// A name of its own beside a file.
fn beside(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Puts a broken file aside under a name of its own, and begins anew. An empty one holds nothing.
pub(super) fn repair(folder: &Path) -> io::Result<Entries> {
    let path = place(folder)?;
    if fs::metadata(&path)?.len() > 0 {
        fs::rename(&path, beside(&path, &format!(".broken-{}", crate::id::fresh())))?;
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
    let place = place(folder)?;
    let draft = beside(&place, &format!(".{}.tmp", crate::id::fresh()));
    let written = write_to(&draft, entries)
        .and_then(|()| is_allowed())
        .and_then(|()| fs::rename(&draft, place));
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&draft);
    }
    written
}

fn write_to(path: &Path, entries: &Entries) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    serde_json::to_writer_pretty(&mut file, entries)?;
    file.write_all(b"\n")?;
    file.sync_all()
}
