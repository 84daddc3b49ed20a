//! Where a program is.

use althing_stdx::{Fault, Kind, Result};
use std::env::split_paths;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf, absolute};

/// Folders of `PATH` that are looked into.
const PATH_FOLDERS_MAX: usize = 200;

/// A program by its path, or by its name on `path`.
pub(crate) fn find(name: &str, path: &str) -> Result<PathBuf> {
    let missing = || Fault::new(Kind::NotFound, format!("{name} is not installed"));
    if name.contains('/') {
        // The agent is started in another folder than the one the path was written for.
        let file = absolute(name).ok().filter(|file| is_program(file));
        return file.ok_or_else(missing);
    }
    // A relative folder would be whatever folder one happens to stand in.
    let folders = split_paths(path).filter(|it| it.is_absolute()).take(PATH_FOLDERS_MAX);
    folders.map(|folder| folder.join(name)).find(|file| is_program(file)).ok_or_else(missing)
}

/// Whether there is a file of this name in `folder`.
pub(crate) fn has_file(folder: &str, name: &str) -> bool {
    Path::new(folder).is_absolute() && Path::new(folder).join(name).is_file()
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
