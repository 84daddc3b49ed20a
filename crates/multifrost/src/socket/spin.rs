//! Waiting without sleeping, where that is faster. On an idle machine to be woken takes longer than
//! most answers do; on a busy one whoever spins keeps the other side from running. So both are
//! tried, and the one that has waited less is taken.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// How long a reader looks for bytes before it sleeps.
pub(super) const SPIN_MAX: Duration = Duration::from_micros(50);
/// A wait counts as no longer than this, so that one long one is soon forgotten.
const WAIT_MAX: Duration = Duration::from_micros(200);
/// One wait of so many is done the other way, to see whether that has become the better one.
const TRY_EVERY: u32 = 32;
/// How much of an average the latest wait is: one part of so many.
const PARTS: u32 = 4;

/// How long waits have taken of late, in nanoseconds. Counts that race are no harm.
#[derive(Debug)]
pub(crate) struct Spin {
    is_on: bool,
    waits: AtomicU32,
    spun: AtomicU32,
    slept: AtomicU32,
}

impl Spin {
    pub(super) fn new() -> Spin {
        // On a single processor the other side cannot run meanwhile.
        Spin::with(thread::available_parallelism().is_ok_and(|count| count.get() > 1))
    }

    fn with(is_on: bool) -> Spin {
        let slept = AtomicU32::new(WAIT_MAX.subsec_nanos());
        Spin { is_on, waits: AtomicU32::new(1), spun: AtomicU32::new(0), slept }
    }

    /// Whether the next wait should begin with a spin. It must be a good deal better: it costs.
    pub(crate) fn is_due(&self) -> bool {
        let (spun, slept) = (self.spun.load(Ordering::Relaxed), self.slept.load(Ordering::Relaxed));
        let is_better = spun < slept - slept / 4;
        let is_trial = self.waits.load(Ordering::Relaxed).is_multiple_of(TRY_EVERY);
        self.is_on && is_better != is_trial
    }

    /// A wait that began with a spin has come to its end.
    pub(crate) fn spun(&self, took: Duration) {
        self.count(&self.spun, took);
    }

    /// A wait without one has.
    pub(crate) fn slept(&self, took: Duration) {
        self.count(&self.slept, took);
    }

    fn count(&self, average: &AtomicU32, took: Duration) {
        let before = average.load(Ordering::Relaxed);
        let latest = took.min(WAIT_MAX).subsec_nanos();
        average.store(before - before / PARTS + latest / PARTS, Ordering::Relaxed);
        self.waits.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many of 3200 waits spin, where a spin and a sleep take so many microseconds.
#[cfg(test)]
fn spins(spin: &Spin, spun: u64, slept: u64) -> usize {
    let wait = |_: &u32| {
        let is_due = spin.is_due();
        if is_due {
            spin.spun(Duration::from_micros(spun));
        } else {
            spin.slept(Duration::from_micros(slept));
        }
        is_due
    };
    (0..3200).filter(wait).count()
}

#[cfg(test)]
#[test]
fn what_waits_less_is_done_and_the_other_tried_now_and_then() {
    let spin = Spin::with(true);
    assert!(spins(&spin, 10, 80) > 3000, "it is faster");
    assert!(spins(&spin, 30, 20) < 400, "it keeps others from running");
    assert!(spins(&spin, 10, 80) > 2500, "it is faster again");
    assert!(spins(&spin, 1050, 1000) < 400, "it does not matter");
    assert_eq!(spins(&Spin::with(false), 1, 100), 0, "it cannot be");
}
