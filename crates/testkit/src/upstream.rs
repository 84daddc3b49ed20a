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

use crate::loopback::Loopback;
use log::Log;
use std::{sync::Arc, time::Duration};

/// How long `wait_for` waits before it fails the test: far more than any machine needs.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The server, on a thread and a clock of its own, so that synchronous benches and tests on a
/// paused clock can use it too. It ends, with all its connections, when this is dropped.
pub struct Upstream {
    server: Loopback,
    log: Arc<Log>,
}

impl Upstream {
    /// Starts to listen on a free loopback port.
    pub fn start(options: Options) -> Upstream {
        let log = Arc::new(Log::default());
        let serving = Arc::clone(&log);
        let server = Loopback::start(|listener| server::serve(listener, options, serving));
        Upstream { server, log }
    }

    /// The origin, without a slash at the end: `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Seen> {
        self.log.requests()
    }

    /// How many requests named `model`.
    pub fn count(&self, model: &str) -> usize {
        self.log.count(model)
    }

    /// Requests that are being answered now, questions about windows aside.
    pub fn in_flight(&self) -> usize {
        self.log.in_flight()
    }

    /// The most requests that were being answered at once, questions about windows aside.
    pub fn peak_in_flight(&self) -> usize {
        self.log.peak_in_flight()
    }

    /// Waits until the requests seen so far satisfy `enough`, and returns them. Panics after 20 s
    /// of real time, whatever the caller's clock says.
    pub async fn wait_for(&self, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        // A sleep obeys the clock of the runtime it is made in.
        let too_late = self.server.runtime().spawn(async { tokio::time::sleep(WAIT_MAX).await });
        tokio::select! {
            seen = self.log.wait_for(enough) => seen,
            _ = too_late => panic!("waited {WAIT_MAX:?} in vain; seen: {:#?}", self.requests()),
        }
    }

    /// `wait_for` for callers outside any runtime.
    pub fn wait_for_sync(&self, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        self.server.runtime().block_on(self.wait_for(enough))
    }
}
