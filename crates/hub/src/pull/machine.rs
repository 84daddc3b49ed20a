//! What this machine has: free memory, room on a disk, and the person's token for Hugging Face.

use crate::config::World;
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Where Linux tells of its memory.
const MEMORY: &str = "/proc/meminfo";
/// Bytes of a file with a token; a longer one holds none.
const TOKEN_BYTES_MAX: u64 = 4_096;

/// Returns the memory that programs can still get without swapping; none where the system does not
/// tell.
pub fn free_memory() -> Option<u64> {
    read_available(&fs::read_to_string(MEMORY).ok()?)
}

fn read_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

/// Returns the room that the disk of `folder`, or of what will hold it, has for this person.
pub(super) fn free_disk(folder: &Path) -> Result<u64> {
    let existing = folder.ancestors().find(|it| it.is_dir()).unwrap_or(Path::new("/"));
    let told = rustix::fs::statvfs(existing).map_err(|error| {
        let text = format!("cannot tell how full the disk of {} is: {error}", existing.display());
        Fault::internal(text)
    })?;
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}

/// Returns the token for Hugging Face, from where its own tools have it.
pub(super) fn hub_token(world: &World) -> Option<Secret> {
    let set = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"].iter().find_map(|name| world.var(name));
    if let Some(token) = set {
        return Some(Secret::new(token));
    }
    let file = match world.var("HF_TOKEN_PATH") {
        Some(path) => PathBuf::from(path),
        None => hub_home(world).join("token"),
    };
    let is_small = fs::metadata(&file).ok()?.len() <= TOKEN_BYTES_MAX;
    let text = fs::read_to_string(&file).ok().filter(|_| is_small)?;
    Some(text.trim()).filter(|token| !token.is_empty()).map(Secret::new)
}

/// Returns the folder of Hugging Face's tools.
pub(super) fn hub_home(world: &World) -> PathBuf {
    if let Some(home) = world.var("HF_HOME") {
        return PathBuf::from(home);
    }
    let cache = world.var("XDG_CACHE_HOME").map(PathBuf::from).filter(|it| it.is_absolute());
    cache.unwrap_or_else(|| world.home.join(".cache")).join("huggingface")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn world(home: &Path, env: &[(&str, &str)]) -> World {
        let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        World { env: env.collect::<BTreeMap<_, _>>(), cwd: home.into(), home: home.into() }
    }

    #[test]
    fn free_memory_is_what_is_available() {
        let text = "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n";
        assert_eq!(read_available(text), Some(8_192_000_000));
        assert_eq!(read_available("MemTotal: 1 kB\n"), None);
        assert_eq!(read_available("MemAvailable: x kB\n"), None);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_room_of_its_disk() {
        let home = tempfile::tempdir().unwrap();
        assert!(free_disk(&home.path().join("a/b/c")).unwrap() > 0);
    }

    #[test]
    fn the_token_is_where_its_tools_keep_it() {
        let home = tempfile::tempdir().unwrap();
        let token = |env: &[(&str, &str)]| {
            hub_token(&world(home.path(), env)).map(|token| token.expose().to_string())
        };
        assert_eq!(token(&[]), None);
        let folder = home.path().join(".cache/huggingface");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("token"), "hf_file\n").unwrap();
        assert_eq!(token(&[]).as_deref(), Some("hf_file"));
        assert_eq!(token(&[("HF_TOKEN", " hf_set ")]).as_deref(), Some("hf_set"));
        assert_eq!(token(&[("HF_HOME", "/nowhere")]), None);
        fs::write(folder.join("token"), "x".repeat(5_000)).unwrap();
        assert_eq!(token(&[]), None);
    }
}
