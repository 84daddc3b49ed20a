//! Whose an entry is, and whether that process is alive. A process id is given out again some day,
//! so a process that began after its entry was written is another one.

use std::fs;

use serde_json::{Value, json};

use crate::envelope::now;

/// The field of ours that says when a process began, in ticks since the machine did.
const BEGAN: &str = "pid_began";
/// Ticks of a second, the same on every Linux.
const TICKS: f64 = 100.0;
/// How far a clock may be off, and how far a time without a zone.
const CLOCK_SLACK_S: f64 = 5.0;
const ZONE_SLACK_S: f64 = 26.0 * 3600.0;

/// An entry as the libraries write it, and when the process began.
pub(super) fn entry(pid: u32, port: u16) -> Value {
    let mut entry = json!({ "port": port, "pid": pid, "started": iso(now() as i64) });
    if let Some(began) = began(pid) {
        entry[BEGAN] = began.into();
    }
    entry
}

/// The process of an entry, if it is alive and still the same.
pub(super) fn of_live(entry: &Value) -> Option<u32> {
    let pid = entry.get("pid")?.as_u64().and_then(|pid| u32::try_from(pid).ok())?;
    is_alive(pid).then_some(())?;
    is_same(entry, pid).then_some(pid)
}

fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    // One that we may not signal is alive.
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
        && !is_zombie(pid.as_raw_nonzero().get())
}

/// What has ended but was not yet waited for serves nobody.
fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    matches!(fields(&stat).next(), Some("Z" | "X"))
}

/// Where nothing tells otherwise, it is.
fn is_same(entry: &Value, pid: u32) -> bool {
    let Some(began) = began(pid) else { return true };
    if let Some(written) = entry.get(BEGAN).and_then(Value::as_u64) {
        return written == began;
    }
    let Some((registered, slack)) = entry.get("started").and_then(Value::as_str).and_then(seconds)
    else {
        return true;
    };
    booted().is_none_or(|booted| booted + began as f64 / TICKS <= registered + slack)
}

/// When a process began, in ticks since the machine did.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat).nth(19)?.parse().ok()
}

/// What follows the name of the program, which may hold anything.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ')
}

fn booted() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()
}

/// The time in `started`, and how exact it is: JavaScript writes it with a zone, Rust as seconds,
/// Python without a zone.
fn seconds(started: &str) -> Option<(f64, f64)> {
    if let Ok(seconds) = started.parse() {
        return Some((seconds, CLOCK_SLACK_S));
    }
    let number = |range: std::ops::Range<usize>| started.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let slack = if started.ends_with('Z') { CLOCK_SLACK_S } else { ZONE_SLACK_S };
    Some((seconds as f64, slack))
}

/// Days since 1970 of a date, counting years from March so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn iso(seconds: i64) -> String {
    let (day, second) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * from_march + 2) / 5 + 1, (from_march + 2) % 12 + 1);
    let year = era * 400 + year + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_every_library_writes_them() {
        for day in [0, 59, 60, 365, 11_016, 19_782, 20_000, 30_000] {
            let time = day * 86_400 + 3723;
            assert_eq!(seconds(&iso(time)), Some((time as f64, CLOCK_SLACK_S)));
        }
        assert_eq!(iso(1_770_811_200), "2026-02-11T12:00:00Z");
        assert_eq!(seconds("2026-02-11T12:00:00.123456"), Some((1_770_811_200.0, ZONE_SLACK_S)));
        assert_eq!(seconds("1770811200"), Some((1_770_811_200.0, CLOCK_SLACK_S)));
        assert_eq!(seconds("yesterday"), None);
    }

    #[test]
    fn s10_2_3_a_process_id_that_was_given_out_again_is_told() {
        let pid = std::process::id();
        assert_eq!(of_live(&entry(pid, 1)), Some(pid));
        let cases = [
            (json!({ "pid": pid }), true),
            (json!({ "pid": pid, BEGAN: 1 }), false),
            (json!({ "pid": pid, "started": "1000" }), false),
            (json!({ "pid": pid, "started": "2001-02-03T04:05:06.789Z" }), false),
            (json!({ "pid": pid, "started": "2001-02-03T04:05:06.789012" }), false),
            (json!({ "pid": pid, "started": iso(now() as i64) }), true),
            (json!({ "pid": pid, "started": 7 }), true),
            (json!({ "pid": pid, "start_time": "0001-01-01T00:00:00Z" }), true),
            (json!({ "pid": 0 }), false),
            (json!({ "pid": -1 }), false),
            (json!({ "pid": u32::MAX }), false),
            (json!({}), false),
            (json!([]), false),
        ];
        for (entry, is_live) in cases {
            assert_eq!(of_live(&entry).is_some(), is_live, "{entry}");
        }
    }
}
