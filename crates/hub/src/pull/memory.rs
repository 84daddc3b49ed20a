//! How much memory a model needs, estimated from the size of its file. Pure.

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What the program and its working buffers take besides the model.
const OVERHEAD: u64 = 256 * MIB;

/// Memory of a conversation of 8,192 tokens: up to this size of a file, so much. Larger models have
/// more layers; a figure of today's models, seen in those of the recommended list.
const CACHES: &[(u64, u64)] = &[
    (GIB, 256 * MIB),
    (2 * GIB, 512 * MIB),
    (8 * GIB, 1_152 * MIB),
    (24 * GIB, 1_536 * MIB),
    (64 * GIB, 2_560 * MIB),
];
const CACHE_LARGEST: u64 = 4 * GIB;

/// Returns the memory for a model whose files have `bytes` bytes: weights, conversation, program.
pub fn memory_need(bytes: u64) -> u64 {
    let cache = CACHES.iter().find(|(size, _)| bytes <= *size).map_or(CACHE_LARGEST, |it| it.1);
    memory_with_cache(bytes, cache)
}

/// The same where the memory of the conversation is known.
pub fn memory_with_cache(bytes: u64, cache: u64) -> u64 {
    bytes.saturating_add(cache).saturating_add(OVERHEAD)
}

/// Writes an amount for people: `512 bytes`, `3.2 MB`, `4.1 GB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let (mut amount, mut unit) = (bytes as f64 / 1_000.0, 0);
    // What would be rounded to a thousand is one of the next unit.
    while amount >= 999.5 && unit + 1 < UNITS.len() {
        amount /= 1_000.0;
        unit += 1;
    }
    let digits = if amount < 9.95 { 1 } else { 0 };
    format!("{amount:.digits$} {}", UNITS[unit])
}

/// Reads an amount as people write it: `200GB`, `1.5 TB`, `4096`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        "T" | "TB" => 1_000_000_000_000,
        "P" | "PB" => 1_000_000_000_000_000,
        "KIB" => 1 << 10,
        "MIB" => MIB,
        "GIB" => GIB,
        "TIB" => 1 << 40,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * factor as f64;
    (bytes >= 1.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_models_need_more() {
        assert_eq!(memory_need(100 * MIB), 612 * MIB);
        assert_eq!(memory_need(2 * GIB), 2 * GIB + 768 * MIB);
        assert_eq!(memory_need(100 * GIB), 104 * GIB + 256 * MIB);
        let sizes = (0..200).map(|size| memory_need(size * GIB / 2));
        assert!(sizes.collect::<Vec<_>>().is_sorted());
        assert_eq!(memory_need(u64::MAX), u64::MAX);
    }

    #[test]
    fn amounts_are_written_and_read() {
        #[track_caller]
        fn check(bytes: u64, want: &str) {
            assert_eq!(format_bytes(bytes), want);
        }
        check(0, "0 bytes");
        check(999, "999 bytes");
        check(1_234, "1.2 KB");
        check(999_400, "999 KB");
        check(999_900, "1.0 MB");
        check(98_700_000, "99 MB");
        check(4_080_218_931, "4.1 GB");
        assert_eq!(parse_bytes("200GB"), Some(200_000_000_000));
        assert_eq!(parse_bytes(" 1.5 tb "), Some(1_500_000_000_000));
        assert_eq!(parse_bytes("1GiB"), Some(GIB));
        for wrong in ["", "GB", "-1", "1 XB", "0", "1.2.3GB", "99999999999999999999PB"] {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
    }
}
