//! The child: a table of functions that other processes call.

mod crew;
mod desk;
mod functions;
mod items;
mod output;
mod panics;
mod reply;
mod standby;
mod start;
#[cfg(test)]
mod tests;
mod ticket;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use futures_util::Stream as FutureStream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

use crate::envelope::NAMESPACE;
use crate::limits::{CONCURRENCY_MAX, MESSAGE_BYTES_MAX};
use crate::registry::Registry;
use crate::socket::{LOOPBACK, Link};
use crate::token::Token;
use desk::Desk;
pub use functions::Failure;
use functions::Functions;
pub use output::Printer;
use output::Stream;
pub use ticket::Cancel;

/// A worker that is being described. [`Child::run`] makes it one.
#[derive(Debug)]
pub struct Child {
    functions: Functions,
    namespace: String,
    concurrency: usize,
    message_bytes_max: usize,
    service: Option<Service>,
    links: Arc<Links>,
}

/// How a child without a parent of its own is found.
#[derive(Debug, Clone)]
pub struct Service {
    /// The name that parents look for.
    pub id: String,
    /// Where it listens. Anything but the loopback address lets others in.
    pub ip: IpAddr,
    /// The port, or 0 for any that is free.
    pub port: u16,
    /// Where it is registered; the one in the person's home where none is given.
    pub registry: Option<Registry>,
    /// What every call must carry; who cannot is told `Authentication required`.
    pub token: Option<Token>,
}

impl Service {
    /// A service on the loopback address, on any port, in the person's own registry, for everybody.
    pub fn new(id: impl Into<String>) -> Service {
        Service { id: id.into(), ip: LOOPBACK, port: 0, registry: None, token: None }
    }
}

/// Why a child came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was told to.
    Shutdown,
    /// The parent that spawned it is gone.
    ParentGone,
    /// The program that it is part of stopped it.
    Stopped,
}

impl Default for Child {
    fn default() -> Child {
        Child::new()
    }
}

impl Child {
    /// A child without functions, in the namespace `default`, that runs one call at a time.
    pub fn new() -> Child {
        Child {
            functions: Functions::default(),
            namespace: NAMESPACE.into(),
            concurrency: 1,
            message_bytes_max: MESSAGE_BYTES_MAX,
            service: None,
            links: Arc::default(),
        }
    }

    /// Adds a function. Its arguments are a tuple or a list: `|(a, b): (i64, i64)| Ok(a + b)`. The last
    /// ones may be left out where they are options: `|(a, b): (i64, Option<i64>)| …`. A whole number
    /// may come as a float, bytes may be taken as `Vec<u8>` and go as [`crate::Blob`]. The keys of maps
    /// in its result must be texts. Any error can be its failure: see [`Failure`].
    pub fn function<A, R>(
        mut self,
        name: &str,
        run: impl Fn(A) -> Result<R, Failure> + Send + Sync + 'static,
    ) -> Child
    where
        A: DeserializeOwned,
        R: Serialize,
    {
        self.functions.add(name, run);
        self
    }

    /// Adds a function that waits. It runs on tokio: the caller's, or one of the child's own.
    pub fn async_function<A, R, F>(
        mut self,
        name: &str,
        run: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Child
    where
        A: DeserializeOwned,
        R: Serialize,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        self.functions.add_async(name, run);
        self
    }

    /// Adds a function that gives items one by one: `|(n,): (u32,)| Ok((0..n).map(Ok))`. A caller
    /// that knows streams gets each when it is there, and may be waited for between two; any other
    /// gets a list of them all.
    pub fn stream_function<A, R, I>(
        mut self,
        name: &str,
        run: impl Fn(A) -> Result<I, Failure> + Send + Sync + 'static,
    ) -> Child
    where
        A: DeserializeOwned,
        R: Serialize,
        I: IntoIterator<Item = Result<R, Failure>, IntoIter: 'static>,
    {
        self.functions.add_each(name, run);
        self
    }

    /// As [`Child::stream_function`], for items that are waited for.
    pub fn async_stream_function<A, R, S>(
        mut self,
        name: &str,
        run: impl Fn(A) -> S + Send + Sync + 'static,
    ) -> Child
    where
        A: DeserializeOwned,
        R: Serialize,
        S: FutureStream<Item = Result<R, Failure>> + Send + 'static,
    {
        self.functions.add_each_async(name, run);
        self
    }

    /// Adds a function that gets its list of arguments packed and gives its result packed, so that
    /// every value can pass: see [`crate::Value`]. A part of the arguments can be the result without a
    /// copy. What is not one whole value, or not one that every library can read, is an error.
    pub fn packed_function(
        mut self,
        name: &str,
        run: impl Fn(Bytes) -> Result<Bytes, Failure> + Send + Sync + 'static,
    ) -> Child {
        self.functions.add_packed(name, run);
        self
    }

    /// Calls for other namespaces are ignored.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Child {
        self.namespace = namespace.into();
        self
    }

    /// How many calls run at once, each on a thread: 1 to [`CONCURRENCY_MAX`].
    pub fn concurrency(mut self, calls: usize) -> Child {
        self.concurrency = calls.clamp(1, CONCURRENCY_MAX);
        self
    }

    /// The longest message, both ways.
    pub fn message_bytes_max(mut self, bytes: usize) -> Child {
        self.message_bytes_max = bytes;
        self
    }

    /// Where no parent has spawned this process, offer it as a service.
    pub fn service(mut self, service: Service) -> Child {
        self.service = Some(service);
        self
    }

    /// A writer whose lines the parent prints: the one whose call is running, else every parent.
    pub fn stdout(&self) -> Printer {
        Printer::new(Stream::Out, self.links.clone())
    }

    /// As [`Child::stdout`], for errors.
    pub fn stderr(&self) -> Printer {
        Printer::new(Stream::Err, self.links.clone())
    }

    /// Stops the child from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.links.clone())
    }
}

/// Ends a running child.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Links>);

impl Stopper {
    /// Ends it: what is already answered is still sent.
    pub fn stop(&self) {
        self.0.end(Ended::Stopped);
    }
}

/// The connections of a child, and whether it goes on.
#[derive(Debug)]
struct Links {
    open: Mutex<Vec<Weak<Link>>>,
    ended: watch::Sender<Option<Ended>>,
}

impl Default for Links {
    fn default() -> Links {
        Links { open: Mutex::default(), ended: watch::Sender::new(None) }
    }
}

impl Links {
    fn add(&self, link: &Arc<Link>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|it| it.upgrade().is_some_and(|it| !it.is_closed()));
        open.push(Arc::downgrade(link));
    }

    fn all(&self) -> Vec<Arc<Link>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().filter_map(Weak::upgrade).collect()
    }

    /// The first reason counts.
    fn end(&self, why: Ended) {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert(why);
            is_first
        });
    }
}

/// A child that is running: what every thread of it shares.
#[derive(Debug)]
struct Running {
    functions: Functions,
    namespace: String,
    message_bytes_max: usize,
    /// Whether a parent has spawned this process.
    is_spawned: bool,
    token: Option<Token>,
    desk: Desk,
    links: Arc<Links>,
    tokio: Tokio,
}

/// Where functions that wait run.
#[derive(Debug)]
struct Tokio {
    callers: Option<Handle>,
    own: OnceLock<Runtime>,
}

impl Tokio {
    /// Runs a future to its end on this thread.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        match &self.callers {
            Some(handle) => handle.block_on(future),
            None => self.own.get_or_init(own_runtime).handle().block_on(future),
        }
    }
}

fn own_runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.worker_threads(1).enable_all().build();
    built.expect("a process that has started can start one more thread")
}
