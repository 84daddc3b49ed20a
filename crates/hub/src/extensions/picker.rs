//! Files that may be picked: those below the allowed folders, wherever links lead.

use althing_stdx::{Fault, Kind, Result};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of one folder that are listed; the rest is left out and told of.
const NAMES_MAX: usize = 2_000;

/// A folder to pick from.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Folder {
    pub path: PathBuf,
    /// None at the top of what is allowed.
    pub parent: Option<PathBuf>,
    /// Where else one may begin: the allowed folders that this one is not in.
    pub others: Vec<PathBuf>,
    pub folders: Vec<String>,
    pub files: Vec<String>,
    /// There are more than are listed.
    pub is_cut: bool,
}

/// What is allowed.
pub struct Allowed(Vec<PathBuf>);

impl Allowed {
    /// These folders, as far as they exist.
    pub fn new(folders: &[PathBuf]) -> Allowed {
        Allowed(folders.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect())
    }

    /// A folder that exists; the first of the allowed ones where none is named.
    pub fn folder(&self, path: Option<&Path>) -> Result<Folder> {
        let first = || self.0.first().cloned();
        let path = match path {
            Some(path) => self.existing(path)?,
            None => first().ok_or_else(|| Fault::invalid("folders: none of them exists"))?,
        };
        let unreadable = |error| missing(&path, error);
        let (mut folders, mut files) = (vec![], vec![]);
        for entry in fs::read_dir(&path).map_err(unreadable)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Hidden ones hold keys and caches; a name may still be typed.
            if name.starts_with('.') {
                continue;
            }
            match fs::metadata(entry.path()) {
                Ok(found) if found.is_dir() => folders.push(name),
                Ok(found) if found.is_file() => files.push(name),
                _ => {}
            }
            if folders.len() + files.len() > NAMES_MAX {
                break;
            }
        }
        let is_cut = folders.len() + files.len() > NAMES_MAX;
        folders.sort();
        files.sort();
        let parent = path.parent().filter(|parent| self.has(parent)).map(Path::to_path_buf);
        let elsewhere = self.0.iter().filter(|root| !path.starts_with(root));
        let mut others: Vec<PathBuf> = elsewhere.cloned().collect();
        others.dedup();
        Ok(Folder { path, parent, others, folders, files, is_cut })
    }

    /// A file or folder that exists, with all links followed.
    pub fn existing(&self, path: &Path) -> Result<PathBuf> {
        let real = fs::canonicalize(path).map_err(|error| missing(path, error))?;
        self.admit(real)
    }

    /// A file that may be written, there or not; its folder has to be.
    pub fn writable(&self, path: &Path) -> Result<PathBuf> {
        if fs::symlink_metadata(path).is_ok() {
            let real = self.existing(path)?;
            let is_folder = || Fault::invalid("path: is a folder");
            return (!real.is_dir()).then_some(real).ok_or_else(is_folder);
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Fault::invalid("path: has no name of a file"));
        };
        Ok(self.existing(folder)?.join(name))
    }

    fn has(&self, real: &Path) -> bool {
        self.0.iter().any(|root| real.starts_with(root))
    }

    fn admit(&self, real: PathBuf) -> Result<PathBuf> {
        match self.has(&real) {
            true => Ok(real),
            false => {
                let text = format!("path: {} is outside the allowed folders", real.display());
                Err(Fault::invalid(text).status(403))
            }
        }
    }
}

fn missing(path: &Path, error: std::io::Error) -> Fault {
    Fault::new(Kind::NotFound, format!("path: {}: {error}", path.display()))
}

#[cfg(test)]
#[test]
fn nothing_outside_is_reached() {
    let home = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(home.path()).unwrap();
    let (inside, outside) = (root.join("in"), root.join("out"));
    fs::create_dir_all(inside.join("sub")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    for file in [inside.join("a.hl7"), inside.join(".hidden"), outside.join("secret")] {
        fs::write(file, "x").unwrap();
    }
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("new"), inside.join("dangling")).unwrap();
    let allowed = Allowed::new(&[inside.clone(), root.join("none")]);
    let folder = allowed.folder(None).unwrap();
    assert_eq!((folder.path, folder.parent, folder.others), (inside.clone(), None, vec![]));
    // Whoever begins beside the message finds the home all the same.
    let both = Allowed::new(&[outside.clone(), inside.clone()]);
    let beside = both.folder(None).unwrap();
    assert_eq!((beside.path, beside.others), (outside.clone(), vec![inside.clone()]));
    assert_eq!(both.folder(Some(&inside)).unwrap().others, std::slice::from_ref(&outside));
    assert_eq!(
        (folder.folders, folder.files),
        (vec!["link".into(), "sub".into()], vec!["a.hl7".into()])
    );
    let sub = allowed.folder(Some(&inside.join("sub"))).unwrap();
    assert_eq!(sub.parent, Some(inside.clone()));
    assert_eq!(allowed.existing(&inside.join("sub/../a.hl7")).unwrap(), inside.join("a.hl7"));
    assert_eq!(allowed.writable(&inside.join("new")).unwrap(), inside.join("new"));
    for wrong in ["../out/secret", "link/secret", "link", ".."] {
        assert!(allowed.existing(&inside.join(wrong)).is_err(), "{wrong}");
    }
    for wrong in ["../new", "link/new", "dangling", "none/new", "sub/.."] {
        assert!(allowed.writable(&inside.join(wrong)).is_err(), "{wrong}");
    }
    assert!(allowed.folder(Some(&outside)).is_err());
    assert!(Allowed::new(&[]).folder(None).is_err());
}
