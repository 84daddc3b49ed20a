//! The file in which services are found, shared with the libraries of other languages: a JSON map
//! from a service to its port and process.

mod file;
mod lock;
mod owner;
#[cfg(test)]
mod tests;

use std::env;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::error::Error;
use file::Entries;
use lock::Lock;

/// Where it is, below a home.
const FOLDER: &str = ".multifrost";

/// A registry. Every change is made under the locks of all libraries, and written at once.
#[derive(Debug, Clone)]
pub struct Registry {
    folder: PathBuf,
}

/// A service that is registered as long as this lives.
#[derive(Debug)]
pub struct Registration {
    registry: Registry,
    service: String,
    port: u16,
}

/// Where a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The port it listens on, on this machine.
    pub port: u16,
    /// Its process.
    pub pid: u32,
}

impl Registry {
    /// The person's own, which the other libraries use too.
    pub fn of_home() -> Result<Registry, Error> {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let why = "there is no home folder for the registry of services; set HOME";
        let home = home.ok_or(Error::System(why.into()))?;
        Ok(Registry::at(home.join(FOLDER)))
    }

    /// One in a folder of its own.
    pub fn at(folder: impl Into<PathBuf>) -> Registry {
        Registry { folder: folder.into() }
    }

    /// Registers a service of this process, unless a live one has the name.
    pub fn register(&self, service: &str, port: u16) -> Result<Registration, Error> {
        let pid = std::process::id();
        self.change(|entries| {
            if let Some(other) = entries.get(service).and_then(owner::of_live) {
                return Err(Error::Taken { service: service.into(), pid: other });
            }
            entries.insert(service.into(), owner::entry(pid, port));
            Ok(())
        })?;
        Ok(Registration { registry: self.clone(), service: service.into(), port })
    }

    /// A service whose process is alive.
    pub fn find(&self, service: &str) -> Option<Found> {
        let entries = file::read(&self.folder).ok()?;
        let entry = entries.get(service)?;
        let port = entry.get("port")?.as_u64().and_then(|port| u16::try_from(port).ok())?;
        Some(Found { port, pid: owner::of_live(entry)? })
    }

    /// Every service whose process is alive, by name.
    pub fn services(&self) -> Vec<(String, Found)> {
        let entries = file::read(&self.folder).unwrap_or_default();
        let mut all: Vec<_> = entries
            .keys()
            .filter_map(|service| Some((service.clone(), self.find(service)?)))
            .collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all
    }

    /// Removes this process's entry, and only if it is still this one.
    fn unregister(&self, service: &str, port: u16) -> Result<(), Error> {
        let ours = json!([std::process::id(), port]);
        self.change(|entries| {
            let is_ours = |entry: &Value| json!([entry.get("pid"), entry.get("port")]) == ours;
            if entries.get(service).is_some_and(is_ours) {
                // The order of the others stays.
                entries.shift_remove(service);
            }
            Ok(())
        })
    }

    /// Reads, changes and writes under the locks. Entries of others are kept as they are.
    fn change(&self, change: impl FnOnce(&mut Entries) -> Result<(), Error>) -> Result<(), Error> {
        let path = self.folder.join(file::NAME);
        let doing = format!("cannot use the registry of services {}", path.display());
        let at = |error| Error::system(&doing, error);
        file::make(&self.folder).map_err(at)?;
        let lock = Lock::take(&self.folder).map_err(at)?;
        let mut entries = match file::read(&self.folder) {
            Ok(entries) => entries,
            Err(file::Unread::Missing) => Map::new(),
            Err(file::Unread::Broken) => file::repair(&self.folder).map_err(at)?,
            Err(file::Unread::Refused(error)) => return Err(at(error)),
        };
        let before = entries.clone();
        change(&mut entries)?;
        if entries == before {
            return Ok(());
        }
        file::write(&self.folder, &entries, || lock.keep()).map_err(at)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // An entry that stays behind is known as stale by its process.
        let _ = self.registry.unregister(&self.service, self.port);
    }
}
