//! Waiting without sleeping, where that is faster. On an idle machine to be woken takes longer than
//! most answers do; on a busy one whoever spins keeps the other side from running. So a wait begins
//! with a spin if the waits before it were short enough for one, and a spin in vain is followed by
//! sleeps only, by the more of them the more often that happens.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// How long a reader looks for bytes before it sleeps. Longer than it takes to be woken: where both
/// sides sleep, one that spins must see the other wake up, or neither would ever spin again. And
/// about as long as a megabyte takes there.
pub(crate) const SPIN_MAX: Duration = Duration::from_micros(300);
/// After a spin in vain at most so many short waits are slept through before the next.
const REST_MAX: u32 = 256;
/// A wait that is longer was for something that had not begun: no spin has kept it up.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// What waits have been like of late. Counts that race are no harm.
#[derive(Debug)]
pub(crate) struct Spin {
    is_on: bool,
    /// How many short waits are to be slept through before the next spin.
    left: AtomicU32,
    /// The same after the next spin in vain.
    rest: AtomicU32,
}

impl Spin {
    pub(super) fn new() -> Spin {
        // On a single processor the other side cannot run meanwhile.
        Spin::with(thread::available_parallelism().is_ok_and(|count| count.get() > 1))
    }

    fn with(is_on: bool) -> Spin {
        Spin { is_on, left: AtomicU32::new(0), rest: AtomicU32::new(1) }
    }

    /// Whether the next wait should begin with a spin.
    pub(crate) fn is_due(&self) -> bool {
        self.is_on && self.left.load(Ordering::Relaxed) == 0
    }

    /// A wait that began with a spin has come to its end. What was in vain once is made up for by
    /// as many that were not as it costs sleeps.
    pub(crate) fn spun(&self, took: Duration) {
        let rest = self.rest.load(Ordering::Relaxed);
        if took <= SPIN_MAX {
            self.rest.store((rest - 1).max(1), Ordering::Relaxed);
        } else if took < PAUSE_MIN {
            self.left.store(rest, Ordering::Relaxed);
            self.rest.store((rest * 2).min(REST_MAX), Ordering::Relaxed);
        }
    }

    /// A wait without one has. If it was short, a spin would have seen its end.
    pub(crate) fn slept(&self, took: Duration) {
        let left = self.left.load(Ordering::Relaxed);
        if took <= SPIN_MAX && left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
        }
    }
}

/// How many of 1000 waits spin, where a spin and a sleep take so many microseconds.
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
    (0..1000).filter(wait).count()
}

#[cfg(test)]
#[test]
fn a_wait_that_can_be_short_begins_with_a_spin() {
    let spin = Spin::with(true);
    assert_eq!(spins(&spin, 10, 80), 1000, "it is faster");
    assert!(spins(&spin, 350, 20) < 20, "it keeps others from running");
    assert!(spins(&spin, 10, 80) > 700, "it is faster again");
    assert!(spins(&spin, 1300, 1000) < 2, "it does not matter");
    assert!(spins(&spin, 10, 80) > 700, "it does");
    spin.spun(PAUSE_MIN);
    assert!(spin.is_due(), "nothing was to be done");
    assert_eq!(spins(&Spin::with(false), 1, 100), 0, "it cannot be");
}
