//! One worker: started when it is first called, watched, and ended when nobody needs it.

use super::function::{self, Function};
use super::log::Log;
use super::program::program;
use super::told::veiled;
use super::visit::Visit;
use crate::config::{Start, WorkerConfig};
use althing_stdx::{Fault, Kind, Result};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use multifrost::parent::{Options, Output, Stream};
use multifrost::registry::Registry;
use multifrost::{Error, Parent};
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, Mutex as Plain, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// How long a worker may take to start and to say what its functions are.
const DESCRIBE_MAX: Duration = Duration::from_secs(15);
/// How long a service is looked for.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// A worker that could not be started is not tried again so soon.
const REST: Duration = Duration::from_secs(5);
/// What tells the names of the functions, in the various languages.
pub(super) const LISTS: &[&str] = &["list_functions", "listFunctions", "ListFunctions"];

/// One worker.
pub struct Worker {
    pub(super) config: WorkerConfig,
    pub(super) log: Log,
    registry: Registry,
    env: Vec<(String, String)>,
    state: Mutex<State>,
    needed: Plain<Needed>,
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

/// Who needs it, and until when somebody did.
pub(super) struct Needed {
    pub calls: usize,
    last: Instant,
}

impl Needed {
    pub(super) fn begin(&mut self) {
        self.calls += 1;
    }

    pub(super) fn end(&mut self) {
        self.calls -= 1;
        self.last = Instant::now();
    }

    /// How long it has to be kept yet.
    fn left(&self, idle: Duration) -> Duration {
        if self.calls > 0 { idle } else { idle.saturating_sub(self.last.elapsed()) }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker({})", self.config.name)
    }
}

impl Worker {
    pub(super) fn new(
        config: WorkerConfig,
        log: Log,
        registry: Registry,
        env: Vec<(String, String)>,
    ) -> Arc<Worker> {
        let needed = Plain::new(Needed { calls: 0, last: Instant::now() });
        Arc::new(Worker { config, log, registry, env, state: Mutex::default(), needed })
    }

    /// As the configuration calls it.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// How it comes to be there, for a person.
    pub fn origin(&self) -> String {
        match &self.config.start {
            Start::Run { words, .. } => words.join(" "),
            Start::Service(service) => format!("service {service}"),
        }
    }

    /// How it comes to be there.
    pub(super) fn start(&self) -> &Start {
        &self.config.start
    }

    /// Whether it is listed among the models.
    pub fn is_model(&self) -> bool {
        self.config.is_model
    }

    /// How long a call may take.
    pub(super) fn timeout(&self) -> Duration {
        self.config.timeout
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
        match self.call("describe", vec![], Some(DESCRIBE_MAX)).await {
            Ok(answer) => return function::described(&answer).map_err(wrong),
            Err(fault) if fault.kind == Kind::NotFound && self.is_there().await => {}
            Err(fault) => return Err(fault),
        }
        if !self.config.tools.is_empty() {
            return Ok(self.config.tools.clone());
        }
        function::listed(&self.list().await?).map_err(wrong)
    }

    /// The names of its functions, as it lists them.
    async fn list(self: &Arc<Self>) -> Result<Value> {
        let mut last = None;
        for name in LISTS {
            match self.call(name, vec![], Some(DESCRIBE_MAX)).await {
                Err(fault) if fault.kind == Kind::NotFound => last = Some(fault),
                done => return done,
            }
        }
        let nothing = || self.fault(Kind::Upstream, "it tells nothing of its functions");
        Err(last.unwrap_or_else(nothing))
    }

    /// The names of what can be called, where it tells them.
    pub(super) async fn names(self: &Arc<Self>) -> Vec<String> {
        let list = self.list().await.unwrap_or_default();
        let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        names.filter(|name| !LISTS.contains(name)).map(String::from).collect()
    }

    /// Whether it runs.
    pub(super) async fn is_there(&self) -> bool {
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
        let visit = self.enter(function).await?;
        visit.call(function, &arguments, max.unwrap_or(self.config.timeout)).await
    }

    /// Calls a function and gives the items of its answer as they come, each within the time that is
    /// configured: those of a stream, else those of a list, else the answer itself. Dropping it
    /// cancels the call.
    pub(super) fn items(
        self: &Arc<Self>,
        function: &'static str,
        arguments: Vec<Value>,
    ) -> BoxStream<'static, Result<Value>> {
        let worker = self.clone();
        let opening =
            async move { worker.enter(function).await?.items(function, &arguments).await };
        stream::once(opening).try_flatten().boxed()
    }

    /// The worker for one call, started if need be.
    async fn enter(self: &Arc<Self>, function: &str) -> Result<Visit> {
        let mut state = self.state.lock().await;
        let live = self.live(&mut state).await?;
        // Under the lock: whoever ends it for being idle holds that too.
        Ok(Visit::new(self.clone(), live.parent.clone(), live.number, function))
    }

    /// The worker that is there, or a new one.
    async fn live<'a>(self: &Arc<Self>, state: &'a mut State) -> Result<&'a mut Live> {
        if let Some(live) = state.live.take_if(|live| self.has_died(live)) {
            self.log.add("althing", "ended by itself while nobody called it");
            live.parent.stop().await;
        }
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
                    let fault = self.not_started(&error);
                    self.log.add("althing", &fault.message);
                    state.failed = Some((Instant::now(), fault.clone()));
                    return Err(fault);
                }
            }
        }
        state.live.as_mut().ok_or_else(|| Fault::internal("the worker was just there"))
    }

    /// Whether its process has ended, which nobody was told who did not call it just then.
    fn has_died(&self, live: &Live) -> bool {
        matches!(self.config.start, Start::Run { .. }) && live.parent.process_id().is_none()
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

    /// Ends it once nobody has needed it for a while.
    fn watch(self: &Arc<Self>, number: u64) {
        let (worker, mut wait) = (Arc::downgrade(self), self.config.idle);
        self.needed().last = Instant::now();
        tokio::spawn(async move {
            loop {
                sleep(wait).await;
                let Some(worker) = worker.upgrade() else { return };
                match worker.retire(number).await {
                    Some(left) => wait = left,
                    None => return,
                }
            }
        });
    }

    /// Ends it if nobody has needed it for long enough; else how long that takes yet.
    async fn retire(&self, number: u64) -> Option<Duration> {
        let mut state = self.state.lock().await;
        state.live.as_ref().filter(|live| live.number == number)?;
        let left = self.needed().left(self.config.idle);
        if !left.is_zero() {
            return Some(left);
        }
        let idle = self.config.idle.as_secs_f64();
        self.log.add("althing", &format!("ended: nobody has called it for {idle} s"));
        if let Some(live) = state.live.take() {
            live.parent.stop().await;
        }
        None
    }

    pub(super) fn needed(&self) -> MutexGuard<'_, Needed> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the one of this number, if it is still there.
    pub(super) async fn forget(&self, number: u64) {
        let mut state = self.state.lock().await;
        if let Some(live) = state.live.take_if(|live| live.number == number) {
            live.parent.stop().await;
        }
    }

    /// Ends it, if it is there, within so long where that is said.
    pub(super) async fn stop(&self, max: Option<Duration>) {
        let live = self.state.lock().await.live.take();
        match (live, max) {
            (Some(live), None) => live.parent.stop().await,
            (Some(live), Some(max)) => live.parent.stop_within(max).await,
            (None, _) => {}
        }
    }
}
