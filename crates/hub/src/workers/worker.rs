//! One worker: started when it is first called, watched, and ended when nobody needs it.

use super::function::{self, Function};
use super::log::Log;
use super::program::program;
use super::value::json;
use crate::config::{Start, WorkerConfig};
use althing_stdx::redact::{Secret, redact};
use althing_stdx::{Fault, Kind, Result};
use multifrost::parent::{CallOptions, Options, Output, Stream};
use multifrost::registry::Registry;
use multifrost::{Error, Parent};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// A worker that nobody has called for so long is ended; up to twice as long.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// How long a worker may take to start and to say what its functions are.
const DESCRIBE_MAX: Duration = Duration::from_secs(15);
/// How long a service is looked for.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// A worker that let a call time out is asked for its functions; one that does not answer that
/// either within this time hangs, and is ended so that the next call finds a fresh one.
const PROBE_MAX: Duration = Duration::from_secs(1);
/// A worker that could not be started is not tried again so soon.
const REST: Duration = Duration::from_secs(5);
/// A shorter value of a variable is no key.
const SECRET_BYTES_MIN: usize = 8;
/// What tells the names of the functions, in the various languages.
const LISTS: &[&str] = &["list_functions", "listFunctions", "ListFunctions"];

/// One worker.
pub struct Worker {
    config: WorkerConfig,
    log: Log,
    registry: Registry,
    env: Vec<(String, String)>,
    state: Mutex<State>,
    /// Whether it was called since it was last looked at.
    is_used: AtomicBool,
    calls: AtomicUsize,
}

#[derive(Default)]
struct State {
    live: Option<Live>,
    started: u64,
    failed: Option<(Instant, Fault)>,
}

/// A worker that is there.
struct Live {
    parent: Parent,
    /// Tells it from the one before it.
    number: u64,
    functions: Option<Arc<Vec<Function>>>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker({})", self.config.name)
    }
}

/// A call that is under way.
struct Busy<'a>(&'a Worker);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Worker {
    pub(super) fn new(
        config: WorkerConfig,
        log: Log,
        registry: Registry,
        env: Vec<(String, String)>,
    ) -> Arc<Worker> {
        Arc::new(Worker {
            config,
            log,
            registry,
            env,
            state: Mutex::default(),
            is_used: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
        })
    }

    /// As the configuration calls it.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// How it comes to be there.
    pub fn start(&self) -> &Start {
        &self.config.start
    }

    /// Whether it is listed among the models.
    pub fn is_model(&self) -> bool {
        self.config.is_model
    }

    /// The functions that models may call: as the worker describes them, else as configured, else
    /// their bare names.
    pub async fn functions(self: &Arc<Self>) -> Result<Arc<Vec<Function>>> {
        let number = {
            let mut state = self.state.lock().await;
            let live = self.live(&mut state).await?;
            if let Some(functions) = &live.functions {
                return Ok(functions.clone());
            }
            live.number
        };
        let functions = Arc::new(self.allowed(self.describe().await?)?);
        let mut state = self.state.lock().await;
        if let Some(live) = state.live.as_mut().filter(|live| live.number == number) {
            live.functions = Some(functions.clone());
        }
        Ok(functions)
    }

    async fn describe(self: &Arc<Self>) -> Result<Vec<Function>> {
        let wrong = |why: String| self.fault(Kind::Upstream, why);
        match self.request("describe", &[], DESCRIBE_MAX).await {
            Ok(answer) => return function::described(&answer).map_err(wrong),
            Err(fault) if fault.kind == Kind::NotFound && self.is_there().await => {}
            Err(fault) => return Err(fault),
        }
        if !self.config.tools.is_empty() {
            return Ok(self.config.tools.clone());
        }
        let mut last = None;
        for name in LISTS {
            match self.request(name, &[], DESCRIBE_MAX).await {
                Ok(answer) => return function::listed(&answer).map_err(wrong),
                Err(fault) if fault.kind == Kind::NotFound => last = Some(fault),
                Err(fault) => return Err(fault),
            }
        }
        Err(last.unwrap_or_else(|| wrong("it tells nothing of its functions".into())))
    }

    /// Whether a refusal came from the worker itself.
    async fn is_there(&self) -> bool {
        self.state.lock().await.live.is_some()
    }

    fn allowed(&self, mut functions: Vec<Function>) -> Result<Vec<Function>> {
        let Some(only) = &self.config.only else { return Ok(functions) };
        let is_missing = |name: &&String| functions.iter().all(|it| it.name != **name);
        if let Some(name) = only.iter().find(is_missing) {
            let text = format!("only: the worker has no function '{name}'");
            return Err(self.fault(Kind::InvalidParams, text));
        }
        functions.retain(|it| only.contains(&it.name));
        Ok(functions)
    }

    /// Calls a function, within `max` or the time that is configured.
    pub async fn call(
        self: &Arc<Self>,
        function: &str,
        arguments: Vec<Value>,
        max: Option<Duration>,
    ) -> Result<Value> {
        self.request(function, &arguments, max.unwrap_or(self.config.timeout)).await
    }

    async fn request(
        self: &Arc<Self>,
        function: &str,
        arguments: &[Value],
        max: Duration,
    ) -> Result<Value> {
        let (parent, number) = {
            let mut state = self.state.lock().await;
            let live = self.live(&mut state).await?;
            (live.parent.clone(), live.number)
        };
        self.is_used.store(true, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        let _busy = Busy(self);
        let options = CallOptions { timeout: Some(max), ..CallOptions::default() };
        let done = parent.call_with(&options, function, arguments).await;
        let done = done.and_then(|reply| reply.value().map(|value| json(&value)));
        match done {
            Ok(value) => Ok(value),
            Err(error) => {
                self.examine(&parent, number, &error).await;
                Err(self.told(function, &error))
            }
        }
    }

    /// The worker that is there, or a new one.
    async fn live<'a>(self: &Arc<Self>, state: &'a mut State) -> Result<&'a mut Live> {
        if state.live.is_none() {
            if let Some((at, fault)) = &state.failed
                && at.elapsed() < REST
            {
                return Err(fault.clone());
            }
            match self.begin().await {
                Ok(parent) => {
                    state.started += 1;
                    let number = state.started;
                    state.live = Some(Live { parent, number, functions: None });
                    self.watch(number);
                }
                Err(error) => {
                    let fault = self.told("", &error);
                    self.log.add("althing", &fault.message);
                    state.failed = Some((Instant::now(), fault.clone()));
                    return Err(fault);
                }
            }
        }
        state.live.as_mut().ok_or_else(|| Fault::internal("the worker was just there"))
    }

    async fn begin(&self) -> Result<Parent, Error> {
        match &self.config.start {
            Start::Run { words, folder } => {
                let program = program(words, folder, &self.env, &self.config);
                Parent::spawn(program, self.options())
            }
            Start::Service(service) => Parent::connect(service, self.options()).await,
        }
    }

    fn options(&self) -> Options {
        let (log, usual) = (self.log.clone(), Options::default());
        let env = self.config.env.clone();
        let print = move |output: Output<'_>| {
            let from = if output.stream == Stream::Out { "out" } else { "err" };
            log.add(from, &veiled(&env, output.text));
        };
        Options {
            namespace: self.config.namespace.clone().unwrap_or(usual.namespace),
            call_max: self.config.timeout,
            // One that hangs is noticed by a call; one that is idle costs nothing.
            heartbeat: None,
            output: Arc::new(print),
            registry: Some(self.registry.clone()),
            connect_max: CONNECT_MAX,
            ..Options::default()
        }
    }

    /// Ends it once nobody has called it for a while.
    fn watch(self: &Arc<Self>, number: u64) {
        let worker = Arc::downgrade(self);
        self.is_used.store(true, Ordering::Relaxed);
        tokio::spawn(async move {
            loop {
                sleep(IDLE_MAX).await;
                let Some(worker) = worker.upgrade() else { return };
                let was_used = worker.is_used.swap(false, Ordering::Relaxed);
                if !was_used && worker.calls.load(Ordering::Relaxed) == 0 {
                    return worker.forget(number).await;
                }
            }
        });
    }

    /// After a call that failed: whether the worker can take another.
    async fn examine(&self, parent: &Parent, number: u64, error: &Error) {
        let is_over = match error {
            Error::Exited(_) | Error::Disconnected(_) | Error::Stopped | Error::System(_) => true,
            Error::TimedOut(_) => self.hangs(parent).await,
            _ => false,
        };
        match error {
            // Whole, with its traceback; whoever asked gets the first words.
            Error::Remote(text) => self.log.add("althing", &veiled(&self.config.env, text)),
            error if is_over => {
                let text = format!("ended: {error}");
                self.log.add("althing", &veiled(&self.config.env, &text));
            }
            _ => {}
        }
        if is_over {
            self.forget(number).await;
        }
    }

    /// Whether it takes no other call either. What somebody else runs is never said to hang.
    async fn hangs(&self, parent: &Parent) -> bool {
        if matches!(self.config.start, Start::Service(_)) {
            return false;
        }
        let options = CallOptions { timeout: Some(PROBE_MAX), ..CallOptions::default() };
        let probe = parent.call_with(&options, LISTS[0], ()).await;
        matches!(probe, Err(Error::TimedOut(_) | Error::Exited(_) | Error::Disconnected(_)))
    }

    async fn forget(&self, number: u64) {
        let mut state = self.state.lock().await;
        if let Some(live) = state.live.take_if(|live| live.number == number) {
            live.parent.stop().await;
        }
    }

    /// Ends it, if it is there.
    pub async fn stop(&self) {
        let live = self.state.lock().await.live.take();
        if let Some(live) = live {
            live.parent.stop().await;
        }
    }

    fn told(&self, function: &str, error: &Error) -> Fault {
        let text = match error {
            // The traceback is in the log.
            Error::Remote(text) => {
                let words = text.split("\nTraceback").next().unwrap_or(text).trim_end();
                format!("{function} failed: {words}")
            }
            error => error.to_string(),
        };
        let kind = match error {
            Error::Remote(text) if is_not_found(text, function) => Kind::NotFound,
            Error::NoService(_) => Kind::NotFound,
            Error::TimedOut(_) => Kind::TimedOut,
            Error::Arguments(_) | Error::TooLarge { .. } => Kind::InvalidParams,
            _ => Kind::Upstream,
        };
        self.fault(kind, text)
    }

    fn fault(&self, kind: Kind, text: impl fmt::Display) -> Fault {
        let text = redact(&veiled(&self.config.env, &text.to_string()));
        Fault::new(kind, format!("worker '{}': {text}", self.config.name))
    }
}

/// The text without the values that were given to the worker and may be keys.
fn veiled(env: &[(String, Secret)], text: &str) -> String {
    let values = env.iter().map(|(_, value)| value.expose());
    let long = values.filter(|value| value.len() >= SECRET_BYTES_MIN);
    long.fold(text.to_string(), |text, value| text.replace(value, "…"))
}

/// Whether the words say that there is no such function, in any of the languages.
fn is_not_found(text: &str, function: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.contains(&format!("Function '{function}' not found"))
        || first.contains(&format!("Function not found: {function}"))
}
