//! Where an agent works: in the folder it may read, or in an empty one that goes with it.

use althing_stdx::{Fault, Result, strays};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How the temporary folders are called; `sweep` removes no others.
pub(super) const PREFIX: &str = "althing-agent-";

/// Folders that one sweep removes; the next one goes on.
const SWEPT_MAX: usize = 1000;

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
        let private = Permissions::from_mode(0o700);
        // The name tells whose it is, so that nobody has to have noted it before it was made.
        let prefix = format!("{PREFIX}{}-", strays::owned(fastrand::u128(..)));
        let temporary = tempfile::Builder::new().prefix(&prefix).permissions(private).tempdir();
        let temporary = temporary.map_err(failed)?;
        let work = repo.unwrap_or(temporary.path()).to_path_buf();
        Ok(Workspace { temporary, work })
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
    pub(crate) fn put(&mut self, name: &str, text: &str) -> Result<PathBuf> {
        if self.work == self.temporary.path() {
            self.work.push("work");
            fs::create_dir(&self.work).map_err(failed)?;
        }
        let file = self.temporary.path().join(name);
        fs::write(&file, text).map_err(failed)?;
        Ok(file)
    }
}

/// Removes the folders whose owners are dead: what a killed program left before or after it had an
/// agent.
pub(super) fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    let is_left = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        owner.is_some_and(strays::is_orphaned) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    for entry in entries.flatten().filter(is_left).take(SWEPT_MAX) {
        // One of somebody else cannot be removed, and need not be.
        let _ = fs::remove_dir_all(entry.path());
    }
}

fn failed(error: io::Error) -> Fault {
    Fault::internal(format!("no temporary folder: {error}"))
}

#[cfg(test)]
#[test]
fn it_is_nobody_elses_and_what_is_put_there_lies_beside_the_work() {
    let mut workspace = Workspace::open(None).unwrap();
    let mode = fs::metadata(workspace.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let file = workspace.put("limits.toml", "x = 1").unwrap();
    assert!(workspace.path().is_dir() && !file.starts_with(workspace.path()));
    let (temporary, repo) = (workspace.temporary().to_path_buf(), std::env::temp_dir());
    drop(workspace);
    assert!(!temporary.exists());
    let mut workspace = Workspace::open(Some(&repo)).unwrap();
    let file = workspace.put("limits.toml", "x = 1").unwrap();
    assert_eq!((workspace.path(), file.parent()), (&*repo, Some(workspace.temporary())));
}

#[cfg(test)]
#[test]
fn what_a_killed_program_left_is_removed() {
    let owned = strays::owned(1);
    let mut parts: Vec<&str> = owned.split('-').collect();
    let other = format!("1{}", parts[2]);
    let live = tempfile::Builder::new().prefix(&format!("{PREFIX}{owned}-")).tempdir().unwrap();
    parts[2] = &other;
    let dead = parts.join("-");
    let dead = tempfile::Builder::new().prefix(&format!("{PREFIX}{dead}-")).tempdir().unwrap();
    sweep();
    assert!(live.path().is_dir() && !dead.path().exists());
}
