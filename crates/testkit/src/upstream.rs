//! A loopback HTTP server that answers like OpenAI, Anthropic, Gemini and Ollama do, and fails like
//! them when the model's name says so (`mishap.rs` has the names). It also logs people in as GitHub
//! and Qwen do (`login.rs`).
//!
//! Headers override the options for one request: `x-fake-latency-ms`, `x-fake-chunks`,
//! `x-fake-delay-us` and `x-fake-error` (a status or a mishap's name).

mod answer;
mod dialect;
mod log;
mod login;
mod mishap;
mod options;
mod plan;
mod reply;
mod seen;
mod server;
#[cfg(test)]
mod tests;
mod windows;

pub use dialect::Dialect;
pub use login::{Ending, Logins};
pub use options::Options;
pub use seen::{Route, Seen, State};
pub use windows::{Question, Windows};

use log::Log;
use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{runtime, sync::oneshot};

/// How long `wait_for` waits before it fails the test: far more than any machine needs.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The server, on a thread and a clock of its own, so that synchronous benches and tests on a
/// paused clock can use it too. It ends, with all its connections, when this is dropped.
pub struct Upstream {
    address: SocketAddr,
    log: Arc<Log>,
    runtime: runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Starts to listen on a free loopback port.
    pub fn start(options: Options) -> Upstream {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        listener.set_nonblocking(true).expect("a listener can be non-blocking");
        let address = listener.local_addr().expect("a bound listener has an address");
        let log = Arc::new(Log::default());
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the system has room for one more runtime");
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let serve = server::serve(listener, options, Arc::clone(&log));
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    // Either word, "stop" or a dropped sender, means stop.
                    _ = stopped => {}
                    () = serve => {}
                }
            });
        });
        Upstream { address, log, runtime: handle, stop: Some(stop), thread: Some(thread) }
    }

    /// The origin, without a slash at the end: `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Seen> {
        self.log.requests()
    }

    /// How many requests named `model`.
    pub fn count(&self, model: &str) -> usize {
        self.log.count(model)
    }

    /// Requests that are being answered now.
    pub fn in_flight(&self) -> usize {
        self.log.in_flight()
    }

    /// The most requests that were being answered at once.
    pub fn peak_in_flight(&self) -> usize {
        self.log.peak_in_flight()
    }

    /// Waits until the requests seen so far satisfy `enough`, and returns them. Panics after 20 s
    /// of real time, whatever the caller's clock says.
    pub async fn wait_for(&self, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        // A sleep obeys the clock of the runtime it is made in.
        let too_late = self.runtime.spawn(async { tokio::time::sleep(WAIT_MAX).await });
        tokio::select! {
            seen = self.log.wait_for(enough) => seen,
            _ = too_late => panic!("waited {WAIT_MAX:?} in vain; seen: {:#?}", self.requests()),
        }
    }

    /// `wait_for` for callers outside any runtime.
    pub fn wait_for_sync(&self, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        self.runtime.block_on(self.wait_for(enough))
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error means a hook of the test panicked there, and that was already printed.
            let _ = thread.join();
        }
    }
}
