//! A private folder for a runner's socket, gone with the runner.

use super::Options;
use althing_stdx::{Fault, Result};
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The longest path that every system takes for a socket, its last zero byte included, is 104.
const SOCKET_BYTES_MAX: usize = 103;
const SOCKET: &str = "llama.sock";
/// Folders are called after the process that made them, so that leftovers are known as such.
const PREFIX: &str = "althing-llama-";

/// The folder; dropping it removes it and what is in it.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
}

impl Place {
    /// A new folder where the person's sockets are, else where our data is.
    pub(super) fn new(options: &Options) -> Result<Place> {
        let runtime = options.env.get("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime = runtime.filter(|path| path.is_absolute());
        let others = [options.data_dir.join("run"), std::env::temp_dir()];
        Place::in_one_of(&runtime.into_iter().chain(others).collect::<Vec<_>>())
    }

    /// A new folder in the first of `bases` that is short enough and can be written.
    fn in_one_of(bases: &[PathBuf]) -> Result<Place> {
        let name = format!("{PREFIX}{}-{:08x}", std::process::id(), fastrand::u32(..));
        let mut why = "every folder for it has too long a path".to_string();
        for base in bases {
            let folder = base.join(&name);
            if folder.join(SOCKET).as_os_str().len() > SOCKET_BYTES_MAX {
                continue;
            }
            sweep(base);
            match private(base, &folder) {
                Ok(()) => return Ok(Place { folder }),
                Err(error) => why = format!("{}: {error}", base.display()),
            }
        }
        Err(Fault::internal(format!("no place for the socket of a local model: {why}")))
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed now is swept away by the next one.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn private(base: &Path, folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(base)?;
    // Not recursive: a folder that is there already is not ours.
    fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Removes the folders of processes that were killed before they could.
fn sweep(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let owner = owner.and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
        if owner.is_some_and(|id| test_kill_process(id) == Err(rustix::io::Errno::SRCH)) {
            // Another process may be sweeping too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_folder_is_private_and_goes_with_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let (long, base) = (home.path().join("x".repeat(120)), home.path().join("run"));
        let stale = base.join(format!("{PREFIX}2147483647-00000000"));
        fs::create_dir_all(&stale).unwrap();
        let place = Place::in_one_of(&[long.clone(), base.clone()]).unwrap();
        let socket = place.socket();
        assert!(socket.starts_with(&base) && !stale.exists() && !long.exists());
        let mode = socket.parent().unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(&socket, "").unwrap();
        drop(place);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
        assert!(Place::in_one_of(&[long]).unwrap_err().message.contains("too long"));
    }
}
