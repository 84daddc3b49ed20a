//! Numbers and endings in words, the same in every document and on the terminal.

use althing_assembly::event::{
    Confidence, CutOff, Ending, Failure, Fitted, Level, Parts, Said, Totals,
};
use althing_chat::{Called, Stop};
use althing_stdx::text::one_line;

/// What must stand wherever a scripted voice speaks.
pub const DEMO_NOTE: &str = "The voices marked (demo) are scripted. They are not models, and what \
    they say is no answer to the question.";

const MS_PER_DAY: u64 = 86_400_000;
/// Characters of a call's arguments and of its result; the log has them whole.
const CALL_CHARS_MAX: usize = 300;

/// Date and time in UTC, to the minute.
pub fn when(at_ms: u64) -> String {
    let (year, month, day) = date(at_ms / MS_PER_DAY);
    let minutes = at_ms % MS_PER_DAY / 60_000;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// Date and time in UTC as RFC 3339 has them, to the millisecond.
pub fn iso(at_ms: u64) -> String {
    let (year, month, day) = date(at_ms / MS_PER_DAY);
    let (ms, seconds) = (at_ms % 1000, at_ms % MS_PER_DAY / 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day, so many days after 1970-01-01. Years here begin in March, so that the leap
/// day is their last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// How a run ended.
pub fn ending(ending: Option<&Ending>) -> String {
    match ending {
        None => "none yet".into(),
        Some(Ending::Completed) => "completed".into(),
        Some(Ending::Cancelled) => "cancelled".into(),
        Some(Ending::Failed(why)) => failure(why),
    }
}

/// What went wrong, with its kind.
pub fn failure(failure: &Failure) -> String {
    format!("failed ({}): {}", failure.kind, failure.message)
}

/// A call of a function and what came of it, in one line.
pub fn called(called: &Called) -> String {
    let call = &called.call;
    let (name, arguments) = (one_line(&call.name, 80), one_line(&call.arguments, CALL_CHARS_MAX));
    let result = one_line(&called.result, CALL_CHARS_MAX);
    let how = if called.failed { "failed: " } else { "" };
    let kept = if called.kept { " (called before the run stopped)" } else { "" };
    format!("called {name} with {arguments} -> {how}{result}{kept}")
}

/// Returns why a speech was cut off; none where it was not.
pub fn cut_of(said: &Said) -> Option<CutOff> {
    // Logs of earlier versions have only the reason to stop.
    said.cut.or_else(|| (said.stop == Stop::Length).then_some(CutOff::Length))
}

/// Says why a speech may lack its end: it was cut off, or its model stopped for a reason of its own.
pub fn describe_cut(said: &Said) -> Option<String> {
    match (cut_of(said), &said.stop) {
        (Some(cut), _) => Some(cut.in_words().into()),
        (None, Stop::Other(why)) => Some(format!("perhaps incomplete: {why}")),
        (None, _) => None,
    }
}

/// Lists what a speech lacks of what was asked for.
pub fn list_shortfalls(said: &Said) -> Vec<String> {
    let (missing, confidence) = match &said.parts {
        Parts::Position { position, confidence } => {
            (position.is_empty().then_some("no position stated"), Some(confidence))
        }
        Parts::Estimate { estimate, confidence, .. } => {
            (estimate.is_empty().then_some("no estimate stated"), Some(confidence))
        }
        _ => (None, None),
    };
    let unsure = confidence.is_some_and(Option::is_none).then_some("confidence not stated");
    let missing = missing.into_iter().chain(unsure).map(String::from);
    missing.chain(describe_cut(said)).collect()
}

/// Says what a prompt leaves out for want of room.
pub fn describe_left_out(fitted: &Fitted) -> String {
    let speeches = |count: usize| match count {
        1 => "1 speech".to_string(),
        count => format!("{count} speeches"),
    };
    let Fitted { dropped, shortened, words, window, .. } = fitted;
    let parts = [(dropped, "left out"), (shortened, "shortened")];
    let parts = parts.into_iter().filter(|(count, _)| **count > 0);
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} {what}", speeches(*count))).collect();
    format!(
        "from here on its prompts lack {} words of what was said, to fit its window of {} tokens: {}",
        thousands(*words as u64),
        thousands(*window),
        parts.join(", ")
    )
}

/// `HIGH (85)`.
pub fn confidence(confidence: Confidence) -> String {
    let level = match confidence.level {
        Level::Low => "LOW",
        Level::Medium => "MEDIUM",
        Level::High => "HIGH",
    };
    format!("{level} ({})", confidence.score)
}

/// Calls, tokens and dollars; what nobody counted or priced is said.
pub fn totals(totals: &Totals) -> String {
    let calls = match totals.calls {
        1 => "1 call".to_string(),
        calls => format!("{calls} calls"),
    };
    let least = |is_bound: bool| if is_bound { "at least " } else { "" };
    let tokens = match (totals.input_tokens + totals.output_tokens, totals.uncounted) {
        (0, 1..) => "tokens not counted".to_string(),
        (_, uncounted) => {
            let cached = match totals.cached_tokens {
                0 => String::new(),
                cached => format!(" ({} cached)", thousands(cached)),
            };
            let least = least(uncounted > 0);
            let (input, output) = (thousands(totals.input_tokens), thousands(totals.output_tokens));
            format!("{least}{input} tokens in{cached} and {output} out")
        }
    };
    let cost = match totals.unpriced {
        0 if totals.cost_usd == 0.0 => "free".to_string(),
        1.. if totals.cost_usd == 0.0 => "price unknown".to_string(),
        unpriced => format!("{}${:.4}", least(unpriced > 0), totals.cost_usd),
    };
    format!("{calls}, {tokens}, {cost}")
}

/// Digits in groups of three, with a narrow blank that does not break.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join("\u{202f}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let check = |at_ms, want: &str| assert_eq!(when(at_ms), want);
        check(0, "1970-01-01 00:00 UTC");
        check(951_782_400_000, "2000-02-29 00:00 UTC");
        check(951_868_799_999, "2000-02-29 23:59 UTC");
        check(951_868_800_000, "2000-03-01 00:00 UTC");
        check(1_794_754_320_000, "2026-11-15 14:52 UTC");
        check(4_107_542_399_000, "2100-02-28 23:59 UTC");
        check(4_107_542_400_000, "2100-03-01 00:00 UTC");
        assert!(when(u64::MAX).ends_with("UTC"));
    }

    #[test]
    fn sums_say_what_they_lack() {
        let check = |is: Totals, want: &str| assert_eq!(totals(&is), want);
        let counted = Totals {
            calls: 2,
            input_tokens: 30,
            output_tokens: 4,
            cost_usd: 0.5,
            ..Totals::default()
        };
        check(
            Totals { input_tokens: 1_234_567, cost_usd: 0.0, ..counted },
            "2 calls, 1\u{202f}234\u{202f}567 tokens in and 4 out, free",
        );
        check(counted, "2 calls, 30 tokens in and 4 out, $0.5000");
        check(
            Totals { cached_tokens: 1_000, input_tokens: 1_200, ..counted },
            "2 calls, 1\u{202f}200 tokens in (1\u{202f}000 cached) and 4 out, $0.5000",
        );
        check(
            Totals { uncounted: 1, unpriced: 1, ..counted },
            "2 calls, at least 30 tokens in and 4 out, at least $0.5000",
        );
        check(
            Totals { calls: 1, uncounted: 1, unpriced: 1, ..Totals::default() },
            "1 call, tokens not counted, price unknown",
        );
    }
}
