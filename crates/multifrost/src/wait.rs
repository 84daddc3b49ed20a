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
    block_until(future, now().checked_add(max))
}

/// The same with a point in time, or without a limit.
pub(crate) fn block_until<T>(
    future: impl Future<Output = T>,
    deadline: Option<Instant>,
) -> Option<T> {
    let mut future = pin!(future);
    // Most are ready at once, and then there is nobody to wake.
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return Some(output);
    }
    // What it waits for may be done by a thread that only waits for a processor.
    thread::yield_now();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
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
