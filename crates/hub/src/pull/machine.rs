//! What this machine has: free memory, room on a disk, and the person's token for Hugging Face.

use crate::config::{Config, World};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Where Linux tells of its memory.
const MEMORY: &str = "/proc/meminfo";
/// The groups of processes that this program is in, and where they are.
const OWN_GROUPS: &str = "/proc/self/cgroup";
const GROUPS: &str = "/sys/fs/cgroup";
/// One part in so many of the free memory is left to others.
const HEADROOM: u64 = 10;
/// Bytes of a file with a token; a longer one holds none.
const TOKEN_BYTES_MAX: u64 = 4_096;

/// Returns the memory that a model may take: what programs can still get without swapping, within
/// the limits that this program runs under, less a tenth for others. None where the system does not
/// tell.
pub fn free_memory() -> Option<u64> {
    let available = read_available(&fs::read_to_string(MEMORY).ok()?)?;
    let groups = fs::read_to_string(OWN_GROUPS).unwrap_or_default();
    let free = free_in_groups(Path::new(GROUPS), &groups).map_or(available, |it| it.min(available));
    Some(free - free / HEADROOM)
}

/// Returns what the narrowest of the groups of this program, and of those around them, leaves.
fn free_in_groups(root: &Path, own: &str) -> Option<u64> {
    let free = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = Path::new(path.trim_start_matches('/'));
        match controllers {
            "" => free_around(root, path, &GROUP_V2),
            it if it.split(',').any(|it| it == "memory") => {
                free_around(&root.join("memory"), path, &GROUP_V1)
            }
            _ => None,
        }
    };
    own.lines().filter_map(free).min()
}

/// The files in which a group tells of its memory.
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
    /// The line of `memory.stat` with what can be had back at once.
    cached: &'static str,
}

const GROUP_V2: GroupFiles =
    GroupFiles { limit: "memory.max", used: "memory.current", cached: "inactive_file " };
const GROUP_V1: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: "total_inactive_file ",
};

/// In a container the path may be that of the host: then only what is there counts.
fn free_around(root: &Path, path: &Path, files: &GroupFiles) -> Option<u64> {
    path.ancestors().filter_map(|path| free_in_group(&root.join(path), files)).min()
}

/// Returns the limit of a group less its use; none where it has no limit.
fn free_in_group(group: &Path, files: &GroupFiles) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let limit = number(files.limit)?;
    let stat = text("memory.stat").unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix(files.cached));
    let cached = cached.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or_default();
    Some(limit.saturating_sub(number(files.used)?.saturating_sub(cached)))
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

/// Returns the token for Hugging Face and where it is from: the settings, or where its own tools
/// have it.
pub(super) fn hub_token(world: &World, config: &Config) -> Option<(Secret, String)> {
    if let Some(token) = &config.hub_token {
        return Some((token.value.clone(), token.source.to_string()));
    }
    let file = match world.var("HF_TOKEN_PATH") {
        Some(path) => PathBuf::from(path),
        None => hub_home(world).join("token"),
    };
    let is_small = fs::metadata(&file).ok()?.len() <= TOKEN_BYTES_MAX;
    let text = fs::read_to_string(&file).ok().filter(|_| is_small)?;
    let token = Some(text.trim()).filter(|token| !token.is_empty())?;
    Some((Secret::new(token), file.display().to_string()))
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
    fn limits_of_groups_count_with_those_around_them() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let free = |own: &str| free_in_groups(root.path(), own);
        assert_eq!(free("0::/a/b\n"), None);
        put("a/b/memory.max", "max\n");
        put("a/b/memory.current", "10\n");
        assert_eq!(free("0::/a/b\n"), None);
        put("a/memory.max", "1000\n");
        put("a/memory.current", "700\n");
        put("a/memory.stat", "anon 500\ninactive_file 200\n");
        assert_eq!(free("0::/a/b\n"), Some(500));
        put("a/b/memory.max", "300\n");
        assert_eq!(free("0::/a/b\n"), Some(290));
        put("memory/memory.limit_in_bytes", "100\n");
        put("memory/memory.usage_in_bytes", "120\n");
        assert_eq!(free("4:cpu,memory:/docker/x\n0::/elsewhere\n"), Some(0));
        assert_eq!(free("4:cpu:/a\nx\n"), None);
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
            let world = world(home.path(), env);
            let token = hub_token(&world, &Config::load(&world));
            token.map(|(token, _)| token.expose().to_string())
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
        fs::write(home.path().join(".env"), "HF_TOKEN=hf_here\n").unwrap();
        assert_eq!(token(&[]).as_deref(), Some("hf_here"));
        assert_eq!(token(&[("HF_TOKEN", "hf_set")]).as_deref(), Some("hf_set"));
    }
}
