//! The files of a repository that go along with a task: inside its root, text only, and no more than
//! a prompt can hold. What does not go along is named.

mod listing;
mod patterns;

use althing_assembly::event::Quoted;
use althing_stdx::redact::redact;
use althing_stdx::{Fault, Result};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of all files together; the one that goes beyond is cut there.
pub const BYTES_MAX: usize = 256 * 1024;
/// Files that go along; more are named and left out.
const FILES_MAX: usize = 40;
/// Files looked at below folders that were named, and how deep.
const WALKED_MAX: usize = 400;
const DEPTH_MAX: usize = 8;
/// Names of those that were left out; the rest are counted.
const LEFT_OUT_MAX: usize = 40;
/// Folders with nothing in them that a person wrote.
const NOT_WRITTEN: &[&str] = &["target", "node_modules", "dist", "build", "__pycache__", "vendor"];

/// What a person writes for those who come new, by the start of its name in small letters; and the
/// files that say what a repository is made of.
const TOLD: &[&str] = &["readme", "agents.md", "architecture", "contributing"];
const MADE_OF: &[&str] = &["cargo.toml", "package.json", "pyproject.toml", "go.mod", "makefile"];
/// Bytes of one of them; the rest is cut.
const TOLD_BYTES_MAX: usize = 24 * 1024;
/// How the list of all files is called among them.
const LIST: &str = "all files";

/// The text of `paths` below `root`, and what was left out, each with the reason.
pub(super) fn read(root: &Path, paths: &[String]) -> Result<(Vec<Quoted>, Vec<String>)> {
    let mut reading = Reading::new(root_of(root)?);
    for (at, path) in paths.iter().enumerate() {
        reading.path(at, path)?;
    }
    Ok(reading.done())
}

/// What is in `root` where nobody named a path: the names of its files, and the text of those at the
/// top that say what it is. With what was left out, each with the reason.
pub(super) fn survey(root: &Path) -> Result<(Vec<Quoted>, Vec<String>)> {
    let mut reading = Reading::new(root_of(root)?);
    let (list, missing) = listing::list(&reading.root);
    reading.left_out = missing;
    if list.is_empty() {
        return Ok(reading.done());
    }
    let is_told = |name: &&str| {
        let small = name.to_lowercase();
        MADE_OF.contains(&small.as_str()) || TOLD.iter().any(|it| small.starts_with(it))
    };
    let told: Vec<&str> = list.lines().filter(|it| !it.contains('/')).filter(is_told).collect();
    reading.bytes = list.len();
    for name in told {
        let real = reading.root.join(name);
        if let Err(why) = reading.file(&real, name, TOLD_BYTES_MAX) {
            reading.left_out.push(format!("{name}: {why}"));
        }
    }
    reading.files.insert(0, Quoted { name: LIST.into(), text: redact(&list) });
    Ok(reading.done())
}

/// The folder of a repository, with all links followed.
pub(super) fn root_of(root: &Path) -> Result<PathBuf> {
    let shown = root.display();
    let root = fs::canonicalize(root)
        .map_err(|e| Fault::invalid(format!("repo_context.root: {shown}: {e}")))?;
    match root.is_dir() {
        true => Ok(root),
        false => Err(Fault::invalid(format!("repo_context.root: {shown} is no folder"))),
    }
}

struct Reading {
    /// With all links followed.
    root: PathBuf,
    files: Vec<Quoted>,
    left_out: Vec<String>,
    bytes: usize,
    walked: usize,
}

impl Reading {
    fn new(root: PathBuf) -> Reading {
        Reading { root, files: vec![], left_out: vec![], bytes: 0, walked: 0 }
    }

    fn done(mut self) -> (Vec<Quoted>, Vec<String>) {
        let more = self.left_out.len().saturating_sub(LEFT_OUT_MAX);
        self.left_out.truncate(LEFT_OUT_MAX);
        if more > 0 {
            self.left_out.push(format!("{more} more files"));
        }
        (self.files, self.left_out)
    }

    /// A path that was named.
    fn path(&mut self, at: usize, path: &str) -> Result<()> {
        match inside(&self.root, at, path)? {
            Ok(real) => self.take(&real, 0),
            Err(e) => self.left_out.push(format!("{path}: {e}")),
        }
        Ok(())
    }

    fn take(&mut self, real: &Path, depth: usize) {
        let name = real.strip_prefix(&self.root).unwrap_or(real).display().to_string();
        self.walked += 1;
        if self.walked > WALKED_MAX || depth > DEPTH_MAX {
            self.left_out.push(format!("{name}: too many files or folders"));
            return;
        }
        if real.is_dir() {
            return self.folder(real, depth);
        }
        if let Err(why) = self.file(real, &name, BYTES_MAX) {
            self.left_out.push(format!("{name}: {why}"));
        }
    }

    /// What is in a folder, by name; links and hidden things are passed over.
    fn folder(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut entries: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                !is_link && !name.starts_with('.') && !NOT_WRITTEN.contains(&name.as_str())
            })
            .map(|entry| entry.path())
            .take(WALKED_MAX)
            .collect();
        entries.sort();
        for entry in entries {
            if self.walked > WALKED_MAX {
                return;
            }
            self.take(&entry, depth + 1);
        }
    }

    /// A file's text, as far as there is room for it and at most `bytes_max` of it.
    fn file(&mut self, real: &Path, name: &str, bytes_max: usize) -> Result<(), String> {
        if self.files.iter().any(|file| file.name == name) {
            return Ok(());
        }
        if self.files.len() >= FILES_MAX {
            return Err(format!("more than {FILES_MAX} files"));
        }
        let kind = fs::metadata(real).map_err(|e| e.to_string())?;
        if !kind.is_file() {
            return Err("no regular file".into());
        }
        let left = BYTES_MAX - self.bytes;
        if left == 0 {
            return Err(format!("{} bytes; {BYTES_MAX} are the limit for all files", kind.len()));
        }
        let room = left.min(bytes_max);
        let mut bytes = Vec::new();
        let file = fs::File::open(real).map_err(|e| e.to_string())?;
        file.take(room as u64 + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        if bytes.contains(&0) {
            return Err("not text".into());
        }
        let is_cut = bytes.len() > room;
        bytes.truncate(room);
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // A character at the cut may be half there.
            Err(e) if is_cut && e.utf8_error().error_len().is_none() => {
                let whole = e.utf8_error().valid_up_to();
                String::from_utf8_lossy(&e.into_bytes()[..whole]).into_owned()
            }
            Err(_) => return Err("not UTF-8".into()),
        };
        self.bytes += text.len();
        if is_cut {
            // Half a character at the limit is no room for another file.
            self.bytes = if room == left { BYTES_MAX } else { self.bytes };
            let why = format!("cut after {} of {} bytes", text.len(), kind.len());
            self.left_out.push(format!("{name}: {why}"));
        }
        self.files.push(Quoted { name: name.to_string(), text: redact(&text) });
        Ok(())
    }
}

/// Where the path that was named at this place of a task lies, with all links followed, or why it
/// cannot be read. One that leads outside `root`, which has no links, is refused.
pub(super) fn inside(root: &Path, at: usize, path: &str) -> Result<io::Result<PathBuf>> {
    let real = fs::canonicalize(root.join(path));
    let is_inside = match &real {
        Ok(real) => real.starts_with(root),
        // A way out that leads nowhere is a way out all the same.
        Err(_) => !Path::new(path).is_absolute() && !path.split(['/', '\\']).any(|it| it == ".."),
    };
    if is_inside { Ok(real) } else { Err(outside(at, path)) }
}

fn outside(at: usize, path: &str) -> Fault {
    Fault::invalid(format!("repo_context.paths[{at}]: '{path}' leads outside the root"))
}
