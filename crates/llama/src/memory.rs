//! How much memory conversations that wait may take.

/// Where Linux says how much memory is free.
const MEMINFO: &str = "/proc/meminfo";
/// The part of what is free after loading that they may take.
const FREE_PART: usize = 4;

/// Limits what is wanted to a part of what is free now.
pub fn limit_cache(wanted: usize) -> usize {
    let free = std::fs::read_to_string(MEMINFO).ok().and_then(|text| read_available(&text));
    free.map_or(wanted, |free| wanted.min(free / FREE_PART))
}

fn read_available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_read_where_it_is_told() {
        let text = "MemTotal:       16331752 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n";
        assert_eq!(read_available(text), Some(2 << 20));
        assert_eq!(read_available("MemTotal: 1 kB"), None);
        assert_eq!(limit_cache(0), 0);
        assert_eq!(limit_cache(1), 1, "a byte is always free");
    }
}
