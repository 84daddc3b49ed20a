//! What a mistyped name was probably meant to be.

/// Longer names are not compared; the work grows with the square.
const CHARS_MAX: usize = 80;

/// The names most like `wanted`, best first, at most `count`; none that differs in more than a
/// third of its characters, unless one contains the other.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| Some((rank(&wanted, &name.to_lowercase())?, name)))
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(count).map(|(_, name)| name).collect()
}

fn rank(wanted: &str, name: &str) -> Option<usize> {
    let (a, b) = (wanted.chars().count(), name.chars().count());
    if a == 0 || b == 0 || a > CHARS_MAX || b > CHARS_MAX {
        return None;
    }
    if a >= 3 && b >= 3 && (name.contains(wanted) || wanted.contains(name)) {
        return Some(1);
    }
    Some(distance(wanted, name)).filter(|distance| *distance <= a.max(b) / 3)
}

/// Insertions, deletions and replacements from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, names: &[&str], want: &[&str]) {
        assert_eq!(nearest(wanted, names.iter().copied(), 2), want, "{wanted}");
    }

    #[test]
    fn near_names_and_no_far_ones() {
        check("methd", &["models", "method", "language"], &["method"]);
        check("GPT-5.2", &["gpt-5.1", "claude", "gpt-5"], &["gpt-5", "gpt-5.1"]);
        check("sonnet", &["claude-sonnet-4-5", "gpt-5.1"], &["claude-sonnet-4-5"]);
        check("zzz", &["method"], &[]);
        check("", &["method", ""], &[]);
        check(&"x".repeat(81), &["x"], &[]);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
