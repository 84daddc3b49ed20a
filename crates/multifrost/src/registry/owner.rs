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
/// How long after its start a service may take to listen: other libraries register before that.
const LISTEN_MAX_S: f64 = 60.0;

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
    let Some(began) = booted().map(|booted| booted + began as f64 / TICKS) else { return true };
    // Go's name for it comes second.
    let told = ["started", "start_time"].into_iter().find_map(|name| entry.get(name)?.as_str());
    let slack = match told.and_then(seconds) {
        Some((registered, Some(slack))) => return began <= registered + slack,
        Some((registered, None)) => registered + ZONE_SLACK_S,
        None => f64::INFINITY,
    };
    began <= slack && (now() - began < LISTEN_MAX_S || may_listen(entry, pid))
}

/// Whether the process has the port of its entry. One that we may not look into may have it.
fn may_listen(entry: &Value, pid: u32) -> bool {
    let port = entry.get("port").and_then(Value::as_u64).unwrap_or_default();
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return true };
    let files: Vec<_> = files.flatten().filter_map(|it| fs::read_link(it.path()).ok()).collect();
    ["tcp", "tcp6"].iter().any(|table| {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        let mut sockets = table.lines().filter_map(|line| listening(line, port));
        sockets.any(|socket| files.iter().any(|file| file.as_os_str() == socket.as_str()))
    })
}

/// The socket of a line of the system's table, as a link to it is called, if it listens there.
fn listening(line: &str, port: u64) -> Option<String> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let at = u64::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
    (at == port && *fields.get(3)? == "0A").then(|| format!("socket:[{}]", fields[9]))
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

/// A time as the libraries write it, and how exact it is: JavaScript and Go write it with a zone,
/// Rust as seconds, Python without a zone. What Go says of services that are not its own is the year
/// 1, which is none.
fn seconds(started: &str) -> Option<(f64, Option<f64>)> {
    if let Ok(seconds) = started.parse() {
        return Some((seconds, Some(CLOCK_SLACK_S)));
    }
    let number = |range: std::ops::Range<usize>| started.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let east = zone(&started[19..]);
    let is_told = year > 1;
    is_told.then(|| ((seconds - east.unwrap_or(0)) as f64, east.map(|_| CLOCK_SLACK_S)))
}

/// Seconds east of Greenwich, by the end of a time.
fn zone(end: &str) -> Option<i64> {
    if end.ends_with('Z') {
        return Some(0);
    }
    let (sign, at) = end.rfind('+').map(|at| (1, at)).or(end.rfind('-').map(|at| (-1, at)))?;
    let (hours, minutes) = end[at + 1..].split_once(':')?;
    Some(sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60))
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
            assert_eq!(seconds(&iso(time)), Some((time as f64, Some(CLOCK_SLACK_S))));
        }
        assert_eq!(iso(1_770_811_200), "2026-02-11T12:00:00Z");
        let noon = |slack| Some((1_770_811_200.0, slack));
        assert_eq!(seconds("2026-02-11T12:00:00.123456"), noon(None));
        assert_eq!(seconds("1770811200"), noon(Some(CLOCK_SLACK_S)));
        assert_eq!(seconds("2026-02-11T13:30:00.123456789+01:30"), noon(Some(CLOCK_SLACK_S)));
        assert_eq!(seconds("2026-02-11T04:00:00-08:00"), noon(Some(CLOCK_SLACK_S)));
        for nothing in ["yesterday", "0001-01-01T00:00:00Z", "2026-02-11T12:00:0é"] {
            assert_eq!(seconds(nothing), None);
        }
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
            (json!({ "pid": pid, "start_time": "2001-02-03T04:05:06.789+01:00" }), false),
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

    /// A time without a zone may be off by a day, so the port decides; but not of who just began.
    #[test]
    fn s10_2_3_who_has_not_the_port_of_an_entry_is_another() {
        let listener = std::net::TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let pid = std::process::id();
        let has = |port: u16| may_listen(&json!({ "port": port }), pid);
        assert!(has(port));
        drop(listener);
        assert!(!has(port));
        assert!(may_listen(&json!({ "port": port }), u32::MAX), "nobody can tell");
        let today = &iso(now() as i64)[..19];
        assert!(of_live(&json!({ "pid": pid, "port": port, "started": today })).is_some());
        // The first process of a machine began long before any test.
        let old = json!({ "pid": 1, "port": port, "started": today });
        if fs::read_dir("/proc/1/fd").is_ok() && now() - booted().unwrap() > LISTEN_MAX_S {
            assert_eq!(of_live(&old), None);
        }
    }
}
