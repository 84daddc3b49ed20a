//! The device flow as a value: what was heard in, what comes next out. Time is given, so every
//! path can be walked without waiting.

use super::answers::{self, Granted, INTERVAL_MAX, Poll};
use super::flow::LoginRow;
use super::tokens::Device;
use althing_stdx::{Fault, Kind, Result};
use std::time::Duration;

/// What comes next.
pub(super) enum Next {
    Ask { after: Duration },
    Granted(Box<Granted>),
    Over(Fault),
}

/// A login that is being asked for.
pub(super) struct Polling {
    row: &'static LoginRow,
    interval: Duration,
    /// What is left of the code's life, seen from the first question.
    life: Duration,
    /// The last trouble, and the pause after it; none while all is well.
    trouble: Option<(String, Duration)>,
}

impl Polling {
    pub(super) fn new(row: &'static LoginRow, device: &Device, now_ms: i64) -> Polling {
        let left = device.expires_at_ms.saturating_sub(now_ms).max(0);
        Polling {
            row,
            interval: Duration::from_millis(device.interval_ms),
            life: Duration::from_millis(left as u64),
            trouble: None,
        }
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// `age` is the time since the first question.
    pub(super) fn on(&mut self, heard: &Result<(u16, Vec<u8>)>, age: Duration) -> Next {
        let (status, body) = match heard {
            Ok(answer) => answer,
            Err(fault) => return self.trouble(fault, age),
        };
        match answers::poll(self.row, *status, body) {
            Poll::Granted(granted) => Next::Granted(granted),
            Poll::Pending => self.calm(age),
            Poll::SlowDown => {
                self.interval = (self.row.slower)(self.interval).min(INTERVAL_MAX);
                self.calm(age)
            }
            Poll::Denied => self.over(Kind::Refused, "was declined"),
            Poll::Expired => self.over(Kind::TimedOut, "was not confirmed in time; start it again"),
            Poll::Refused(words) => self.over(Kind::Upstream, &format!("failed: {words}")),
            Poll::Odd(words) => self.trouble(&Fault::new(Kind::Upstream, words), age),
        }
    }

    /// A connection that broke or an answer nobody understands may be better next time: ask on, in
    /// pauses that double (RFC 8628, 3.5).
    pub(super) fn trouble(&mut self, fault: &Fault, age: Duration) -> Next {
        let before = self.trouble.take().map_or(self.interval, |(_, wait)| wait);
        let wait = (before * 2).min(INTERVAL_MAX);
        self.trouble = Some((fault.message.clone(), wait));
        self.after(wait, age)
    }

    fn calm(&mut self, age: Duration) -> Next {
        self.trouble = None;
        self.after(self.interval, age)
    }

    /// Asks again unless the code is too old by then.
    fn after(&self, wait: Duration, age: Duration) -> Next {
        if age + wait < self.life {
            return Next::Ask { after: wait };
        }
        match &self.trouble {
            None => self.over(Kind::TimedOut, "was not confirmed in time; start it again"),
            Some((last, _)) => {
                self.over(Kind::TimedOut, &format!("came to no end in time; at last: {last}"))
            }
        }
    }

    fn over(&self, kind: Kind, what: &str) -> Next {
        Next::Over(Fault::new(kind, format!("the login at {} {what}", self.row.title)))
    }
}
