//! Where an agent works: in the folder it may read, or in an empty one that goes with it.

use althing_stdx::{Fault, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How the temporary folders are called; `sweep` removes no others.
pub(super) const PREFIX: &str = "althing-agent-";

/// Readable by nobody else, and removed when this is dropped; a repository stays.
#[derive(Debug)]
pub(crate) struct Workspace {
    temporary: TempDir,
    work: PathBuf,
}

impl Workspace {
    pub(crate) fn open(repo: Option<&Path>) -> Result<Workspace> {
        if let Some(repo) = repo.filter(|repo| !repo.is_absolute() || !repo.is_dir()) {
            let text = format!("repo: {} is no absolute path of a folder", repo.display());
            return Err(Fault::invalid(text));
        }
        let make = || -> io::Result<Workspace> {
            let temporary = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
            let work = repo.map_or_else(|| temporary.path().join("work"), Path::to_path_buf);
            if repo.is_none() {
                fs::create_dir(&work)?;
            }
            Ok(Workspace { temporary, work })
        };
        make().map_err(failed)
    }

    /// The folder the agent is started in.
    pub(crate) fn path(&self) -> &Path {
        &self.work
    }

    /// The folder that has to be removed.
    pub(super) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes a file for the agent beside the folder it works in.
    pub(crate) fn put(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.temporary.path().join(name);
        fs::write(&file, text).map_err(failed)?;
        Ok(file)
    }
}

fn failed(error: io::Error) -> Fault {
    Fault::internal(format!("no temporary folder: {error}"))
}
