//! Commands that wait. An extension that waits for an answer of ours serves a command within that
//! wait; were its older request answered first, the older command would be lost. So a command goes
//! out only while the extension has no open request.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Commands that may wait; one more is refused.
pub(crate) const COMMANDS_MAX: usize = 32;
/// How long an extension has to open a request after a command or an answer before the next command
/// goes out.
const GAP: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: usize,
    waiting: VecDeque<String>,
    /// No command before that.
    closed_until: Option<Instant>,
}

impl Gate {
    pub(crate) fn opened(&mut self) {
        self.open += 1;
    }

    /// An answer is on its way. What asked may well ask more.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.open = self.open.saturating_sub(1);
        self.closed_until = Some(now + GAP);
    }

    pub(crate) fn open_requests(&self) -> usize {
        self.open
    }

    /// Whether there is nothing to do any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.open == 0 && self.waiting.is_empty()
    }

    /// Whether there was room for one more.
    pub(crate) fn push(&mut self, command: String) -> bool {
        let has_room = self.waiting.len() < COMMANDS_MAX;
        if has_room {
            self.waiting.push_back(command);
        }
        has_room
    }

    /// Those that wait, which will not have their turn any more.
    pub(crate) fn drop_waiting(&mut self) -> VecDeque<String> {
        std::mem::take(&mut self.waiting)
    }

    /// When `next` may have something.
    pub(crate) fn wake(&self) -> Option<Instant> {
        self.closed_until.filter(|_| self.open == 0 && !self.waiting.is_empty())
    }

    /// The command whose time has come.
    pub(crate) fn next(&mut self, now: Instant) -> Option<String> {
        if self.open > 0 || self.closed_until.is_some_and(|until| now < until) {
            return None;
        }
        let command = self.waiting.pop_front()?;
        self.closed_until = Some(now + GAP);
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_waits_for_open_requests() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut gate = Gate::default();
        gate.opened();
        gate.opened();
        assert!(gate.push("a".into()) && gate.push("b".into()));
        assert_eq!((gate.next(at(0)), gate.wake()), (None, None));
        gate.answered(at(1));
        assert_eq!(gate.next(at(1000)), None);
        gate.answered(at(1000));
        assert_eq!(gate.wake(), Some(at(1050)));
        assert_eq!(gate.next(at(1049)), None);
        assert_eq!(gate.next(at(1050)).as_deref(), Some("a"));
        // The second waits for what the first may ask.
        assert_eq!((gate.next(at(1051)), gate.wake()), (None, Some(at(1100))));
        gate.opened();
        assert_eq!((gate.next(at(1100)), gate.wake()), (None, None));
        gate.answered(at(1200));
        assert_eq!(gate.next(at(1250)).as_deref(), Some("b"));
        assert!(gate.is_idle() && gate.next(at(9999)).is_none());
    }

    #[test]
    fn too_many_commands_are_refused() {
        let mut gate = Gate::default();
        assert!((0..COMMANDS_MAX).all(|_| gate.push("a".into())));
        assert!(!gate.push("a".into()));
    }
}
