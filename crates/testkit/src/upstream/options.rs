//! How the upstream behaves where neither the model's name nor a header says otherwise.

use super::{dialect::Dialect, login::Logins, seen::Seen, windows::Windows};
use serde_json::Value;
use std::{fmt::Display, sync::Arc, time::Duration};

/// Deltas of a streamed answer unless the test says otherwise.
const CHUNKS: usize = 8;
/// What a 429 asks for: little, because tests wait it out in real time.
const RETRY_AFTER: Duration = Duration::from_millis(20);

type TextHook = Arc<dyn Fn(&Seen) -> String + Send + Sync>;
type CallHook = Arc<dyn Fn(&Seen) -> Option<(String, Value)> + Send + Sync>;
type MishapHook = Arc<dyn Fn(&Seen) -> Option<&'static str> + Send + Sync>;

/// Settings of an upstream; the default is no delay, eight deltas and every dialect.
#[derive(Clone)]
pub struct Options {
    pub(super) latency: Duration,
    pub(super) chunks: usize,
    pub(super) chunks_by_limit: bool,
    pub(super) delay: Duration,
    pub(super) retry_after: Duration,
    pub(super) models: Vec<String>,
    pub(super) owned_by: String,
    pub(super) speaks: Vec<Dialect>,
    pub(super) text: Option<TextHook>,
    pub(super) call: Option<CallHook>,
    pub(super) mishap: Option<MishapHook>,
    pub(super) calls_tools: bool,
    pub(super) logins: Logins,
    pub(super) windows: Option<Windows>,
    pub(super) cached_tokens: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            latency: Duration::ZERO,
            chunks: CHUNKS,
            chunks_by_limit: false,
            delay: Duration::ZERO,
            retry_after: RETRY_AFTER,
            models: vec!["fake-large".into(), "fake-small".into()],
            owned_by: "fake".into(),
            speaks: Dialect::ALL.to_vec(),
            text: None,
            call: None,
            mishap: None,
            calls_tools: true,
            logins: Logins::default(),
            windows: None,
            cached_tokens: 0,
        }
    }
}

impl Options {
    /// How long every answer's first byte takes.
    pub fn latency(mut self, latency: Duration) -> Options {
        self.latency = latency;
        self
    }

    /// Deltas of a streamed answer; never more than the text has characters.
    pub fn chunks(mut self, chunks: usize) -> Options {
        self.chunks = chunks;
        self
    }

    /// Takes the limit of a request for the number of deltas that it asks for.
    pub fn chunks_by_limit(mut self) -> Options {
        self.chunks_by_limit = true;
        self
    }

    /// The wait before each delta; tokio rounds it up to whole milliseconds.
    pub fn delay(mut self, delay: Duration) -> Options {
        self.delay = delay;
        self
    }

    /// What a 429 asks the client to wait.
    pub fn retry_after(mut self, retry_after: Duration) -> Options {
        self.retry_after = retry_after;
        self
    }

    /// The models in every list.
    pub fn models(mut self, models: impl IntoIterator<Item = impl Display>) -> Options {
        self.models = models.into_iter().map(|model| model.to_string()).collect();
        self
    }

    /// `owned_by` in the OpenAI list; `llama-swap` makes it look like that server.
    pub fn owned_by(mut self, owner: impl Display) -> Options {
        self.owned_by = owner.to_string();
        self
    }

    /// Speaks these dialects only; the routes of the others are not found.
    pub fn speaks(mut self, dialects: impl IntoIterator<Item = Dialect>) -> Options {
        self.speaks = dialects.into_iter().collect();
        self
    }

    /// What the model says to a request. It runs on the server's one thread and must not block.
    pub fn text(mut self, text: impl Fn(&Seen) -> String + Send + Sync + 'static) -> Options {
        self.text = Some(Arc::new(text));
        self
    }

    /// Which tool the model asks for, by name and with which arguments; `None`: it speaks. Without
    /// this hook it asks for the first tool there is, once.
    pub fn call(
        mut self,
        call: impl Fn(&Seen) -> Option<(String, Value)> + Send + Sync + 'static,
    ) -> Options {
        self.call = Some(Arc::new(call));
        self
    }

    /// Answers in words even where tools are offered: agents offer theirs with every request.
    pub fn without_calls(mut self) -> Options {
        self.calls_tools = false;
        self
    }

    /// How logins go.
    pub fn logins(mut self, logins: Logins) -> Options {
        self.logins = logins;
        self
    }

    /// Tells how many tokens its models take, as the servers that say so do. Without this those
    /// routes are not found.
    pub fn windows(mut self, windows: Windows) -> Options {
        self.windows = Some(windows);
        self
    }

    /// How many tokens of every prompt were in the cache, at most all of them.
    pub fn cached(mut self, tokens: usize) -> Options {
        self.cached_tokens = tokens;
        self
    }

    /// Which mishap befalls a request, lists included, by the names of `mishap.rs`; `None` leaves
    /// it to the model's name.
    pub fn mishap(
        mut self,
        mishap: impl Fn(&Seen) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Options {
        self.mishap = Some(Arc::new(mishap));
        self
    }
}
