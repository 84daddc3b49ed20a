//! The locks of all libraries at once. Python, Go and Rust make a file that must not be there,
//! JavaScript a folder. All are taken, always in the same order, and given back in the reverse one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::wait::{now, pause};

/// Who leaves a lock untouched for so long has died with it: the rule of all libraries.
const STALE: Duration = Duration::from_secs(10);
/// Longer than any lock can be stale; whoever waits longer is told so.
const LOCK_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy)]
enum Kind {
    File,
    Folder,
}

/// `registry.lock` is Python's 4.0, `services.lock` is Python's, Go's and Rust's 4.1, and the
/// folder is that of JavaScript.
const LOCKS: &[(&str, Kind)] = &[
    ("registry.lock", Kind::File),
    ("services.lock", Kind::File),
    ("services.json.lock", Kind::Folder),
];

/// All locks; given back when dropped. They are held for one read and one write, far shorter than
/// what is stale.
#[derive(Debug)]
pub(super) struct Lock {
    held: Vec<(PathBuf, Kind)>,
}

impl Lock {
    pub(super) fn take(folder: &Path) -> io::Result<Lock> {
        let deadline = now() + LOCK_MAX;
        let mut lock = Lock { held: Vec::new() };
        for (name, kind) in LOCKS {
            let path = folder.join(name);
            while !kind.make(&path)? {
                if now() >= deadline {
                    let what = format!("{name} is held by another process");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
                kind.break_if_stale(&path);
                pause(PAUSE);
            }
            lock.held.push((path, *kind));
        }
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        for (path, kind) in self.held.iter().rev() {
            // Somebody may have found it stale and broken it.
            let _ = kind.remove(path);
        }
    }
}

impl Kind {
    /// Whether it was made, which means that it was not there.
    fn make(self, path: &Path) -> io::Result<bool> {
        let made = match self {
            Kind::File => {
                File::create_new(path).and_then(|mut file| write!(file, "{}", std::process::id()))
            }
            Kind::Folder => fs::create_dir(path),
        };
        match made {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remove(self, path: &Path) -> io::Result<()> {
        match self {
            Kind::File => fs::remove_file(path),
            Kind::Folder => fs::remove_dir(path),
        }
    }

    /// Takes a stale lock away under a name of its own, so that of several only one does; and if
    /// it was a fresh one by now, puts it back.
    fn break_if_stale(self, path: &Path) {
        if !is_stale(path) {
            return;
        }
        let aside = path.with_extension(format!("stale-{}", crate::id::fresh()));
        if fs::rename(path, &aside).is_err() {
            return;
        }
        if is_stale(&aside) {
            // Nothing depends on what was put aside.
            let _ = self.remove(&aside);
        } else {
            // If another is there already, the one that was put aside has lost.
            let _ = fs::rename(&aside, path);
        }
    }
}

fn is_stale(path: &Path) -> bool {
    let touched = fs::metadata(path).and_then(|about| about.modified());
    let age = touched.ok().and_then(|touched| SystemTime::now().duration_since(touched).ok());
    age.is_some_and(|age| age > STALE)
}
