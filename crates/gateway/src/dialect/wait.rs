//! How long a provider asks us to wait: in headers, in the body, or in prose.

use std::time::Duration;

/// Longer waits are cut to this: nobody waits a day for a model.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// `retry-after-ms`; or `retry-after`, which is in seconds or a date. A date is measured from the
/// answer's own `date`, so that no clock is needed and theirs may be wrong.
pub(super) fn from_headers(header: &dyn Fn(&str) -> Option<String>) -> Option<Duration> {
    let ms = header("retry-after-ms").and_then(|ms| ms.trim().parse::<f64>().ok());
    if let Some(wait) = ms.and_then(|ms| seconds(ms / 1000.0)) {
        return Some(wait);
    }
    let after = header("retry-after")?;
    match after.trim().parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => {
            let (then, now) = (http_date(&after)?, http_date(&header("date")?)?);
            seconds(then.saturating_sub(now).max(0) as f64)
        }
    }
}

/// Words before a time to wait, in lower case.
const BEFORE: &[&str] = &["try again in ", "retry in ", "retry after ", "try again after "];

/// "Please try again in 1m2.5s", "Please retry in 28.4s.", "retry after 20 seconds".
pub(super) fn from_prose(text: &str) -> Option<Duration> {
    let text = text.to_lowercase();
    let (at, before) = BEFORE.iter().find_map(|before| Some((text.find(before)?, before)))?;
    duration(&text[at + before.len()..])
}

/// The duration at the beginning of `text`: `28s`, `1.5s`, `6m0s`, `20ms`, `20 seconds`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (mut rest, mut total) = (text, None);
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else { break };
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let Some(scale) = unit_seconds(unit) else { break };
        total = Some(total.unwrap_or(0.0) + number * scale);
        rest = tail;
    }
    seconds(total?)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "milliseconds" => Some(0.001),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hour" | "hours" => Some(3600.0),
        _ => None,
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Some(Duration::try_from_secs_f64(seconds).ok()?.min(WAIT_MAX))
}

const MONTHS: &[&str] =
    &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, the one form servers still send.
fn http_date(text: &str) -> Option<i64> {
    let mut words = text.split_ascii_whitespace().skip(1);
    let mut word = || words.next();
    let day: i64 = word()?.parse().ok()?;
    let name = word()?;
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    let year: i64 = word()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = word()?.split(':').map(|part| part.parse::<u32>().ok());
    let mut part = || clock.next().flatten().map(i64::from);
    let (hour, minute, second) = (part()?, part()?, part()?);
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days from 1970-01-01 to a date; years begin in March, so that the leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    year * 365 + leaps + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        for (text, want) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 99999999999999 08:49:37 GMT", None),
            ("", None),
        ] {
            assert_eq!(http_date(text), want, "{text}");
        }
    }

    #[test]
    fn times_to_wait_are_found_in_headers() {
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        for (headers, want_ms) in [
            (&[("retry-after", "20")][..], Some(20_000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after", "20"), ("retry-after-ms", "19800")], Some(19_800)),
            (&[("retry-after", "Wed, 21 Oct 2015 07:29:05 GMT"), ("date", date)], Some(65_000)),
            (&[("retry-after", "Wed, 21 Oct 2015 07:20:00 GMT"), ("date", date)], Some(0)),
            (&[("retry-after", "Wed, 21 Oct 2015 07:29:05 GMT")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "999999999")], Some(WAIT_MAX.as_millis())),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ] {
            let header = |name: &str| {
                let row = headers.iter().find(|(key, _)| *key == name);
                row.map(|(_, value)| value.to_string())
            };
            let wait = from_headers(&header).map(|wait| wait.as_millis());
            assert_eq!(wait, want_ms, "{headers:?}");
        }
    }

    #[test]
    fn times_to_wait_are_found_in_prose() {
        for (text, want_ms) in [
            ("Limit 3, Used 3. Please try again in 20s. Visit", Some(20_000)),
            ("Please try again in 1.242s.", Some(1_242)),
            ("Please try again in 6ms.", Some(6)),
            ("please try again in 1m2.5s.", Some(62_500)),
            ("Please retry in 28.4s.", Some(28_400)),
            ("Please retry after 20 seconds.", Some(20_000)),
            ("try again in 2 minutes", Some(120_000)),
            ("try again in a moment", None),
            ("try again in ...s", None),
            ("try again later", None),
        ] {
            assert_eq!(from_prose(text).map(|wait| wait.as_millis()), want_ms, "{text}");
        }
    }
}
