//! When a broken download is tried again, and what an answer means for what is there. Pure.

use althing_stdx::{Fault, Kind};
use std::time::Duration;

/// Attempts in a row that bring nothing; then the download fails and can be taken up by hand.
const VAIN_MAX: u32 = 6;
/// Times that a download begins anew without getting further than before; then its server does not
/// continue downloads, and the whole does not come in one go.
const ANEW_MAX: u32 = 2;
/// Attempts in all: a server that cuts every connection after a few bytes ends as well.
const ATTEMPTS_MAX: u32 = 200;
/// The pause after the first failure; it doubles with every further one in a row.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A server that asks for a longer pause gets this one.
const ASKED_MAX: Duration = Duration::from_secs(120);

/// How a download goes so far.
#[derive(Debug, Default)]
pub(super) struct RetryState {
    vain: u32,
    all: u32,
    /// How much of the file was there at best.
    furthest: u64,
    /// How often the download began anew since then.
    anew: u32,
}

impl RetryState {
    /// Remembers that the download begins anew.
    pub fn begin_anew(&mut self) {
        self.anew += 1;
    }

    /// Tells whether `length` goes beyond what was there before; only that is progress.
    pub fn reaches(&mut self, length: u64) -> bool {
        let is_further = length > self.furthest;
        if is_further {
            (self.furthest, self.anew) = (length, 0);
        }
        is_further
    }

    /// Tells whether beginning anew has not helped.
    pub fn is_in_vain(&self) -> bool {
        self.anew >= ANEW_MAX
    }

    /// Returns the pause before the next attempt; none where it is given up.
    pub fn next_pause(&mut self, has_progressed: bool, fault: &Fault) -> Option<Duration> {
        self.vain = if has_progressed { 1 } else { self.vain + 1 };
        self.all += 1;
        // A full disk may have room later, too, but not by itself.
        let is_passing = fault.kind.codes().retryable && fault.kind != Kind::Busy;
        if !is_passing || self.vain >= VAIN_MAX || self.all >= ATTEMPTS_MAX {
            return None;
        }
        let pause = PAUSE_FIRST.saturating_mul(1 << (self.vain - 1)).min(PAUSE_MAX);
        Some(fault.retry_after.map_or(pause, |asked| asked.min(ASKED_MAX)))
    }
}

/// What the head of an answer means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The rest comes.
    Append,
    /// Everything comes, from the beginning.
    Anew,
    /// There is no rest: all of it is there.
    Complete,
    /// What comes is not the rest that was wanted.
    OtherRange,
    /// It does not come; this status does.
    Failed(u16),
    /// The file has another size than was announced.
    OtherSize(u64),
}

/// Judges an answer to a request from byte `from` of a file of `bytes` bytes.
pub(super) fn judge(
    status: u16,
    content_range: Option<&str>,
    content_length: Option<u64>,
    from: u64,
    bytes: u64,
) -> Opening {
    match status {
        200 => match content_length.filter(|length| *length != bytes) {
            Some(length) => Opening::OtherSize(length),
            None => Opening::Anew,
        },
        206 => match content_range.and_then(parse_range) {
            Some((_, Some(total))) if total != bytes => Opening::OtherSize(total),
            Some((begin, _)) if begin == from => Opening::Append,
            _ => Opening::OtherRange,
        },
        416 if from == bytes => Opening::Complete,
        416 if from > 0 => Opening::OtherRange,
        status => Opening::Failed(status),
    }
}

/// Reads `bytes 5-9/10` or `bytes 5-9/*`: where it begins, and how long the whole is.
fn parse_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (begin, _) = range.split_once('-')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    Some((begin.parse().ok()?, total))
}

/// Returns the fault of a status that is neither the file nor a refusal of its server.
pub(super) fn status_fault(origin: &str, status: u16, retry_after: Option<&str>) -> Fault {
    let kind = match status {
        404 => Kind::NotFound,
        status => Kind::of_status(status).unwrap_or(Kind::Upstream),
    };
    let text = match status {
        401 | 403 => format!("{origin} does not give the file to everybody (status {status})"),
        404 => format!("{origin} has no such file"),
        status => format!("{origin} answered {status}"),
    };
    let asked = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    Fault::new(kind, text).status(status).retry_after(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let broken = Fault::new(Kind::Network, "cut");
        let mut state = RetryState::default();
        let pauses: Vec<_> = (0..7).map(|_| state.next_pause(false, &broken)).collect();
        let ms = |pause: &Option<Duration>| pause.map(|it| it.as_millis());
        let shown: Vec<_> = pauses.iter().map(ms).collect();
        assert_eq!(
            shown,
            [Some(500), Some(1_000), Some(2_000), Some(4_000), Some(8_000), None, None]
        );

        let mut state = RetryState::default();
        let count = (0..1_000).take_while(|_| state.next_pause(true, &broken).is_some()).count();
        assert_eq!(count, 199);
        let gone = Fault::new(Kind::NotFound, "gone");
        assert_eq!(RetryState::default().next_pause(true, &gone), None);
        let full = Fault::new(Kind::Busy, "the disk is full");
        assert_eq!(RetryState::default().next_pause(true, &full), None);
        let asked = |seconds| broken.clone().retry_after(Some(Duration::from_secs(seconds)));
        let mut state = RetryState::default();
        assert_eq!(state.next_pause(false, &asked(7)), Some(Duration::from_secs(7)));
        assert_eq!(state.next_pause(false, &asked(7_000)), Some(ASKED_MAX));
    }

    #[test]
    fn only_what_goes_further_is_progress() {
        let mut state = RetryState::default();
        assert!(state.reaches(50) && !state.reaches(50) && !state.reaches(20));
        state.begin_anew();
        assert!(!state.reaches(50) && !state.is_in_vain());
        state.begin_anew();
        assert!(!state.reaches(50) && state.is_in_vain());
        assert!(state.reaches(51) && !state.is_in_vain());
    }

    #[test]
    fn answers_are_judged() {
        #[track_caller]
        fn check(status: u16, range: &str, length: u64, from: u64, want: Opening) {
            let range = Some(range).filter(|range| !range.is_empty());
            assert_eq!(judge(status, range, Some(length), from, 100), want);
        }
        check(200, "", 100, 0, Opening::Anew);
        check(200, "", 100, 40, Opening::Anew);
        check(200, "", 99, 0, Opening::OtherSize(99));
        check(206, "bytes 40-99/100", 60, 40, Opening::Append);
        check(206, "bytes 40-99/*", 60, 40, Opening::Append);
        check(206, "bytes 41-99/100", 59, 40, Opening::OtherRange);
        check(206, "", 60, 40, Opening::OtherRange);
        check(206, "bytes 40-199/200", 60, 40, Opening::OtherSize(200));
        check(416, "bytes */100", 0, 100, Opening::Complete);
        check(416, "bytes */50", 0, 60, Opening::OtherRange);
        check(416, "", 0, 0, Opening::Failed(416));
        check(503, "", 0, 0, Opening::Failed(503));
        assert_eq!(judge(200, None, None, 0, 100), Opening::Anew);
    }

    #[test]
    fn statuses_are_told() {
        let busy = status_fault("https://cdn.test", 503, Some("3"));
        assert_eq!((busy.kind, busy.retry_after), (Kind::Overloaded, Some(Duration::from_secs(3))));
        assert_eq!(status_fault("x", 404, None).kind, Kind::NotFound);
        assert_eq!(status_fault("x", 418, None).kind, Kind::Upstream);
    }
}
