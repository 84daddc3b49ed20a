//! Workers: functions in other languages as tools for models, and as models. They start when they
//! are first needed, and end with this process or when nobody has needed them for a while.

mod function;
pub(crate) mod log;
mod model;
mod names;
mod offer;
mod program;
#[cfg(test)]
mod tests;
mod told;
mod tooled;
mod value;
mod visit;
mod worker;

pub use function::Function;
pub(crate) use function::read_function;
pub use log::Line;
pub use offer::Offer;
pub use told::Trouble;
pub(crate) use tooled::Tooled;
pub use worker::Worker;

use crate::config::nearest::nearest;
use crate::config::{Config, Start, WorkerConfig, World};
use althing_gateway::{Endpoint, Limits};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::join_all;
use log::Log;
use multifrost::registry::Registry;
use program::environment;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Behind a model's name: the functions of the workers are called for it. Programs that speak
/// through the service ask for it so; without it a program's own tools are the only ones.
const SUFFIX: &str = "+tools";
/// Where logs are, below the folder of our data.
const LOGS: &str = "workers";
/// Names that a mistyped one may have been meant to be.
const MEANT_MAX: usize = 2;
/// Where services are registered, below the home.
const REGISTRY: &str = ".multifrost";

/// A model's name without the wish for tools, and whether there was one.
pub fn split_tools(name: &str) -> (&str, bool) {
    match name.trim_end().strip_suffix(SUFFIX) {
        Some(bare) if !bare.is_empty() => (bare, true),
        _ => (name, false),
    }
}

/// The workers of this person.
pub struct Workers {
    all: Vec<Arc<Worker>>,
    registry: Registry,
    folder: PathBuf,
    env: Vec<(String, String)>,
    limits: Limits,
}

impl Workers {
    /// Those that are configured. Nothing is started.
    pub fn new(config: &Config, world: &World) -> Arc<Workers> {
        let registry = Registry::at(world.home.join(REGISTRY));
        let folder = config.data_dir.join(LOGS);
        let env = environment(&world.env);
        let limits = config.limits();
        let mut workers = Workers { all: vec![], registry, folder, env, limits };
        workers.all = config.workers.iter().map(|it| workers.worker(it.clone())).collect();
        Arc::new(workers)
    }

    /// Those that are configured, in their order.
    pub fn all(&self) -> &[Arc<Worker>] {
        &self.all
    }

    /// The worker called `name`, else the service of that name, if it runs.
    pub fn find(&self, name: &str) -> Result<Arc<Worker>> {
        if let Some(worker) = self.configured(name) {
            return Ok(worker.clone());
        }
        if self.registry.find(name).is_some() {
            return Ok(self.worker(WorkerConfig::of_service(name)));
        }
        let mut known: Vec<String> = self.all.iter().map(|it| it.name().to_string()).collect();
        known.extend(self.services());
        let text = format!("service: there is no worker and no running service '{name}'");
        Err(missing(text, name, &known))
    }

    fn configured(&self, name: &str) -> Option<&Arc<Worker>> {
        self.all.iter().find(|worker| worker.name() == name)
    }

    /// Services that run and that no configured worker stands for.
    pub fn services(&self) -> Vec<String> {
        let is_known = |service: &str| {
            self.all
                .iter()
                .any(|it| matches!(it.start(), Start::Service(known) if known == service))
        };
        let running = self.registry.services().into_iter().map(|(service, _)| service);
        running.filter(|service| !is_known(service)).collect()
    }

    /// What models may call now. A worker that cannot be asked is left out, with the reason. Starts
    /// those that are not there yet.
    pub async fn offer(&self) -> Arc<Offer> {
        let described = join_all(self.all.iter().map(|worker| worker.functions())).await;
        Arc::new(Offer::new(self.all.iter().cloned().zip(described)))
    }

    /// Calls a function of a worker or of a running service, with no limit but that of its section.
    pub async fn call(
        &self,
        service: &str,
        function: &str,
        arguments: Vec<Value>,
        max: Option<Duration>,
    ) -> Result<Value> {
        let worker = self.find(service)?;
        let mut done = worker.call(function, arguments, max).await;
        if let Err(fault) = &done
            && fault.kind == Kind::NotFound
            && worker.is_there().await
        {
            done = Err(missing(fault.message.clone(), function, &worker.names().await));
        }
        if self.configured(service).is_none() {
            worker.stop(None).await;
        }
        done
    }

    /// The last lines that a worker, or each of them, printed.
    pub fn logs(&self, name: Option<&str>, lines_max: usize) -> Result<Vec<(String, Vec<Line>)>> {
        let written = Log::names(&self.folder);
        let names = match name {
            Some(name) => {
                let is_known =
                    self.configured(name).is_some() || written.iter().any(|it| it == name);
                if !is_known {
                    let all = self.all.iter().map(|it| it.name().to_string());
                    let known: BTreeSet<String> = all.chain(written).collect();
                    let known: Vec<String> = known.into_iter().collect();
                    return Err(missing(format!("there is no worker '{name}'"), name, &known));
                }
                vec![name.to_string()]
            }
            None => written,
        };
        let read = |name: String| {
            let lines = Log::new(&self.folder, &name).last(lines_max);
            lines.map(|lines| (name, lines))
        };
        names.into_iter().map(read).collect()
    }

    /// Where the workers that are models are asked; none where nothing is configured.
    pub(crate) fn endpoint(self: &Arc<Self>) -> Option<Arc<Endpoint>> {
        (!self.all.is_empty()).then(|| Arc::new(model::endpoint(self.all.clone(), self.limits)))
    }

    /// Ends all that were started.
    pub async fn close(&self) {
        join_all(self.all.iter().map(|worker| worker.stop(None))).await;
    }

    /// As `close`, within so long: who has not ended by then is killed.
    pub async fn close_within(&self, max: Duration) {
        let stopped = join_all(self.all.iter().map(|worker| worker.stop(Some(max))));
        // One that is just being looked for elsewhere is nobody's process here.
        let _ = tokio::time::timeout(max, stopped).await;
    }

    fn worker(&self, config: WorkerConfig) -> Arc<Worker> {
        let log = Log::new(&self.folder, &config.name);
        Worker::new(config, log, self.registry.clone(), self.env.clone())
    }
}

/// What is not there, and what was probably meant or there is instead.
fn missing(text: String, name: &str, known: &[String]) -> Fault {
    let meant = nearest(name, known.iter().map(String::as_str), MEANT_MAX);
    let text = match (known.is_empty(), meant.is_empty()) {
        (true, _) => format!("{text}; there are none"),
        (false, true) => format!("{text}; there are: {}", known.join(", ")),
        (false, false) => format!("{text}; did you mean {}?", meant.join(" or ")),
    };
    Fault::new(Kind::NotFound, text)
}
