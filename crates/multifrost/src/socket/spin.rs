//! Waiting without sleeping, for as long as it pays: to be woken takes longer than most answers do.

use std::thread;
use std::time::Duration;

/// How long a reader looks for bytes before it sleeps.
pub(super) const SPIN_MAX: Duration = Duration::from_micros(50);
/// After so many vain spins in a row the pause between two does not grow any more.
const FAILURES_MAX: u32 = 8;

/// Whether the next wait should begin with a spin. Each vain one doubles the number of waits until
/// the next is tried, so one that never pays costs next to nothing; on a single processor the other
/// side cannot run meanwhile, and there is none.
#[derive(Debug)]
pub(super) struct Spin {
    is_on: bool,
    failures: u32,
    skips: u32,
}

impl Spin {
    pub(super) fn new() -> Spin {
        let is_on = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        Spin { is_on, failures: 0, skips: 0 }
    }

    /// Whether the next wait would spin.
    pub(super) fn is_due(&self) -> bool {
        self.is_on && self.skips == 0
    }

    /// A wait begins that cannot spin, or should not.
    pub(super) fn skip(&mut self) {
        self.skips = self.skips.saturating_sub(1);
    }

    /// What a spin has come to.
    pub(super) fn ended(&mut self, has_paid: bool) {
        self.failures = if has_paid { 0 } else { FAILURES_MAX.min(self.failures + 1) };
        self.skips = (1 << self.failures) - 1;
    }
}

#[cfg(test)]
#[test]
fn a_spin_that_does_not_pay_becomes_rare() {
    let mut spin = Spin { is_on: true, failures: 0, skips: 0 };
    let mut spins = 0;
    for _ in 0..10_000 {
        if spin.is_due() {
            spins += 1;
            spin.ended(false);
        } else {
            spin.skip();
        }
    }
    assert_eq!(spins, 8 + (10_000 - 502) / 256 + 1);
    spin.ended(true);
    assert!(spin.is_due(), "one that pays is repeated at once");
    assert!(!Spin { is_on: false, failures: 0, skips: 0 }.is_due());
}
