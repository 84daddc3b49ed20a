//! Names of runs: short, in order of time, and easy to type.

/// Digits that nobody mistakes for each other; in the order of their character codes.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Nine digits of milliseconds last until the year 3084.
const TIME_DIGITS: u32 = 9;
/// Three more tell runs of the same millisecond apart.
const RANDOM_DIGITS: u32 = 3;

/// A name for a run that starts now. Later names sort behind earlier ones.
pub fn new_run_id(now_ms: u64, rng: &mut fastrand::Rng) -> String {
    let random = rng.u64(..1 << (5 * RANDOM_DIGITS));
    let number = (now_ms << (5 * RANDOM_DIGITS)) | random;
    let digits = (0..TIME_DIGITS + RANDOM_DIGITS).rev();
    digits.map(|at| char::from(DIGITS[(number >> (5 * at)) as usize % DIGITS.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_sort_by_time() {
        let mut rng = fastrand::Rng::with_seed(7);
        let times = [0, 1, 31, 32, 1_790_000_000_000, 1_790_000_000_001, (1 << 45) - 1];
        let names = times.map(|now_ms| new_run_id(now_ms, &mut rng));
        assert!(names.is_sorted(), "{names:?}");
        assert!(names.iter().all(|name| name.len() == 12), "{names:?}");
        assert!(names[0].starts_with("000000000") && names[6].starts_with("zzzzzzzzz"));
    }

    #[test]
    fn names_of_one_moment_differ() {
        let mut rng = fastrand::Rng::with_seed(7);
        assert_ne!(new_run_id(5, &mut rng), new_run_id(5, &mut rng));
    }
}
