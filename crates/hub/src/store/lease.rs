//! The right to write a run: held by one living process at a time, and given back by the kernel
//! when that process dies in whatever way.

use super::file::{cannot_create, create_folder, private_file};
use althing_stdx::{Fault, Kind, Result};
use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{io, time::Duration};

/// A lock may be held for a moment by someone who only looks: tried again so often, after this
/// pause; then the run counts as `Busy`.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);
/// Files looked at when a store is opened; more stay for the next time.
const SWEPT_MAX: usize = 1000;

/// The right to write one run, for as long as this value lives.
#[derive(Debug)]
pub struct Lease {
    run: String,
    hold: Hold,
}

#[derive(Debug)]
enum Hold {
    /// A locked file; the lock ends with it.
    File {
        path: PathBuf,
        _locked: File,
    },
    Memory(Held),
}

type Held = Arc<Mutex<HashSet<String>>>;

impl Lease {
    /// The run that may be written.
    pub fn run(&self) -> &str {
        &self.run
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        match &self.hold {
            // Before the lock ends, so that nobody else's new file is removed. One that stays
            // behind does no harm.
            Hold::File { path, .. } => drop(fs::remove_file(path)),
            Hold::Memory(held) => {
                let mut held = held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                held.remove(&self.run);
            }
        }
    }
}

/// Where the leases of a store are kept.
pub(super) enum Leases {
    /// A lock file per run in this folder.
    Folder(PathBuf),
    /// A store in memory has no other process.
    Memory(Held),
}

impl Leases {
    /// Takes the lease of `run`, or says that it is taken.
    pub async fn take(&self, run: &str) -> Result<Lease> {
        check_name(run)?;
        for attempt in 1..=TRIES_MAX {
            if let Some(hold) = self.try_take(run)? {
                return Ok(Lease { run: run.to_string(), hold });
            }
            if attempt < TRIES_MAX {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Err(Fault::new(Kind::Busy, format!("run {run} is being written by another process")))
    }

    /// Whether somebody writes `run` at this moment.
    pub fn is_taken(&self, run: &str) -> bool {
        match self {
            Leases::Folder(folder) => File::open(file_of(folder, run))
                .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))),
            Leases::Memory(held) => held.lock().is_ok_and(|held| held.contains(run)),
        }
    }

    /// Removes what killed processes left behind.
    pub fn sweep(&self) {
        let Leases::Folder(folder) = self else { return };
        // No folder: nothing was ever left behind.
        let Ok(files) = fs::read_dir(folder) else { return };
        for file in files.flatten().take(SWEPT_MAX) {
            let path = file.path();
            if path.extension().is_some_and(|extension| extension == "lock") {
                // What cannot be locked is in use, and what cannot be removed does no harm.
                drop(lock(&path).map(|locked| locked.map(|_locked| fs::remove_file(&path))));
            }
        }
    }

    fn try_take(&self, run: &str) -> Result<Option<Hold>> {
        let folder = match self {
            Leases::Folder(folder) => folder,
            Leases::Memory(held) => {
                let mut set = held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                return Ok(set.insert(run.to_string()).then(|| Hold::Memory(held.clone())));
            }
        };
        create_folder(folder).map_err(|error| cannot_create(folder, &error))?;
        let path = file_of(folder, run);
        let locked = lock(&path).map_err(|error| cannot_create(&path, &error))?;
        Ok(locked.map(|file| Hold::File { path, _locked: file }))
    }
}

/// Opens and locks `path`. None: another has it, or removed the file between the two steps, and a
/// lock on a file without a name guards nothing.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = private_file().create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let number = file.metadata()?.ino();
    let is_there = fs::metadata(path).is_ok_and(|named| named.ino() == number);
    Ok(is_there.then_some(file))
}

fn file_of(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.lock"))
}

/// A name that stays inside the folder.
fn check_name(run: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !run.is_empty() && run.chars().all(is_plain) {
        return Ok(());
    }
    Err(Fault::invalid("run: a name has only letters, digits, `-` and `_`"))
}
