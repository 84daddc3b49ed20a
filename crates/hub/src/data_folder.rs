//! The folder with everything that is kept: keys, the token, the history. Nobody but its owner gets
//! in.

#[cfg(test)]
mod tests;

use althing_stdx::{Fault, Result};
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// Only the owner may list it and enter it.
const PRIVATE_MODE: u32 = 0o700;
/// What a mode grants to anybody else.
const OTHERS_MASK: u32 = 0o077;
/// The file of the history.
pub(crate) const DATABASE: &str = "althing.db";
/// What the folder is called where nobody chose another one.
const USUAL_NAME: &str = "althing";

/// Makes the folder where there is none, and closes one that others may enter.
///
/// Refuses a folder of another user, and an open one that may serve somebody else too: one behind a
/// link, or with files in it that are not ours. The mode of these is the person's to change.
pub(crate) fn secure_data_folder(folder: &Path) -> Result<()> {
    let cannot = |error: io::Error| {
        let text = format!("the data folder {}: {error}", folder.display());
        Fault::internal(text).source(error)
    };
    DirBuilder::new().recursive(true).mode(PRIVATE_MODE).create(folder).map_err(cannot)?;
    let found = fs::metadata(folder).map_err(cannot)?;
    check_owner(folder, &found)?;
    if found.mode() & OTHERS_MASK == 0 {
        return Ok(());
    }
    if fs::symlink_metadata(folder).map_err(cannot)?.is_symlink() {
        return Err(left_open(folder, "it is a link"));
    }
    if !is_for_us_alone(folder).map_err(cannot)? {
        return Err(left_open(folder, "it holds other files"));
    }
    close_to_others(folder, &found).map_err(|error| left_open(folder, &error.to_string()))
}

/// Whether the file belongs to the user of this process.
pub(crate) fn is_own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

/// Whether two looks at a path found the same file.
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn check_owner(folder: &Path, found: &Metadata) -> Result<()> {
    if is_own(found) {
        return Ok(());
    }
    Err(Fault::invalid(format!(
        "the data folder {} belongs to another user (id {}), who could read your keys; \
         set ALTHING_DATA to a folder of your own",
        folder.display(),
        found.uid()
    )))
}

/// Changes the mode of the folder that was looked at, and of no other that took its place.
fn close_to_others(folder: &Path, looked_at: &Metadata) -> io::Result<()> {
    let opened = File::open(folder)?;
    if !is_same_file(&opened.metadata()?, looked_at) {
        return Err(io::Error::other("it was replaced meanwhile"));
    }
    opened.set_permissions(Permissions::from_mode(PRIVATE_MODE))
}

/// Whether closing the folder can be in nobody's way.
fn is_for_us_alone(folder: &Path) -> io::Result<bool> {
    let is_named_so = folder.file_name().is_some_and(|name| name == USUAL_NAME);
    let is_in_use = || folder.join(DATABASE).exists();
    Ok(is_named_so || is_in_use() || fs::read_dir(folder)?.next().is_none())
}

fn left_open(folder: &Path, why: &str) -> Fault {
    let folder = folder.display();
    Fault::invalid(format!(
        "the data folder {folder} is open to other users of this machine, and is not closed for \
         you ({why}); run chmod 700 on it, or set ALTHING_DATA to another folder"
    ))
}
