//! What is in a repository, by name: for a planner who cannot look by itself.

use super::NOT_WRITTEN;
use super::patterns::Patterns;
use std::fs;
use std::path::Path;

/// Bytes of the list; the deepest files are left out first.
const LIST_BYTES_MAX: usize = 32 * 1024;
/// Files and folders that are looked at; what comes after is not known.
const WALKED_MAX: usize = 20_000;
/// Folders in folders; deeper ones are not entered.
const DEPTH_MAX: usize = 16;
/// Bytes of a file with patterns.
const PATTERNS_BYTES_MAX: u64 = 64 * 1024;

/// The names of files below `root`, a line each and sorted; and what is missing.
pub(super) fn list(root: &Path) -> (String, Vec<String>) {
    let mut walk = Walk { patterns: patterns(root), files: vec![], walked: 0, is_cut: false };
    walk.folder(root, "", 0);
    let (all, mut missing) = (walk.files.len(), Vec::new());
    let mut shown = fitting(walk.files);
    if shown.len() < all {
        let left = all - shown.len();
        missing.push(format!("the list of files: {left} of {all}, at most {LIST_BYTES_MAX} bytes"));
    }
    if walk.is_cut {
        let text = format!("what lies behind {WALKED_MAX} entries or {DEPTH_MAX} folders deep");
        missing.push(format!("the list of files: {text}"));
    }
    shown.sort();
    (shown.concat(), missing)
}

/// As many lines as fit, those nearest to the root first.
fn fitting(mut files: Vec<String>) -> Vec<String> {
    files.sort_by_cached_key(|line| (line.matches('/').count(), line.clone()));
    let mut bytes = 0;
    files.retain(|line| {
        bytes += line.len();
        bytes <= LIST_BYTES_MAX
    });
    files
}

/// What the repository itself says is not part of it.
fn patterns(root: &Path) -> Patterns {
    let file = root.join(".gitignore");
    let is_small = fs::metadata(&file).is_ok_and(|it| it.len() <= PATTERNS_BYTES_MAX);
    let text = if is_small { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    Patterns::read(&text)
}

struct Walk {
    patterns: Patterns,
    /// Lines.
    files: Vec<String>,
    walked: usize,
    is_cut: bool,
}

impl Walk {
    /// Links, hidden things and those that nobody wrote are passed over.
    fn folder(&mut self, folder: &Path, name: &str, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            self.walked += 1;
            if self.walked > WALKED_MAX {
                self.is_cut = true;
                return;
            }
            let (Ok(kind), Ok(own)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            let path = format!("{name}{own}");
            let is_odd = own.starts_with('.') || own.contains(char::is_control);
            if is_odd || self.patterns.leave_out(&path, kind.is_dir()) {
                continue;
            }
            if kind.is_file() {
                self.files.push(path + "\n");
            } else if kind.is_dir() && !NOT_WRITTEN.contains(&own.as_str()) {
                self.is_cut |= depth == DEPTH_MAX;
                if depth < DEPTH_MAX {
                    self.folder(&entry.path(), &format!("{path}/"), depth + 1);
                }
            }
        }
    }
}
