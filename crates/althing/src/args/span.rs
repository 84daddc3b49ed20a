//! Spans of time as people write them.

use std::time::Duration;

/// As long as minutes are kept apart, in seconds.
const SPAN_MAX: u64 = 35 * 86_400;

/// `90s`, `30m`, `1h`, `7d`.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let span = seconds(text)?;
    let is_fit = (60..=SPAN_MAX).contains(&span);
    is_fit.then(|| Duration::from_secs(span)).ok_or("must be 1m to 35d".into())
}

/// The same, for what is soon over.
pub(super) fn short_span(text: &str) -> Result<Duration, String> {
    let span = seconds(text)?;
    let is_fit = (1..=3600).contains(&span);
    is_fit.then(|| Duration::from_secs(span)).ok_or("must be 1s to 1h".into())
}

fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "want a number and s, m, h or d, like 30m".to_string();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).ok_or_else(wrong)
}
