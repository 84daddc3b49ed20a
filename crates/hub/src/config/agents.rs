//! Which agents are on this machine.

use super::World;
use std::path::{Path, PathBuf};

/// Folders of `PATH` that are looked into.
const PATH_FOLDERS_MAX: usize = 200;
/// The agents that are looked for, as their commands are called.
pub const AGENTS: &[&str] = &["claude", "codex", "gemini", "opencode"];

/// Agents that could sit at the table: name and path of each that is on `PATH`. Nothing is run.
pub fn agents_on_path(world: &World) -> Vec<(&'static str, PathBuf)> {
    let path = world.env.get("PATH").map(String::as_str).unwrap_or_default();
    // A relative folder would be whatever folder one happens to stand in.
    let folders: Vec<PathBuf> =
        std::env::split_paths(path).filter(|it| it.is_absolute()).take(PATH_FOLDERS_MAX).collect();
    let find = |name: &&'static str| {
        let mut places = folders.iter().map(|folder| folder.join(name));
        Some((*name, places.find(|place| is_program(place))?))
    };
    AGENTS.iter().filter_map(find).collect()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file() || path.with_extension("cmd").is_file()
}
