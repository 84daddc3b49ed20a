//! The vault's file: private, replaced as a whole, changed by one process at a time.

use super::place::KeyPlace;
use super::seal::random;
use althing_stdx::{Fault, Kind, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const NAME: &str = "secrets.json";
const LOCK_NAME: &str = "secrets.lock";
/// A longer file is not read.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long another process may hold the file; then the change fails with `Busy`.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const LOCK_POLL: Duration = Duration::from_millis(20);
const VERSION: u32 = 1;
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// What the file holds.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Vault {
    version: u32,
    pub key: Header,
    /// By id: sealed.
    pub records: BTreeMap<String, String>,
}

/// Which key opens the records, and where it lies.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Header {
    pub place: KeyPlace,
    /// Tells this vault's key from others in the same place.
    pub id: String,
    /// The id, sealed: a wrong key is noticed before anything is written with it.
    pub check: String,
}

/// Changes whenever the file does.
#[derive(PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    modified: (i64, i64),
    bytes: u64,
}

/// Where a vault is.
pub(super) struct VaultFile {
    path: PathBuf,
}

/// Held while the file is read and written back.
pub(super) struct Lock(#[expect(dead_code, reason = "held for what its end does")] File);

impl Vault {
    pub(super) fn new(key: Header) -> Vault {
        Vault { version: VERSION, key, records: BTreeMap::new() }
    }
}

impl VaultFile {
    pub(super) fn below(folder: &Path) -> VaultFile {
        VaultFile { path: folder.join(NAME) }
    }

    /// None where there is no file.
    pub(super) fn stamp(&self) -> Result<Option<Stamp>> {
        match fs::metadata(&self.path) {
            Ok(found) => Ok(Some(Stamp::of(&found))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// What the file holds now; none where there is no file.
    pub(super) fn read(&self) -> Result<Option<(Stamp, Vault)>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unreadable(&error)),
        };
        let stamp = Stamp::of(&file.metadata().map_err(|error| self.unreadable(&error))?);
        let mut bytes = Vec::new();
        let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.unreadable(&error))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(self.damaged(&format!("it is longer than {FILE_BYTES_MAX} bytes")));
        }
        // The parser's own words would quote the file.
        let vault: Vault = serde_json::from_slice(&bytes)
            .map_err(|error| self.damaged(&format!("line {} is wrong", error.line())))?;
        if vault.version != VERSION {
            let why = format!("its version is {}, this program knows {VERSION}", vault.version);
            return Err(self.damaged(&why));
        }
        Ok(Some((stamp, vault)))
    }

    /// Waits its turn among the processes that change the file.
    pub(super) async fn lock(&self) -> Result<Lock> {
        let path = self.path.with_file_name(LOCK_NAME);
        let opened = self.make_folder().and_then(|()| {
            OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(&path)
        });
        let file = opened.map_err(|error| self.unwritable(&error))?;
        let until = Instant::now() + LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOCK_POLL).await,
                Err(TryLockError::WouldBlock) => {
                    let text = format!("another program holds {} too long", path.display());
                    return Err(Fault::new(Kind::Busy, text));
                }
                Err(TryLockError::Error(error)) => return Err(self.unwritable(&error)),
            }
        }
    }

    /// Puts `vault` in the place of what was there, whole or not at all.
    pub(super) async fn write(&self, vault: Vault, lock: Lock) -> Result<()> {
        let path = self.path.clone();
        let work = move || {
            let text = serde_json::to_vec_pretty(&vault).map_err(io::Error::other)?;
            let written = replace(&path, &text);
            drop(lock);
            written
        };
        let written = tokio::task::spawn_blocking(work).await.map_err(Fault::internal)?;
        written.map_err(|error| self.unwritable(&error))
    }

    fn make_folder(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)
    }

    /// The file is there, but nothing good can be had from it.
    pub(super) fn damaged(&self, why: &str) -> Fault {
        let path = self.path.display();
        Fault::internal(format!(
            "{path} cannot be used: {why}. It was left as it is; move it away to begin anew, or \
             put a copy back"
        ))
    }

    fn unreadable(&self, error: &io::Error) -> Fault {
        Fault::internal(format!("{} cannot be read: {error}", self.path.display()))
    }

    fn unwritable(&self, error: &io::Error) -> Fault {
        Fault::internal(format!("{} cannot be written: {error}", self.path.display()))
    }
}

impl Stamp {
    fn of(found: &fs::Metadata) -> Stamp {
        let modified = (found.mtime(), found.mtime_nsec());
        Stamp { inode: found.ino(), modified, bytes: found.len() }
    }
}

/// Writes beside the file, onto the disk, and then changes places.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let tail = random::<8>().map_err(io::Error::other)?.map(|byte| format!("{byte:02x}")).concat();
    let beside = path.with_file_name(format!("{NAME}.{tail}"));
    let written = create_private(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
        return written;
    }
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// A new file that only the person can read, and that is on the disk. One that is there stays.
pub(super) fn create_private(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}
