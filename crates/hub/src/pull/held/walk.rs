//! Folders of other programs, looked through with a limit. What cannot be read is not there.

use std::fs;
use std::path::{Path, PathBuf};

/// Entries of one folder; the rest stays unseen.
const ENTRIES_MAX: usize = 5_000;
/// Files that one search gives; the rest stays unseen.
const FILES_MAX: usize = 5_000;

/// Returns what is in a folder, in order of names.
pub(in crate::pull) fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX);
    let mut all: Vec<PathBuf> = all.map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Returns the files at most `depth` folders deep; links to folders are not followed.
pub(in crate::pull) fn files_below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in entries(folder) {
        let kind = fs::symlink_metadata(&entry).map(|it| it.file_type());
        match kind {
            Ok(kind) if kind.is_dir() && depth > 1 => files.extend(files_below(&entry, depth - 1)),
            Ok(kind) if !kind.is_dir() => files.push(entry),
            _ => {}
        }
        if files.len() >= FILES_MAX {
            files.truncate(FILES_MAX);
            break;
        }
    }
    files
}
