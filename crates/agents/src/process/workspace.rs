//! Where an agent works: in the folder it may read, or in an empty one that goes with it.

use althing_stdx::{Fault, Result};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How the temporary folders are called; `sweep` removes no others.
pub(super) const PREFIX: &str = "althing-agent-";

#[derive(Debug)]
pub(crate) enum Workspace {
    Repo(PathBuf),
    /// Readable by nobody else, removed when this is dropped.
    Temporary(TempDir),
}

impl Workspace {
    pub(crate) fn open(repo: Option<&Path>) -> Result<Workspace> {
        match repo {
            Some(repo) if !repo.is_absolute() || !repo.is_dir() => {
                let text = format!("repo: {} is no absolute path of a folder", repo.display());
                Err(Fault::invalid(text))
            }
            Some(repo) => Ok(Workspace::Repo(repo.to_path_buf())),
            None => {
                let folder = tempfile::Builder::new().prefix(PREFIX).tempdir();
                let failed = |error| Fault::internal(format!("no temporary folder: {error}"));
                folder.map(Workspace::Temporary).map_err(failed)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Workspace::Repo(folder) => folder,
            Workspace::Temporary(folder) => folder.path(),
        }
    }

    /// The folder that has to be removed.
    pub(super) fn temporary(&self) -> Option<&Path> {
        match self {
            Workspace::Repo(_) => None,
            Workspace::Temporary(folder) => Some(folder.path()),
        }
    }
}
