//! What earlier pulls brought or began.

use super::held::walk::files_below;
use super::part::{Source, begun, finished, part_length};
use crate::config::Config;
use std::path::{Path, PathBuf};

/// Folders below that of all models.
const DEPTH_MAX: usize = 16;

/// A file that an earlier pull brought, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptModel {
    /// As `althing pull` takes it.
    pub name: String,
    pub path: PathBuf,
    /// Bytes that are here.
    pub here: u64,
    /// Bytes of the whole file.
    pub bytes: u64,
    pub is_whole: bool,
}

/// Finds what earlier pulls brought or began, in the order of their paths.
pub fn find_kept(config: &Config) -> Vec<KeptModel> {
    let files = files_below(&config.data_dir.join("models"), DEPTH_MAX);
    files.iter().filter_map(|file| kept(file)).collect()
}

/// Every file has a record beside it, and so has every part.
fn kept(record: &Path) -> Option<KeptModel> {
    let name = record.file_name()?.to_str()?;
    let at = |ending: &str| name.strip_suffix(ending).map(|name| record.with_file_name(name));
    if let Some(path) = at(".part.json") {
        let (source, here) = (begun(&path)?, part_length(&path));
        return (here > 0).then(|| model(source, path, here, false));
    }
    let path = at(".json")?;
    let source = finished(&path)?;
    let bytes = source.bytes;
    Some(model(source, path, bytes, true))
}

fn model(source: Source, path: PathBuf, here: u64, is_whole: bool) -> KeptModel {
    let name = if source.model.is_empty() { source.url } else { source.model };
    KeptModel { name, path, here, bytes: source.bytes, is_whole }
}
