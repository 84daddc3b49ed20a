//! The locks of all libraries at once. Python, Go and Rust make a file that must not be there,
//! JavaScript a folder. All are taken, always in the same order, and given back in the reverse one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::limits::REGISTRY_LOCK_MAX;
use crate::wait::{now, pause};

/// Who leaves a lock untouched for so long has died with it: the rule of all libraries.
const STALE: Duration = Duration::from_secs(10);
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

/// All locks; given back when dropped. They are held for one read and one write, and touched while
/// one of them is waited for and before the write counts.
#[derive(Debug)]
pub(super) struct Lock {
    held: Vec<Held>,
}

/// One that we have made.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    kind: Kind,
    /// Open, so that no other file can be taken for it.
    file: File,
}

impl Lock {
    pub(super) fn take(folder: &Path) -> io::Result<Lock> {
        Lock::take_until(folder, now() + REGISTRY_LOCK_MAX)
    }

    fn take_until(folder: &Path, deadline: Instant) -> io::Result<Lock> {
        let mut lock = Lock { held: Vec::new() };
        for (name, kind) in LOCKS {
            let path = folder.join(name);
            let file = loop {
                if let Some(file) = kind.make(&path)? {
                    break file;
                }
                if now() >= deadline {
                    let what = format!("{name} is held by another process");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
                kind.break_if_stale(&path);
                pause(PAUSE);
                lock.keep()?;
            };
            lock.held.push(Held { path, kind: *kind, file });
        }
        Ok(lock)
    }

    /// Makes sure that the locks are ours for as long again. Whoever was stopped for so long that
    /// another has found them stale must not write.
    pub(super) fn keep(&self) -> io::Result<()> {
        for held in &self.held {
            if !held.is_ours() {
                let what = format!("{} was taken by another process", held.path.display());
                return Err(io::Error::other(what));
            }
            held.file.set_modified(SystemTime::now())?;
        }
        Ok(())
    }
}

impl Held {
    /// Whether it is still there: somebody may have found it stale and made another.
    fn is_ours(&self) -> bool {
        let one = |about: fs::Metadata| (about.dev(), about.ino());
        let there = fs::symlink_metadata(&self.path).map(one);
        there.is_ok_and(|there| self.file.metadata().map(one).is_ok_and(|ours| there == ours))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        for held in self.held.iter().rev().filter(|held| held.is_ours()) {
            // What stays behind is stale soon.
            let _ = held.kind.remove(&held.path);
        }
    }
}

impl Kind {
    /// Makes it, unless it is there.
    fn make(self, path: &Path) -> io::Result<Option<File>> {
        let made = match self {
            Kind::File => File::create_new(path).and_then(|mut file| {
                write!(file, "{}", std::process::id())?;
                Ok(file)
            }),
            Kind::Folder => fs::create_dir(path).and_then(|()| File::open(path)),
        };
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            made => made.map(Some),
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
        if is_stale(&aside) || put_back(&aside, path).is_err() {
            // Nothing depends on what was put aside.
            let _ = self.remove(&aside);
        }
    }
}

/// If another is there already, the one that was put aside has lost.
fn put_back(aside: &Path, path: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, aside, CWD, path, RenameFlags::NOREPLACE)?)
}

fn is_stale(path: &Path) -> bool {
    let touched = fs::metadata(path).and_then(|about| about.modified());
    let age = touched.ok().and_then(|touched| SystemTime::now().duration_since(touched).ok());
    age.is_some_and(|age| age > STALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if its holder had stood still for longer than is allowed.
    fn age(folder: &Path) {
        let long_ago = SystemTime::now() - STALE - Duration::from_secs(1);
        for (name, _) in LOCKS {
            File::open(folder.join(name)).unwrap().set_modified(long_ago).unwrap();
        }
    }

    fn take_now(folder: &Path) -> Result<Lock, String> {
        Lock::take_until(folder, now()).map_err(|error| error.to_string())
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn s11_2_s11_8_s11_9_a_fresh_lock_of_any_kind_is_waited_for() {
        for (name, _) in LOCKS {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join(name)).unwrap();
            let error = take_now(folder.path()).unwrap_err();
            assert_eq!(error, format!("{name} is held by another process"));
            assert_eq!(files(folder.path()), 1, "and none is left behind");
        }
    }

    #[test]
    fn s11_8_s11_9_a_lock_that_is_kept_is_not_stale() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        age(folder.path());
        lock.keep().unwrap();
        LOCKS.iter().for_each(|(name, kind)| kind.break_if_stale(&folder.path().join(name)));
        lock.keep().unwrap();
        assert_eq!(files(folder.path()), LOCKS.len());
        drop(lock);
        assert_eq!(files(folder.path()), 0);
    }

    #[test]
    fn s11_8_s11_9_who_has_lost_a_lock_writes_nothing_and_leaves_that_of_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let slow = Lock::take(folder.path()).unwrap();
        age(folder.path());
        let other = Lock::take(folder.path()).unwrap();
        let error = slow.keep().unwrap_err().to_string();
        assert!(error.ends_with("registry.lock was taken by another process"), "{error}");
        drop(slow);
        other.keep().unwrap();
        drop(other);
        assert_eq!(files(folder.path()), 0);
    }

    #[test]
    fn s11_8_s11_9_a_lock_that_was_made_meanwhile_stays() {
        for kind in [Kind::File, Kind::Folder] {
            let folder = tempfile::tempdir().unwrap();
            let (path, aside) = (folder.path().join("lock"), folder.path().join("aside"));
            let held = |path: &PathBuf| {
                let file = kind.make(path).unwrap().unwrap();
                Held { path: path.clone(), kind, file }
            };
            let (new, _old) = (held(&path), held(&aside));
            assert!(put_back(&aside, &path).is_err());
            assert!(new.is_ours());
            kind.remove(&path).unwrap();
            put_back(&aside, &path).unwrap();
            assert!(!new.is_ours() && path.exists() && !aside.exists());
        }
    }
}
