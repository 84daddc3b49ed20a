//! The living agents, noted in small files: who started them, and what has to be ended if that
//! process was killed and could not end them itself.

use super::workspace::PREFIX;
use crate::invocation::GUARD;
use althing_stdx::strays::{self, began};
use althing_stdx::{Fault, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Entries that one sweep looks at; the next one goes on.
const ENTRIES_MAX: usize = 1000;
/// The longest entry; a longer file is none.
const ENTRY_BYTES_MAX: u64 = 16 << 10;

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    pid: u32,
    /// When it began, in ticks since the machine did; unknown where the system does not tell.
    began: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    owner: Process,
    /// The leader of the group, once it was started.
    agent: Option<Process>,
    /// Its temporary folder.
    folder: PathBuf,
}

/// One living agent. Dropping it removes the note.
#[derive(Debug)]
pub(super) struct Entry {
    id: String,
    file: PathBuf,
    note: Note,
}

impl Entry {
    /// Notes an agent that is about to be started.
    pub(super) fn open(ledger: &Path, folder: &Path) -> Result<Entry> {
        let owner = Process::of(std::process::id());
        let id = format!("{}-{:016x}", owner.pid, fastrand::u64(..));
        let file = ledger.join(format!("{id}.json"));
        let note = Note { owner, agent: None, folder: folder.to_path_buf() };
        let entry = Entry { id, file, note };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(ledger);
        let failed = |error| Fault::internal(format!("cannot note an agent: {error}"));
        made.and_then(|()| entry.write()).map_err(failed)?;
        Ok(entry)
    }

    /// What marks the processes of this agent.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn started(&mut self, pid: u32) -> io::Result<()> {
        self.note.agent = Some(Process::of(pid));
        self.write()
    }

    /// Ends what left the group.
    pub(super) fn end_strays(&self) {
        strays::end(GUARD, &self.id);
    }

    /// Whole or not at all.
    fn write(&self) -> io::Result<()> {
        let new = self.file.with_extension("new");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(&self.note)?)?;
        fs::rename(new, &self.file)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // One that is left says nothing wrong: its agent is gone.
        let _ = fs::remove_file(&self.file);
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
    let Ok(entries) = fs::read_dir(ledger) else { return 0 };
    let files = entries.flatten().map(|entry| entry.path()).take(ENTRIES_MAX);
    files.filter(|file| swept(file)).count()
}

fn swept(file: &Path) -> bool {
    let Some(id) = file.file_stem().and_then(|id| id.to_str()) else { return false };
    let is_entry = file.extension().is_some_and(|it| it == "json");
    let Some(note) = is_entry.then(|| read(file)).flatten() else { return false };
    if note.owner.lives() {
        return false;
    }
    if let Some(agent) = note.agent.filter(|agent| agent.lives()).and_then(|it| pid(it.pid)) {
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

fn read(file: &Path) -> Option<Note> {
    if fs::metadata(file).ok()?.len() > ENTRY_BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&fs::read(file).ok()?).ok()
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
