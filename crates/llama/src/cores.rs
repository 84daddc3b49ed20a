//! How many threads compute: as many as the machine has physical cores, as llama-server has it.

use std::collections::BTreeSet;
use std::path::Path;

/// Where Linux says which logical processors share a core.
const TOPOLOGY: &str = "/sys/devices/system/cpu";
/// A model of fewer bytes is faster on one thread: its threads would mostly wait for each other.
const TINY_BYTES: u64 = 64 << 20;
/// Where the topology is unknown, more logical processors than this are taken for pairs.
const UNPAIRED_MAX: usize = 4;

/// Returns the number of logical processors that this process may use.
pub fn count_logical() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the number of threads for a model of this size.
pub fn choose_threads(model_bytes: u64) -> usize {
    let logical = count_logical();
    limit_threads(model_bytes, logical, count_physical(Path::new(TOPOLOGY), logical))
}

fn limit_threads(model_bytes: u64, logical: usize, physical: usize) -> usize {
    if model_bytes < TINY_BYTES { 1 } else { physical.clamp(1, logical.max(1)) }
}

/// Counts the groups of logical processors that share a core.
fn count_physical(topology: &Path, logical: usize) -> usize {
    let siblings = |entry: std::fs::DirEntry| {
        std::fs::read_to_string(entry.path().join("topology/thread_siblings")).ok()
    };
    let entries = std::fs::read_dir(topology).into_iter().flatten().flatten();
    let groups: BTreeSet<String> = entries.filter_map(siblings).collect();
    match groups.len() {
        0 if logical <= UNPAIRED_MAX => logical,
        0 => logical / 2,
        cores => cores,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_physical_cores_within_what_is_allowed() {
        for (bytes, logical, physical, threads) in [
            (TINY_BYTES - 1, 8, 4, 1),
            (TINY_BYTES, 8, 4, 4),
            (TINY_BYTES, 2, 16, 2),
            (TINY_BYTES, 1, 0, 1),
        ] {
            assert_eq!(limit_threads(bytes, logical, physical), threads);
        }
    }

    #[test]
    fn an_unknown_topology_is_guessed() {
        let nowhere = Path::new("/nowhere");
        let guessed = [1, 2, 4, 8, 16].map(|logical| count_physical(nowhere, logical));
        assert_eq!(guessed, [1, 2, 4, 4, 8]);
    }
}
