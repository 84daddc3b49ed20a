//! Many changes in a row, told as one.

use std::time::Duration;
use tokio::time::Instant;

/// How long nothing has to change before a change is told.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// Every change starts the wait anew; there is no longest wait.
#[derive(Debug, Default)]
pub(crate) struct Debounce {
    due: Option<Instant>,
}

impl Debounce {
    pub(crate) fn changed(&mut self, now: Instant) {
        self.due = Some(now + QUIET);
    }

    /// When `take` is due.
    pub(crate) fn wake(&self) -> Option<Instant> {
        self.due
    }

    /// Whether to tell now.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_told_once_after_it_ends() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut debounce = Debounce::default();
        assert!(!debounce.take(at(0)));
        [0, 400, 800].into_iter().for_each(|ms| debounce.changed(at(ms)));
        assert_eq!(debounce.wake(), Some(at(1300)));
        assert!(!debounce.take(at(1299)) && debounce.take(at(1300)) && !debounce.take(at(1300)));
    }
}
