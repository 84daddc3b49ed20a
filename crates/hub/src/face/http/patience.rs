//! How long a client may take to ask: long between two requests, which its pool counts on, and not
//! long once it has begun to write one.

use hyper::rt::{self, Timer};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The clock of one connection. hyper sets it whenever it begins to wait for a request.
pub(super) struct Patience {
    /// From the first byte of a request to the end of its head.
    head: Duration,
    begun: Begun,
}

/// When the request that is waited for began to come.
#[derive(Clone, Default)]
pub(super) struct Begun(Arc<Mutex<Option<Instant>>>);

impl Patience {
    pub(super) fn new(head: Duration, begun: Begun) -> Patience {
        Patience { head, begun }
    }
}

impl Begun {
    /// Bytes of the client have come.
    pub(super) fn note(&self) {
        self.lock().get_or_insert_with(Instant::now);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        // A panic elsewhere cannot leave an instant half set.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer for Patience {
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn rt::Sleep>> {
        self.sleep_until(self.now() + wait)
    }

    fn sleep_until(&self, until: std::time::Instant) -> Pin<Box<dyn rt::Sleep>> {
        *self.begun.lock() = None;
        let sleep = Box::pin(sleep_until(until.into()));
        Box::pin(Waiting { sleep, head: self.head, begun: Some(self.begun.clone()) })
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, until: std::time::Instant) {
        *sleep = self.sleep_until(until);
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into()
    }
}

/// The wait for one request.
struct Waiting {
    sleep: Pin<Box<Sleep>>,
    head: Duration,
    /// None once it has begun.
    begun: Option<Begun>,
}

impl Future for Waiting {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let begun = self.begun.as_ref().and_then(|begun| *begun.lock());
        if let Some(begun) = begun {
            let until = self.sleep.deadline().min(begun + self.head);
            self.sleep.as_mut().reset(until);
            self.begun = None;
        }
        self.sleep.as_mut().poll(cx)
    }
}

impl rt::Sleep for Waiting {}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    const SECOND: Duration = Duration::from_secs(1);

    /// After how many seconds a client is given up that begins to write at `begins`.
    async fn given_up(begins: Option<u32>) -> u64 {
        let begun = Begun::default();
        let patience = Patience::new(10 * SECOND, begun.clone());
        // What came before the wait is of the request before.
        begun.note();
        let (started, mut waiting) = (Instant::now(), patience.sleep(75 * SECOND));
        if let Some(begins) = begins {
            tokio::select! {
                () = &mut waiting => return started.elapsed().as_secs(),
                () = sleep(begins * SECOND) => begun.note(),
            }
        }
        waiting.await;
        started.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn long_between_requests_and_short_within() {
        for (begins, want) in [(None, 75), (Some(0), 10), (Some(60), 70), (Some(70), 75)] {
            assert_eq!(given_up(begins).await, want, "{begins:?}");
        }
    }
}
