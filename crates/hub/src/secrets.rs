//! Keys at rest: one encrypted file whose key lies elsewhere. Nothing is touched before the first
//! secret is asked for, and nothing that cannot be read is ever written over.

mod file;
mod keyring;
mod place;
mod seal;
#[cfg(test)]
mod tests;

pub use place::KeyPlace;

use crate::config::World;
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Result};
use file::{Stamp, Vault, VaultFile};
use place::Places;
use seal::Key;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A longer secret is refused; the longest tokens known have 4 KiB.
const SECRET_BYTES_MAX: usize = 16 * 1024;
/// A longer id is refused.
const ID_BYTES_MAX: usize = 200;
/// More secrets than this are refused.
const SECRETS_MAX: usize = 500;

/// The person's secrets by id. Clones are the same; several processes may have the same file.
#[derive(Clone)]
pub struct Secrets(Kept);

#[derive(Clone)]
enum Kept {
    File(Arc<Sealed>),
    Memory(Arc<Mutex<BTreeMap<String, Secret>>>),
}

struct Sealed {
    file: VaultFile,
    places: Places,
    known: Mutex<Known>,
}

/// What was read last, so that a secret costs one look at the file's date.
#[derive(Default)]
struct Known {
    vault: Option<(Stamp, Arc<Vault>)>,
    /// The key, and the id of the vault it opened.
    key: Option<(String, Arc<Key>)>,
}

impl Secrets {
    /// The secrets in `data_dir`. Nothing is read yet.
    pub fn open(data_dir: &Path, world: &World) -> Secrets {
        let (file, places) = (VaultFile::below(data_dir), Places::of(data_dir, world));
        Secrets(Kept::File(Arc::new(Sealed { file, places, known: Mutex::default() })))
    }

    /// Secrets that end with the process.
    pub fn in_memory() -> Secrets {
        Secrets(Kept::Memory(Arc::default()))
    }

    /// The secret called `id`.
    pub async fn get(&self, id: &str) -> Result<Option<Secret>> {
        match &self.0 {
            Kept::File(sealed) => sealed.get(id).await,
            Kept::Memory(all) => Ok(all.lock().await.get(id).cloned()),
        }
    }

    /// Keeps `secret` under `id`, in the place of the one before.
    pub async fn set(&self, id: &str, secret: &Secret) -> Result<()> {
        check(id, secret)?;
        match &self.0 {
            Kept::File(sealed) => sealed.change(id, Some(secret)).await,
            Kept::Memory(all) => {
                all.lock().await.insert(id.into(), secret.clone());
                Ok(())
            }
        }
    }

    /// Forgets the secret called `id`, if there is one.
    pub async fn remove(&self, id: &str) -> Result<()> {
        match &self.0 {
            Kept::File(sealed) => sealed.change(id, None).await,
            Kept::Memory(all) => {
                all.lock().await.remove(id);
                Ok(())
            }
        }
    }

    /// Where the file's key lies; none where nothing is kept yet.
    pub fn kept_in(&self) -> Option<KeyPlace> {
        match &self.0 {
            Kept::File(sealed) => Some(sealed.file.read().ok()??.1.key.place),
            Kept::Memory(_) => None,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}

impl Sealed {
    async fn get(&self, id: &str) -> Result<Option<Secret>> {
        let mut known = self.known.lock().await;
        let Some(vault) = self.vault(&mut known)? else { return Ok(None) };
        let Some(record) = vault.records.get(id) else { return Ok(None) };
        let key = self.key(&mut known, &vault).await?;
        let text = key.unseal(id, record).and_then(|bytes| String::from_utf8(bytes).ok());
        let damaged = || self.file.damaged(&format!("the record '{id}' was changed"));
        Ok(Some(Secret::new(text.ok_or_else(damaged)?)))
    }

    /// Puts a secret in or takes it out, with no other process in between.
    async fn change(&self, id: &str, secret: Option<&Secret>) -> Result<()> {
        let mut known = self.known.lock().await;
        if secret.is_none() && self.vault(&mut known)?.is_none() {
            return Ok(());
        }
        let lock = self.file.lock().await?;
        let (mut vault, key) = match self.vault(&mut known)? {
            Some(vault) => (Vault::clone(&vault), self.key(&mut known, &vault).await?),
            None => self.begin().await?,
        };
        match secret {
            Some(secret) => {
                vault.records.insert(id.into(), key.seal(id, secret.expose().as_bytes())?);
            }
            None if vault.records.remove(id).is_none() => return Ok(()),
            None => {}
        }
        if vault.records.len() > SECRETS_MAX {
            return Err(Fault::invalid(format!("{SECRETS_MAX} secrets are kept already")));
        }
        known.key = Some((vault.key.id.clone(), key));
        self.file.write(vault, lock).await
    }

    /// The vault as it is in the file now.
    fn vault(&self, known: &mut Known) -> Result<Option<Arc<Vault>>> {
        let stamp = self.file.stamp()?;
        if let (Some(stamp), Some((of, vault))) = (&stamp, &known.vault)
            && stamp == of
        {
            return Ok(Some(vault.clone()));
        }
        known.vault = self.file.read()?.map(|(stamp, vault)| (stamp, Arc::new(vault)));
        Ok(known.vault.as_ref().map(|(_, vault)| vault.clone()))
    }

    /// The vault's key, from the place the vault names and nowhere else.
    async fn key(&self, known: &mut Known, vault: &Vault) -> Result<Arc<Key>> {
        if let Some((_, key)) = known.key.as_ref().filter(|(id, _)| *id == vault.key.id) {
            return Ok(key.clone());
        }
        let key = Arc::new(self.places.fetch(&vault.key).await?);
        if key.unseal(&vault.key.id, &vault.key.check).is_none() {
            let place = vault.key.place;
            return Err(self.file.damaged(&format!("the key in {place} does not open it")));
        }
        known.key = Some((vault.key.id.clone(), key.clone()));
        Ok(key)
    }

    async fn begin(&self) -> Result<(Vault, Arc<Key>)> {
        let (header, key) = self.places.create().await?;
        Ok((Vault::new(header), Arc::new(key)))
    }
}

fn check(id: &str, secret: &Secret) -> Result<()> {
    let (ids, bytes) = (id.len(), secret.expose().len());
    if ids == 0 || ids > ID_BYTES_MAX {
        return Err(Fault::invalid(format!("id: 1 to {ID_BYTES_MAX} bytes, not {ids}")));
    }
    if bytes > SECRET_BYTES_MAX {
        let text = format!("secret: at most {SECRET_BYTES_MAX} bytes, not {bytes}");
        return Err(Fault::invalid(text));
    }
    Ok(())
}
