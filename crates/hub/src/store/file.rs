//! The database file: created private, opened by several processes at once, brought up to date in
//! place, and never deleted.

use super::schema;
use crate::data_folder::secure_data_folder;
use althing_stdx::{Fault, Kind, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io, time::Duration};

/// How long a statement waits for another process; then it fails with `Busy`.
pub(super) const BUSY_WAIT_MAX: Duration = Duration::from_secs(5);
/// How often switching to the write-ahead log is tried while others do the same; then `Busy`.
const WAL_TRIES_MAX: u32 = 50;

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Where a store lives.
#[derive(Debug, Clone)]
pub(super) enum Place {
    File(PathBuf),
    /// In this process only, under this number.
    Memory(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => write!(f, "{}", path.display()),
            Place::Memory(_) => f.write_str("the history in memory"),
        }
    }
}

/// Why a statement or what surrounds it failed.
#[derive(Debug)]
pub(super) enum Trouble {
    Sql(rusqlite::Error),
    Ours(Fault),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        Trouble::Sql(error)
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Ours(fault)
    }
}

impl Place {
    /// A store of its own that ends with its connections.
    pub fn memory() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Place::Memory(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The connection that writes: makes and updates the file where that is needed.
    pub fn open(&self) -> Result<Connection> {
        if let Place::File(path) = self {
            if let Some(folder) = path.parent() {
                secure_data_folder(folder)?;
            }
            create(path).map_err(|error| cannot_create(path, &error))?;
        }
        let ready = || -> Result<Connection, Trouble> {
            let mut db = self.connect()?;
            let mode = match self {
                Place::File(_) => "WAL",
                Place::Memory(_) => "MEMORY",
            };
            set_journal(&db, mode)?;
            schema::migrate(&mut db, self)?;
            Ok(db)
        };
        ready().map_err(|trouble| self.fault(trouble))
    }

    /// A further connection that only reads.
    pub fn open_to_read(&self) -> Result<Connection> {
        let ready = || {
            let db = self.connect()?;
            db.pragma_update(None, "query_only", true)?;
            Ok(db)
        };
        ready().map_err(|error: rusqlite::Error| self.fault(error.into()))
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = match self {
            Place::File(path) => Connection::open_with_flags(path, flags)?,
            Place::Memory(number) => Connection::open_with_flags(
                format!("file:/althing-{number}?vfs=memdb"),
                flags | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_URI,
            )?,
        };
        db.busy_timeout(BUSY_WAIT_MAX)?;
        db.pragma_update(None, "foreign_keys", true)?;
        // With the write-ahead log a killed process loses nothing, and a power cut at most the end.
        db.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(db)
    }

    /// What a person can do about it.
    pub fn fault(&self, trouble: Trouble) -> Fault {
        let error = match trouble {
            Trouble::Ours(fault) => return fault,
            Trouble::Sql(error) => error,
        };
        let message = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => format!(
                "{self} is damaged or not a history of Althing. Nothing was changed in it: put a \
                 good copy in its place, or move it away to begin a new one"
            ),
            Some(ErrorCode::DiskFull) => format!("{self}: the disk is full"),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                format!("{self} cannot be written: check its permissions and its folder's")
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                let seconds = BUSY_WAIT_MAX.as_secs();
                let message = format!("{self}: another process kept it locked for {seconds} s");
                return Fault::new(Kind::Busy, message).source(error);
            }
            _ => format!("{self}: {error}"),
        };
        Fault::internal(message).source(error)
    }
}

/// Makes a folder that only its owner can enter. One that is there stays as it is.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)
}

/// Options for a file that only its owner can read.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(FILE_MODE);
    options
}

/// A fault about a path that could not be made.
pub(super) fn cannot_create(path: &Path, error: &io::Error) -> Fault {
    Fault::internal(format!("cannot create {}: {error}", path.display())).source(error)
}

/// Makes the file before SQLite does, which would let others read it.
fn create(path: &Path) -> io::Result<()> {
    // Closing a file drops every lock this process has on it, those of SQLite too. So nobody may be
    // past this point while the new file is open here, and one that is there is never opened.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match private_file().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => return created.map(drop),
    }
    let found = fs::symlink_metadata(path)?;
    // The file behind a link is the person's own arrangement: its mode stays.
    if !found.is_symlink() && found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(FILE_MODE))?;
    }
    Ok(())
}

/// SQLite does not wait by itself where two switch at the same time.
fn set_journal(db: &Connection, mode: &str) -> rusqlite::Result<()> {
    let switch = || db.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()));
    for _ in 1..WAL_TRIES_MAX {
        match switch() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                // This does wait, until whoever is in the way has finished.
                db.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
            }
            done => return done,
        }
    }
    switch()
}
