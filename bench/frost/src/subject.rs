//! What is measured of everything: one call after the other, many at once, and long ones.

use std::time::{Duration, Instant};

use crate::Done;

/// How long one measurement of one round takes.
const SLICE: Duration = Duration::from_millis(80);

/// A parent and a child that echo.
pub trait Subject {
    /// One short call to its end.
    fn small(&mut self) -> Done<()>;
    /// One long call to its end.
    fn big(&mut self) -> Done<()>;
    /// Short calls, [`crate::IN_FLIGHT`] at once, until the time is over; how many.
    fn flight(&mut self, until: Instant) -> Done<usize>;
    /// Whether it differs from others only there.
    fn is_for_flight(&self) -> bool {
        false
    }
    /// A subject in another process measures itself.
    fn by_itself(&mut self, _slice: Duration) -> Option<Done<Round>> {
        None
    }
}

/// What one round found: calls per second, and microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Round {
    pub small: f64,
    pub small_p50: f64,
    pub small_p99: f64,
    pub flight: f64,
    pub big: f64,
    pub big_p50: f64,
}

/// All that is measured of a subject, or only what is named.
pub fn measure(subject: &mut dyn Subject, what: &str) -> Done<Round> {
    if let Some(round) = subject.by_itself(SLICE) {
        return round;
    }
    let what = if subject.is_for_flight() { "flight" } else { what };
    let is_wanted = |name: &str| what.is_empty() || what == name;
    let mut round = Round::default();
    if is_wanted("small") {
        (round.small, [round.small_p50, round.small_p99]) = one_by_one(|| subject.small())?;
    }
    if is_wanted("flight") {
        let start = Instant::now();
        let count = subject.flight(start + SLICE)?;
        round.flight = count as f64 / start.elapsed().as_secs_f64();
    }
    if is_wanted("big") {
        (round.big, [round.big_p50, _]) = one_by_one(|| subject.big())?;
    }
    Ok(round)
}

/// Calls per second, and the median and the 99th percentile in microseconds.
fn one_by_one(mut call: impl FnMut() -> Done<()>) -> Done<(f64, [f64; 2])> {
    let start = Instant::now();
    let mut times = Vec::new();
    let mut last = start;
    while last - start < SLICE {
        call()?;
        let now = Instant::now();
        times.push(now - last);
        last = now;
    }
    times.sort();
    let percent = |it: usize| times[times.len() * it / 100].as_secs_f64() * 1e6;
    let rate = times.len() as f64 / (last - start).as_secs_f64();
    Ok((rate, [percent(50), percent(99)]))
}
