//! Waiting on a thread. All that waits here is a future that needs no runtime, so that the async
//! and the blocking face share one path.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The real time. Threads wait in it, whatever a test has done to the clock of its runtime.
#[allow(clippy::disallowed_methods, reason = "a paused clock would let a thread wait for ever")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits in any case.
pub(crate) fn pause(pause: Duration) {
    block_on(std::future::pending::<()>(), pause);
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// The future's output, or `None` when it takes longer than `max`.
pub(crate) fn block_on<T>(future: impl Future<Output = T>, max: Duration) -> Option<T> {
    // What is beyond all clocks is without a limit.
    let deadline = now().checked_add(max);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        match deadline.map(|deadline| deadline.saturating_duration_since(now())) {
            Some(Duration::ZERO) => return None,
            Some(left) => thread::park_timeout(left),
            None => thread::park(),
        }
    }
}

#[cfg(test)]
#[test]
fn s12_1_waiting_ends_with_the_answer_or_the_limit() {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let answering = thread::spawn(move || sender.send(1));
    assert_eq!(block_on(receiver, Duration::from_secs(60)), Some(Ok(1)));
    answering.join().unwrap().unwrap();
    assert_eq!(block_on(std::future::pending::<()>(), Duration::ZERO), None);
    assert_eq!(block_on(std::future::ready(2), Duration::MAX), Some(2));
}
