//! Where the vault's key lies: the desktop's keyring, a credential of systemd, or a private file.
//! Chosen once, when the vault begins; from then on the vault itself says where.

use super::file::{Header, create_private};
use super::keyring;
use super::seal::{KEY_BYTES, Key, random};
use crate::config::World;
use althing_stdx::{Fault, Kind, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const CREDENTIAL: &str = "althing-secrets-key";
const KEY_FILE: &str = "secrets.key";
/// What a credential may have: less is no key, more is none of ours.
const CREDENTIAL_BYTES: std::ops::RangeInclusive<usize> = 32..=4096;
/// `file` here takes the key file though there is a keyring: for tests and machines without a
/// person in front of them.
const FORCE: &str = "ALTHING_SECRETS";

/// A place for the key of the secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    SecretService,
    SystemdCredential,
    KeyFile,
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyPlace::SecretService => "the desktop's keyring (Secret Service)",
            KeyPlace::SystemdCredential => "the systemd credential althing-secrets-key",
            KeyPlace::KeyFile => "the key file secrets.key",
        })
    }
}

/// The places there are in this world.
pub(super) struct Places {
    only_file: bool,
    bus: Option<String>,
    credential: Option<PathBuf>,
    file: PathBuf,
}

impl Places {
    pub(super) fn of(data_dir: &Path, world: &World) -> Places {
        let credentials = world.var("CREDENTIALS_DIRECTORY").map(PathBuf::from);
        Places {
            only_file: world.var(FORCE) == Some("file"),
            bus: session_bus(world),
            credential: credentials.map(|folder| folder.join(CREDENTIAL)),
            file: data_dir.join(KEY_FILE),
        }
    }

    /// A key for a new vault, put into the first place that takes it.
    pub(super) async fn create(&self) -> Result<(Header, Key)> {
        let id = random::<16>()?.map(|byte| format!("{byte:02x}")).concat();
        let (place, bytes) = self.first(&id).await?;
        let key = Key::new(&bytes);
        let check = key.seal(&id, id.as_bytes())?;
        Ok((Header { place, id, check }, key))
    }

    async fn first(&self, id: &str) -> Result<(KeyPlace, [u8; KEY_BYTES])> {
        if !self.only_file {
            if let Some(bus) = &self.bus {
                let bytes = random()?;
                // Absent, locked or slow: the next place.
                if keyring::keep(bus, id, &bytes).await.is_ok() {
                    return Ok((KeyPlace::SecretService, bytes));
                }
            }
            if let Some(path) = self.credential.as_ref().filter(|path| path.is_file()) {
                return Ok((KeyPlace::SystemdCredential, credential(path)?));
            }
        }
        Ok((KeyPlace::KeyFile, make_key_file(&self.file)?))
    }

    /// The key of a vault, from where the vault says that it is.
    pub(super) async fn fetch(&self, header: &Header) -> Result<Key> {
        let bytes = match header.place {
            KeyPlace::SecretService => self.keyring(&header.id).await,
            KeyPlace::SystemdCredential => match &self.credential {
                Some(path) => credential(path),
                None => Err(Fault::new(Kind::NotFound, "CREDENTIALS_DIRECTORY is not set")),
            },
            KeyPlace::KeyFile => read_key_file(&self.file),
        };
        bytes.map(|bytes| Key::new(&bytes)).map_err(|fault| {
            let text = format!("the secrets are locked: their key is in {}", header.place);
            Fault { message: format!("{text}; {}", fault.message), ..fault }
        })
    }

    async fn keyring(&self, id: &str) -> Result<[u8; KEY_BYTES]> {
        match &self.bus {
            Some(bus) => keyring::find(bus, id).await,
            None => Err(Fault::new(Kind::NotFound, "there is no session bus")),
        }
    }
}

/// The address of the session bus, as every program finds it.
fn session_bus(world: &World) -> Option<String> {
    let by_hand = world.var("DBUS_SESSION_BUS_ADDRESS").map(str::to_string);
    by_hand.or_else(|| {
        let socket = Path::new(world.var("XDG_RUNTIME_DIR")?).join("bus");
        Some(format!("unix:path={}", socket.display()))
    })
}

/// Whatever the administrator put there, made a key: raw bytes, hexadecimal, base64.
fn credential(path: &Path) -> Result<[u8; KEY_BYTES]> {
    let (_, bytes) = read_small(path)?;
    if !CREDENTIAL_BYTES.contains(&bytes.len()) {
        let (path, bytes) = (path.display(), bytes.len());
        let (min, max) = CREDENTIAL_BYTES.into_inner();
        return Err(Fault::invalid(format!("{path}: {min} to {max} bytes, not {bytes}")));
    }
    let digest = digest(&SHA256, &bytes);
    Ok(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

/// The key file; one that is there from before is used again, never written over.
fn make_key_file(path: &Path) -> Result<[u8; KEY_BYTES]> {
    let bytes: [u8; KEY_BYTES] = random()?;
    match create_private(path, format!("{}\n", STANDARD.encode(bytes)).as_bytes()) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read_key_file(path),
        Err(error) => {
            Err(Fault::internal(format!("{} cannot be written: {error}", path.display())))
        }
    }
}

fn read_key_file(path: &Path) -> Result<[u8; KEY_BYTES]> {
    let text = read_private(path)?;
    let bytes = STANDARD.decode(text.trim_ascii()).ok();
    let key = bytes.and_then(|bytes| bytes.try_into().ok());
    key.ok_or_else(|| Fault::internal(format!("{} holds no key", path.display())))
}

/// The key file's text. systemd guards its credentials itself; this file has only its mode.
fn read_private(path: &Path) -> Result<Vec<u8>> {
    let (mode, bytes) = read_small(path)?;
    if mode & 0o077 != 0 {
        let path = path.display();
        let text = format!("others can read {path}; chmod 600 {path} helps");
        return Err(Fault::new(Kind::Refused, text));
    }
    Ok(bytes)
}

/// The mode of a file, and its first bytes.
fn read_small(path: &Path) -> Result<(u32, Vec<u8>)> {
    let read = || -> io::Result<(u32, Vec<u8>)> {
        let (file, mut bytes) = (File::open(path)?, Vec::new());
        let mode = file.metadata()?.mode();
        file.take(*CREDENTIAL_BYTES.end() as u64 + 1).read_to_end(&mut bytes)?;
        Ok((mode, bytes))
    };
    read().map_err(|error| {
        Fault::new(Kind::NotFound, format!("{} cannot be read: {error}", path.display()))
    })
}
