//! The file of a download while it grows: locked, private, hashed as it is written, and renamed when
//! it is whole. What was written stays for the next attempt.

use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Bytes that are hashed at a time.
const HASH_BYTES: usize = 1 << 20;
/// Characters of an address that a message shows.
const SHOWN_CHARS_MAX: usize = 120;
/// How a model's file begins.
const MAGIC: &[u8; 4] = b"GGUF";

/// What a download is of; a part of something else is not continued.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Source {
    /// Which model it is, whatever version of it: a file of a repository, a tag, an address.
    #[serde(default)]
    pub model: String,
    pub url: String,
    pub bytes: u64,
    /// 64 hexadecimal digits in lower case.
    pub sha256: Option<String>,
    /// The server's mark of this version (an ETag or a date), where there is no checksum.
    pub version: Option<String>,
}

impl Source {
    /// Tells whether `self` and `other` are surely the same bytes. Without a checksum the server's
    /// mark decides; without either nothing is sure.
    pub fn is_same(&self, other: &Source) -> bool {
        let is_sure = match (&self.sha256, &other.sha256) {
            (Some(a), Some(b)) => a == b,
            (None, None) => {
                self.url == other.url && self.version.is_some() && self.version == other.version
            }
            _ => false,
        };
        is_sure && self.bytes == other.bytes
    }

    /// Takes over the checksum that the person named for the same file in an earlier attempt.
    fn keep_checksum(&mut self, known: &Source) {
        let is_same = self.url == known.url
            && self.bytes == known.bytes
            && (self.version == known.version || self.version.is_none());
        if self.sha256.is_none() && is_same {
            self.sha256 = known.sha256.clone();
        }
    }

    /// Tells whether `self` may take the place of `other`: it is another version of the same model.
    fn replaces(&self, other: &Source) -> bool {
        let is_model = !other.model.is_empty() && self.model == other.model;
        let same_bytes = self.sha256.is_some() && self.sha256 == other.sha256;
        is_model || self.url == other.url || same_bytes
    }
}

/// A download under way. Dropping it leaves the part and gives the lock back.
#[derive(Debug)]
pub(super) struct PartFile {
    path: PathBuf,
    part: PathBuf,
    /// What its record says it is of.
    source: Source,
    /// How far the existing part is hashed.
    hashed: u64,
    length: u64,
    file: File,
    hash: HashState,
    /// Never deleted: whoever has it open already would share nothing with whoever makes a new one.
    _lock: File,
}

/// The hash so far.
struct HashState(Context);

impl std::fmt::Debug for HashState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashState")
    }
}

/// Returns what a finished file was downloaded from; none where it is not there or not ours.
pub(super) fn finished(path: &Path) -> Option<Source> {
    let source = record(&beside(path, "json"))?;
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    (size == source.bytes).then_some(source)
}

/// Returns how much of a download that was stopped is there.
pub(super) fn part_length(path: &Path) -> u64 {
    fs::metadata(beside(path, "part")).map_or(0, |it| it.len())
}

/// Refuses to put `source` where a file of something else lies.
pub(super) fn check_place(path: &Path, source: &Source) -> Result<()> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let text = match record(&beside(path, "json")) {
        Some(known) if source.replaces(&known) => return Ok(()),
        Some(known) => format!(
            "{} was downloaded from {}; move it away or delete it to get this one",
            path.display(),
            one_line(&known.url, SHOWN_CHARS_MAX)
        ),
        None => format!(
            "{} is there, and no download of `althing pull` brought it; move it away or delete it",
            path.display()
        ),
    };
    Err(Fault::invalid(text))
}

/// Returns what a part is of; none where nobody knows.
pub(super) fn begun(path: &Path) -> Option<Source> {
    record(&beside(path, "part.json"))
}

/// Deletes a finished file with its record.
pub(super) fn remove(path: &Path) {
    for place in [path.to_path_buf(), beside(path, "json")] {
        // What cannot be deleted stays, and the next attempt tells of it.
        let _ = fs::remove_file(place);
    }
}

fn record(path: &Path) -> Option<Source> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{ending}"));
    path.with_file_name(name)
}

impl PartFile {
    /// Opens the part of `path`, for this process alone. What is there of another source is dropped.
    pub fn open(path: &Path, source: &Source) -> Result<PartFile> {
        let fault = |error: io::Error| storage_fault(path, &error);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(fault)?;
        }
        let private = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).mode(FILE_MODE);
            options
        };
        let lock = private().open(beside(path, "lock")).map_err(fault)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                let text = format!("{} is being downloaded by another althing", path.display());
                Fault::new(Kind::Busy, text)
            }
            TryLockError::Error(error) => fault(error),
        })?;
        let part = beside(path, "part");
        let known = record(&beside(path, "part.json"));
        let mut source = source.clone();
        known.iter().for_each(|known| source.keep_checksum(known));
        let file = private().open(&part).map_err(fault)?;
        let length = file.metadata().map_err(fault)?.len();
        let mut opened = PartFile {
            path: path.into(),
            part,
            source,
            hashed: 0,
            length,
            file,
            hash: HashState(Context::new(&SHA256)),
            _lock: lock,
        };
        let is_same = known.as_ref().is_some_and(|known| known.is_same(&opened.source));
        if !is_same || length > opened.source.bytes {
            opened.empty()?;
        }
        if known.as_ref() != Some(&opened.source) {
            opened.write_record("part.json", &opened.source)?;
        }
        Ok(opened)
    }

    /// Returns what the part is of.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns how many bytes are there.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Hashes the next piece of what is there already; none where all of it is hashed.
    pub fn hash_more(&mut self) -> Result<Option<u64>> {
        if self.hashed >= self.length {
            return Ok(None);
        }
        let fault = |error: io::Error| storage_fault(&self.part, &error);
        let mut buffer = vec![0; HASH_BYTES.min((self.length - self.hashed) as usize)];
        self.file.seek(SeekFrom::Start(self.hashed)).map_err(fault)?;
        self.file.read_exact(&mut buffer).map_err(fault)?;
        self.hash.0.update(&buffer);
        self.hashed += buffer.len() as u64;
        Ok(Some(self.hashed))
    }

    /// Drops what is there; what comes now is of this version.
    pub fn restart(&mut self, version: Option<String>) -> Result<()> {
        self.empty()?;
        if self.source.version != version {
            self.source.version = version;
            self.write_record("part.json", &self.source)?;
        }
        Ok(())
    }

    /// Writes a record beside the file, whole or not at all.
    fn write_record(&self, ending: &str, source: &Source) -> Result<()> {
        let fault = |error: io::Error| storage_fault(&self.path, &error);
        let text = serde_json::to_vec(source).map_err(Fault::internal)?;
        let (place, fresh) = (beside(&self.path, ending), beside(&self.path, "json.new"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(FILE_MODE);
        let mut file = options.open(&fresh).map_err(fault)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(fault)?;
        fs::rename(&fresh, &place).map_err(fault)
    }

    fn empty(&mut self) -> Result<()> {
        if self.length > 0 {
            self.file.set_len(0).map_err(|error| storage_fault(&self.part, &error))?;
        }
        (self.hashed, self.length) = (0, 0);
        self.hash = HashState(Context::new(&SHA256));
        Ok(())
    }

    /// Appends bytes. Whatever does not begin like a model is refused at once.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let begin = (self.length as usize).min(MAGIC.len());
        if !MAGIC[begin..].iter().zip(bytes).all(|(want, byte)| want == byte) {
            self.discard();
            return Err(no_model());
        }
        let fault = |error: io::Error| storage_fault(&self.part, &error);
        self.file.seek(SeekFrom::Start(self.length)).map_err(fault)?;
        let mut rest = bytes;
        // Counted write by write, so that a full disk leaves a length that is true.
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(fault(ErrorKind::WriteZero.into())),
                Ok(written) => {
                    self.hash.0.update(&rest[..written]);
                    self.length += written as u64;
                    self.hashed = self.length;
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(fault(error)),
            }
        }
        Ok(())
    }

    /// Puts the whole file in its place. One with a wrong checksum is dropped.
    pub fn finish(mut self) -> Result<PathBuf> {
        let digest = self.hash.0.clone().finish();
        let found: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(wanted) = self.source.sha256.clone().filter(|wanted| *wanted != found) {
            self.discard();
            let text = format!(
                "the download is damaged and was deleted: its SHA-256 is {found}, and {wanted} is \
                 wanted; pull it again, and tell whoever offers it if that comes again"
            );
            return Err(Fault::new(Kind::Upstream, text));
        }
        let fault = |error: io::Error| storage_fault(&self.path, &error);
        check_place(&self.path, &self.source)?;
        self.file.sync_all().map_err(fault)?;
        // The record first: without the file it says nothing, and the file is never without it.
        self.write_record("json", &Source { sha256: Some(found), ..self.source.clone() })?;
        fs::rename(&self.part, &self.path).map_err(fault)?;
        // It says nothing without its part.
        let _ = fs::remove_file(beside(&self.path, "part.json"));
        if let Some(folder) = self.path.parent().and_then(|folder| File::open(folder).ok()) {
            // The rename itself survives a power cut; where the system cannot do so, it may not.
            let _ = folder.sync_all();
        }
        Ok(self.path.clone())
    }

    /// Deletes the part; what cannot be deleted is emptied.
    fn discard(&mut self) {
        for ending in ["part", "part.json"] {
            // The next attempt drops it as well.
            let _ = fs::remove_file(beside(&self.path, ending));
        }
        let _ = self.file.set_len(0);
        (self.hashed, self.length) = (0, 0);
    }
}

/// Tells whether the first bytes of a file are those of a model, as far as they are there.
pub(super) fn begins_as_model(head: &[u8]) -> bool {
    MAGIC.iter().zip(head).all(|(want, byte)| want == byte)
}

/// How many bytes `begins_as_model` wants.
pub(super) const HEAD_BYTES: usize = MAGIC.len();

/// Says that something else than a model comes.
pub(super) fn no_model() -> Fault {
    let text = "what comes is not a GGUF file: the address may be wrong, or the network asks for a \
                login first";
    Fault::new(Kind::Upstream, text)
}

/// Says what a person can do about a file that cannot be written.
pub(super) fn storage_fault(path: &Path, error: &io::Error) -> Fault {
    let shown = path.display();
    let (kind, text) = match error.kind() {
        ErrorKind::StorageFull => (
            Kind::Busy,
            format!("the disk of {shown} is full; what is there is kept: make room and pull again"),
        ),
        ErrorKind::QuotaExceeded => (
            Kind::Busy,
            format!(
                "your quota for {shown} is used up; what is there is kept: make room and pull again"
            ),
        ),
        ErrorKind::FileTooLarge => (
            Kind::Busy,
            format!(
                "{shown} may not grow further: the disk or a limit of the system (ulimit -f) does \
                 not allow it; what is there is kept"
            ),
        ),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            (Kind::InvalidParams, format!("{shown} cannot be written: {error}; check its folder"))
        }
        _ => (Kind::Internal, format!("{shown} cannot be written: {error}")),
    };
    Fault::new(kind, text).source(error)
}

#[cfg(test)]
mod tests;
