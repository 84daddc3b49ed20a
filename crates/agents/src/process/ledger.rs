//! The living agents, noted in small files: who started them, and what has to be ended if that
//! process was killed and could not end them itself.

use super::workspace::PREFIX;
use crate::invocation::GUARD;
use althing_stdx::strays::{self, began};
use althing_stdx::{Fault, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Entries that one sweep looks at; the next one goes on.
const ENTRIES_MAX: usize = 1000;
/// The longest entry; a longer file is none.
const ENTRY_BYTES_MAX: u64 = 16 << 10;

/// How the names of entries end, and of those that are being written.
const WHOLE: &str = "json";
const PART: &str = "new";

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    pid: u32,
    /// When it began, in ticks since the machine did; unknown where the system does not tell.
    began: Option<u64>,
}

/// The first line of an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    owner: Process,
    /// The agent's temporary folder.
    folder: PathBuf,
}

/// One living agent. Dropping it removes the note.
#[derive(Debug)]
pub(super) struct Entry {
    id: String,
    path: PathBuf,
    file: File,
}

impl Entry {
    /// Notes an agent that is about to be started.
    pub(super) fn open(ledger: &Path, folder: &Path) -> Result<Entry> {
        let owner = Process::of(std::process::id());
        let id = format!("{}-{:016x}", owner.pid, fastrand::u64(..));
        let path = ledger.join(&id).with_extension(WHOLE);
        let note = Note { owner, folder: folder.to_path_buf() };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(ledger);
        let failed = |error| Fault::internal(format!("cannot note an agent: {error}"));
        let file = made.and_then(|()| write(&path, &note)).map_err(failed)?;
        Ok(Entry { id, path, file })
    }

    /// What marks the processes of this agent.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Notes the leader of the group: the second line.
    pub(super) fn started(&mut self, pid: u32) -> io::Result<()> {
        self.file.write_all(&line(&Process::of(pid))?)
    }

    /// Ends what left the group.
    pub(super) fn end_strays(&self) {
        strays::end(GUARD, &self.id);
    }
}

/// Whole or not at all; more lines may follow.
fn write(path: &Path, note: &Note) -> io::Result<File> {
    let new = path.with_extension(PART);
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&line(note)?)?;
    fs::rename(new, path)?;
    Ok(file)
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

impl Drop for Entry {
    fn drop(&mut self) {
        // One that is left says nothing wrong: its agent is gone.
        let _ = fs::remove_file(&self.path);
    }
}

impl Process {
    fn of(pid: u32) -> Process {
        Process { pid, began: began(pid) }
    }

    /// Whether it is certain that this very process is alive.
    fn lives(self) -> bool {
        self.began.is_some() && began(self.pid) == self.began
    }
}

/// Ends the agents whose owners are dead, with all that they started, and removes their folders.
/// Tells how many there were. For the start of a program, before it starts agents itself.
pub fn sweep(ledger: &Path) -> usize {
    let count = sweep_notes(ledger);
    super::workspace::sweep();
    count
}

fn sweep_notes(ledger: &Path) -> usize {
    let Ok(entries) = fs::read_dir(ledger) else { return 0 };
    let files = entries.flatten().map(|entry| entry.path()).take(ENTRIES_MAX);
    files.filter(|file| swept(file)).count()
}

fn swept(file: &Path) -> bool {
    let Some(id) = file.file_stem().and_then(|id| id.to_str()) else { return false };
    let is_of = |kind: &str| file.extension().is_some_and(|it| it == kind);
    if is_of(PART) {
        forget_part(file, id);
    }
    let Some((note, agent)) = is_of(WHOLE).then(|| read(file)).flatten() else { return false };
    if note.owner.lives() {
        return false;
    }
    if let Some(agent) = agent.filter(|agent| agent.lives()).and_then(|it| pid(it.pid)) {
        // It may end by itself in this moment.
        let _ = kill_process_group(agent, Signal::KILL);
    }
    strays::end(GUARD, id);
    if is_ours(&note.folder) {
        // Gone already is fine.
        let _ = fs::remove_dir_all(&note.folder);
    }
    // What cannot be removed is swept again, and nothing is there to be ended then.
    let _ = fs::remove_file(file);
    true
}

/// Removes an entry that its owner did not live to finish; nothing was started for it.
fn forget_part(file: &Path, id: &str) {
    let owner = id.split('-').next().and_then(|pid| pid.parse().ok());
    if owner.is_some_and(|pid| began(pid).is_none()) {
        // It is looked at again the next time.
        let _ = fs::remove_file(file);
    }
}

/// The note, and the leader of the group where it was started. Of half a line nothing is known, and
/// what was started then is found by its mark.
fn read(file: &Path) -> Option<(Note, Option<Process>)> {
    if fs::metadata(file).ok()?.len() > ENTRY_BYTES_MAX {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines();
    let note = serde_json::from_str(lines.next()?).ok()?;
    Some((note, lines.next().and_then(|line| serde_json::from_str(line).ok())))
}

/// Only what we could have made is removed.
fn is_ours(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    folder.is_absolute() && name.starts_with(PREFIX) && !folder.is_symlink()
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

#[cfg(test)]
mod tests;
