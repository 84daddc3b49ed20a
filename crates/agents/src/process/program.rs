//! Where a program is.

use althing_stdx::{Fault, Kind, Result};
use std::env::split_paths;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf, absolute};

/// Folders of `PATH` that are looked into.
const PATH_FOLDERS_MAX: usize = 200;

/// A program by its path, or by its name on `path`.
pub(crate) fn find(name: &str, path: &str) -> Result<PathBuf> {
    let files: Vec<PathBuf> = match name.contains('/') {
        // The agent is started in another folder than the one the path was written for.
        true => absolute(name).into_iter().collect(),
        // A relative folder would be whatever folder one happens to stand in.
        false => {
            let folders = split_paths(path).filter(|it| it.is_absolute()).take(PATH_FOLDERS_MAX);
            folders.map(|folder| folder.join(name)).collect()
        }
    };
    match files.iter().find(|file| is_program(file)) {
        Some(file) => Ok(file.clone()),
        None => Err(missing(name, files.iter().find(|file| file.is_file()))),
    }
}

/// Why there is no such program; `file` has its name and cannot be run.
fn missing(name: &str, file: Option<&PathBuf>) -> Fault {
    match file {
        None => Fault::new(Kind::NotFound, format!("{name} is not installed")),
        Some(file) => {
            let file = file.display();
            let text = format!("{name}: {file} may not be run; `chmod +x {file}` allows it");
            Fault::invalid(text)
        }
    }
}

/// Whether there is a file of this name in `folder`.
pub(crate) fn has_file(folder: &str, name: &str) -> bool {
    Path::new(folder).is_absolute() && Path::new(folder).join(name).is_file()
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[test]
fn a_file_that_may_not_be_run_is_told_from_one_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let path = folder.path().to_str().unwrap();
    for name in ["mine", file.to_str().unwrap()] {
        let fault = find(name, path).unwrap_err();
        assert_eq!(fault.kind, Kind::InvalidParams);
        assert!(fault.message.contains("may not be run; `chmod +x "), "{fault}");
    }
    let fault = find("other", path).unwrap_err();
    assert_eq!((fault.kind, &*fault.message), (Kind::NotFound, "other is not installed"));
}
