//! Where extensions keep their data: beside the folder of ours and not in it, where the token, the keys
//! and the runs lie. That keeps honest programs from stumbling over them; what runs as the same person
//! can read all of their files, wherever they are.

use std::fs;
use std::path::{Path, PathBuf};

/// Where it was, below the folder of our data.
const FORMER: &str = "extensions/data";
/// What is put after the name of our folder.
const ENDING: &str = "-extensions";

#[derive(Debug)]
pub(super) struct DataFolder {
    folder: PathBuf,
    former: PathBuf,
}

impl DataFolder {
    /// `~/.local/share/althing-extensions` for `~/.local/share/althing`.
    pub(super) fn beside(ours: &Path) -> DataFolder {
        let mut name = ours.file_name().unwrap_or_default().to_os_string();
        name.push(ENDING);
        DataFolder { folder: ours.with_file_name(name), former: ours.join(FORMER) }
    }

    /// The folder, with what was where it used to be. Where that cannot be moved it stays in use: an
    /// extension must not find its data gone.
    pub(super) fn ready(&self) -> PathBuf {
        if !self.former.is_dir() || self.folder.exists() {
            return self.folder.clone();
        }
        match fs::rename(&self.former, &self.folder) {
            Ok(()) => self.folder.clone(),
            // Another one may have moved it just now.
            Err(_) if self.folder.is_dir() => self.folder.clone(),
            Err(_) => self.former.clone(),
        }
    }
}

#[cfg(test)]
#[test]
fn what_was_in_our_folder_is_moved_beside_it_once() {
    let home = tempfile::tempdir().unwrap();
    let ours = home.path().join("althing");
    let data = DataFolder::beside(&ours);
    assert_eq!(data.ready(), home.path().join("althing-extensions"));
    fs::create_dir_all(ours.join(FORMER).join("ext-1")).unwrap();
    fs::write(ours.join(FORMER).join("ext-1/kept"), "x").unwrap();
    let found = data.ready();
    assert_eq!(found, home.path().join("althing-extensions"));
    assert_eq!(fs::read_to_string(found.join("ext-1/kept")).unwrap(), "x");
    assert!(!ours.join(FORMER).exists());
    fs::create_dir_all(ours.join(FORMER)).unwrap();
    assert_eq!(data.ready(), found, "what is there is not replaced");
}
