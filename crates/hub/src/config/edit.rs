//! Changes of the TOML file by commands: everything else in it stays as the person wrote it, and a
//! reader finds the old file or the new one.

use super::extensions::{ExtensionConfig, check_name};
use super::file::{FILE_BYTES_MAX, private_folder, read_bounded};
use althing_exthost::{Entry, Grant};
use althing_stdx::{Fault, Kind, Result};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

const SECTION: &str = "extensions";
/// Names that are tried for the file that is to become the new one.
const NAMES_MAX: u32 = 16;

/// Adds `[extensions.<name>]`; one that is there stays as it is.
pub fn add_extension(file: &Path, new: &ExtensionConfig) -> Result<()> {
    check_name(&new.name).map_err(|problem| Fault::invalid(format!("name: {problem}")))?;
    change(file, |document| {
        let sections = sections(document)?;
        if sections.contains_key(&new.name) {
            let text = format!("name: there is an extension '{}' already", new.name);
            return Err(Fault::invalid(text));
        }
        sections.insert(&new.name, Item::Table(section(new)));
        Ok(())
    })
}

/// Removes `[extensions.<name>]`.
pub fn remove_extension(file: &Path, name: &str) -> Result<()> {
    change(file, |document| {
        let removed = sections(document)?.remove(name);
        removed.map(drop).ok_or_else(|| unknown(name, file))
    })
}

/// Says whether the extension called `name` is started.
pub fn enable_extension(file: &Path, name: &str, enabled: bool) -> Result<()> {
    change(file, |document| {
        let found = sections(document)?.get_mut(name).and_then(Item::as_table_like_mut);
        let section = found.ok_or_else(|| unknown(name, file))?;
        match section.get_mut("enabled").and_then(Item::as_value_mut) {
            Some(found) => {
                // What stands around it, a comment perhaps, stays.
                let decor = found.decor().clone();
                *found = enabled.into();
                *found.decor_mut() = decor;
            }
            None => drop(section.insert("enabled", value(enabled))),
        }
        Ok(())
    })
}

fn unknown(name: &str, file: &Path) -> Fault {
    let text = format!("name: there is no extension '{name}' in {}", file.display());
    Fault::new(Kind::NotFound, text)
}

fn sections(document: &mut DocumentMut) -> Result<&mut Table> {
    let item = document.entry(SECTION).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    item.as_table_mut().ok_or_else(|| {
        Fault::invalid("extensions: must be sections: [extensions.echo], …; nothing was changed")
    })
}

fn section(new: &ExtensionConfig) -> Table {
    let mut table = Table::new();
    let entry = &new.entry;
    table.insert("path", value(entry.path.as_str()));
    if !entry.args.is_empty() {
        table.insert("args", value(Array::from_iter(entry.args.iter().map(String::as_str))));
    }
    if !entry.env.is_empty() {
        let pairs = entry.env.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        table.insert("env", value(InlineTable::from_iter(pairs)));
    }
    if !entry.inherit.is_empty() {
        let names = entry.inherit.iter().map(String::as_str);
        table.insert("inherit", value(Array::from_iter(names)));
    }
    if !entry.enabled {
        table.insert("enabled", value(false));
    }
    if entry.grants != Grant::usual() {
        table.insert("grants", value(Array::from_iter(entry.grants.iter().map(|it| it.name()))));
    }
    if let Some(restart) = entry.restart {
        let pairs = [
            ("times_max", restart.times_max as i64),
            ("window_s", restart.window_s as i64),
            ("first_ms", restart.first_ms as i64),
            ("wait_ms_max", restart.wait_ms_max as i64),
        ];
        table.insert("restart", value(InlineTable::from_iter(pairs)));
    }
    if entry.private_data {
        table.insert("private_data", value(true));
    }
    if entry.frame_bytes_max != Entry::new("").frame_bytes_max {
        table.insert("frame_bytes_max", value(entry.frame_bytes_max as i64));
    }
    table
}

fn change(file: &Path, work: impl FnOnce(&mut DocumentMut) -> Result<()>) -> Result<()> {
    let shown = file.display();
    let bytes = read_bounded(file, FILE_BYTES_MAX)
        .map_err(|problem| Fault::invalid(format!("{shown} {problem}")))?;
    let text = String::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| Fault::invalid(format!("{shown} is not UTF-8; nothing was changed")))?;
    let mut document: DocumentMut = text.parse().map_err(|_| {
        Fault::invalid(format!(
            "{shown} is not TOML, as `althing config` says; nothing was changed"
        ))
    })?;
    work(&mut document)?;
    private_folder()
        .create(file.parent().unwrap_or(Path::new(".")))
        .and_then(|()| replace(file, document.to_string().as_bytes()))
        .map_err(|error| Fault::new(Kind::NotFound, format!("{shown} cannot be written: {error}")))
}

/// Puts `bytes` in the place of a file, all at once, with the rights it had; a new one is for the
/// person's eyes only. Where the name is a link, what it leads to is replaced.
pub(crate) fn replace(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let (new, mut writer) = beside(&file)?;
    let written = (|| {
        if let Ok(found) = fs::metadata(&file) {
            fs::set_permissions(&new, found.permissions())?;
        }
        writer.write_all(bytes)?;
        writer.sync_all()?;
        fs::rename(&new, &file)
    })();
    if written.is_err() {
        // It is of no use to anybody; the error that matters is the first.
        let _ = fs::remove_file(&new);
    }
    written
}

fn beside(file: &Path) -> std::io::Result<(PathBuf, fs::File)> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut last = std::io::ErrorKind::AlreadyExists.into();
    for _ in 0..NAMES_MAX {
        let new = file.with_file_name(format!(".{name}.{:08x}", fastrand::u32(..)));
        match options.open(&new) {
            Ok(opened) => return Ok((new, opened)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
