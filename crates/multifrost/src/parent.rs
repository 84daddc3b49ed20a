//! The parent: it starts a worker or finds a service, and calls its functions.

mod blocking;
mod each;
mod heartbeat;
mod options;
mod reply;
mod seat;
mod sent;
mod shared;
mod stream;
mod supervisor;
mod teller;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream as FutureStream, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::Error;
#[cfg(doc)]
use crate::limits::EACH_CALLS_MAX;
use crate::limits::{DEPTH_MAX, DROP_GRACE, LINGER_MAX, STOP_GRACE};
use crate::msgpack::{self, EMPTY_ARRAY, NIL};
use crate::pack;
use crate::process::Program;
use crate::token::Token;
use crate::value::Value;
pub use blocking::Blocking;
use each::Each;
pub use options::{CallOptions, Heartbeat, Options, Output, Restart, Stream};
pub use reply::Reply;
use shared::Shared;
pub use stream::{BlockingItems, Items};
use supervisor::Worker;

/// The steps of a stop: the message, then TERM, then KILL.
const STOP_STEPS: u32 = 3;

/// A handle to a worker. Clones are the same worker; when the last is gone, so is a worker that
/// was spawned.
#[derive(Debug, Clone)]
pub struct Parent {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    worker: Worker,
}

impl Parent {
    /// Starts a program that connects back. It does not wait for it: calls do.
    pub fn spawn(program: Program, mut options: Options) -> Result<Parent, Error> {
        if options.token.is_none() {
            options.token = Some(Token::random()?);
        }
        let shared = Arc::new(Shared::new(program.name(), options));
        let worker = Worker::spawn(&shared, program)?;
        Ok(Parent { inner: Arc::new(Inner { shared, worker }) })
    }

    /// Finds a service and connects to it. When the connection ends it is looked for again.
    pub async fn connect(service: &str, options: Options) -> Result<Parent, Error> {
        let max = options.connect_max;
        let parent = Parent::seek(service, options)?;
        match timeout(max, parent.inner.shared.up()).await {
            Ok(up) => up.map(|_| parent),
            Err(_) => Err(Error::NoService(service.into())),
        }
    }

    fn seek(service: &str, options: Options) -> Result<Parent, Error> {
        let shared = Arc::new(Shared::new(service, options));
        let worker = Worker::connect(&shared, service)?;
        Ok(Parent { inner: Arc::new(Inner { shared, worker }) })
    }

    /// Calls a function. The arguments are a tuple, a list, or `()` for none. The keys of maps must be
    /// texts, since some libraries read no others. Whole numbers have 64 bits at most on the wire, and
    /// one that comes as a float is read where a whole number is wanted: JavaScript sends those
    /// beyond 32 bits so. Bytes go as [`crate::Blob`].
    ///
    /// It needs a tokio runtime with a clock, as all that is `async` here; [`Parent::blocking`] does not.
    pub async fn call<T: DeserializeOwned>(
        &self,
        function: &str,
        args: impl Serialize,
    ) -> Result<T, Error> {
        self.call_with(&CallOptions::default(), function, args).await?.read()
    }

    /// As [`Parent::call`], with any values.
    pub async fn call_values(&self, function: &str, args: &[Value<'_>]) -> Result<Reply, Error> {
        self.call_with(&CallOptions::default(), function, args).await
    }

    /// A call with options of its own.
    pub async fn call_with(
        &self,
        options: &CallOptions,
        function: &str,
        args: impl Serialize,
    ) -> Result<Reply, Error> {
        let args = pack(args)?;
        let max = options.timeout.unwrap_or(self.inner.shared.options.call_max);
        match timeout(max, self.inner.shared.request(options, function, &args)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::TimedOut(max)),
        }
    }

    /// Calls a function for each of the arguments, and gives the answers in their order. Up to
    /// [`EACH_CALLS_MAX`] calls are on their way at once, so one task keeps a worker busy. The
    /// time limit is that of each answer, from when it is waited for. A call that fails ends no
    /// other; when the stream is dropped, those that are not answered are given up.
    ///
    /// ```no_run
    /// # async fn example(calc: multifrost::Parent) -> Result<(), multifrost::Error> {
    /// use futures_util::StreamExt;
    ///
    /// let pairs = (0..1_000_000).map(|n| (n, 1));
    /// let mut sums = std::pin::pin!(calc.call_each::<i64, _>("add", pairs));
    /// while let Some(sum) = sums.next().await {
    ///     println!("{}", sum?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_each<'a, T: DeserializeOwned, A: Serialize>(
        &'a self,
        function: &'a str,
        args: impl IntoIterator<Item = A>,
    ) -> impl FutureStream<Item = Result<T, Error>> {
        let args = args.into_iter().map(pack);
        let answers = Each::new(&self.inner.shared, function, args).into_stream();
        answers.map(|answer| answer?.read())
    }

    /// Calls a function and takes its answer item by item: those of a stream as they come, else the
    /// items of a list.
    pub async fn stream<T: DeserializeOwned>(
        &self,
        function: &str,
        args: impl Serialize,
    ) -> Result<Items<T>, Error> {
        self.stream_with(&CallOptions::default(), function, args).await
    }

    /// A stream with options of its own; the timeout is that of each item.
    pub async fn stream_with<T: DeserializeOwned>(
        &self,
        options: &CallOptions,
        function: &str,
        args: impl Serialize,
    ) -> Result<Items<T>, Error> {
        let args = pack(args)?;
        let max = options.timeout.unwrap_or(self.inner.shared.options.call_max);
        match timeout(max, stream::items(self, options, function, &args)).await {
            Ok(items) => items,
            Err(_) => Err(Error::TimedOut(max)),
        }
    }

    /// The same worker for callers without a runtime.
    pub fn blocking(&self) -> Blocking {
        Blocking::new(self.clone())
    }

    /// Ends the worker: it is asked to, then told, then killed with all that it started. Calls
    /// that are pending fail.
    pub async fn stop(&self) {
        self.stop_by_steps(STOP_GRACE).await;
    }

    /// As [`Parent::stop`], within so long, however stubborn it is.
    pub async fn stop_within(&self, max: Duration) {
        self.stop_by_steps(max / STOP_STEPS).await;
    }

    async fn stop_by_steps(&self, grace: Duration) {
        let (sender, receiver) = oneshot::channel();
        let inner = self.inner.clone();
        let stop = move || {
            inner.end(grace);
            // Nobody may be waiting any more.
            let _ = sender.send(());
        };
        match thread::Builder::new().name("multifrost-stop".into()).spawn(stop) {
            // It always answers.
            Ok(_) => receiver.await.unwrap_or_default(),
            Err(_) => self.inner.end(DROP_GRACE),
        }
    }

    /// Whether the worker is connected.
    pub fn is_connected(&self) -> bool {
        self.inner.shared.is_up()
    }

    /// Whether it is connected and answers heartbeats, where it is asked for any: see
    /// [`Options::heartbeat`]. A worker of another library does not answer while it runs a call.
    pub fn is_responsive(&self) -> bool {
        self.is_connected() && self.inner.shared.beat.is_answered()
    }

    /// The process of a worker that was spawned, while it lives.
    pub fn process_id(&self) -> Option<u32> {
        self.inner.worker.process_id()
    }
}

impl Inner {
    fn end(&self, grace: Duration) {
        self.shared.stop();
        self.shared.say_shutdown(self.worker.is_ours());
        self.worker.end(grace);
        self.shared.close();
        self.shared.teller.flush(LINGER_MAX);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end(DROP_GRACE);
    }
}

/// Arguments as a packed list.
fn pack(args: impl Serialize) -> Result<Bytes, Error> {
    let packed = pack::pack(&args, DEPTH_MAX).map_err(|it| Error::Arguments(it.to_string()))?;
    if packed == [NIL] {
        return Ok(Bytes::from_static(&[EMPTY_ARRAY]));
    }
    match msgpack::Reader::new(&packed).token() {
        Ok(msgpack::Token::Array(_)) => Ok(packed.into()),
        _ => Err(Error::Arguments("they are no tuple and no list".into())),
    }
}

#[cfg(test)]
#[test]
fn s6_1_4_s30_2_arguments_are_a_list() {
    assert_eq!(pack((1, "a")).unwrap()[..], b"\x92\x01\xa1a"[..]);
    assert_eq!(pack(()).unwrap()[..], b"\x90"[..]);
    assert_eq!(pack([Value::Nil]).unwrap()[..], b"\x91\xc0"[..]);
    assert_eq!(pack(5), Err(Error::Arguments("they are no tuple and no list".into())));
}

#[cfg(test)]
#[test]
fn s6_1_4_arguments_are_what_every_library_can_read() {
    #[derive(Serialize)]
    struct Point {
        x: i32,
    }
    assert_eq!(pack((Point { x: 1 },)).unwrap()[..], b"\x91\x81\xa1x\x01"[..]);
    let refused = |why: &str| Err(Error::Arguments(why.into()));
    let numbers = std::collections::BTreeMap::from([(1, 2)]);
    assert_eq!(pack((&numbers,)), refused("a key of a map is no text"));
    assert_eq!(pack(([Point { x: 1 }], [&numbers])), refused("a key of a map is no text"));
    let bytes = Value::Map(vec![(b"x"[..].into(), Value::Nil)]);
    assert_eq!(pack([bytes]), refused("a key of a map is no text"));
    let nested = |levels| (1..levels).fold(Value::Array(vec![]), |it, _| Value::Array(vec![it]));
    assert!(pack([nested(DEPTH_MAX - 1)]).is_ok());
    assert_eq!(pack([nested(DEPTH_MAX)]), refused("msgpack nested too deep"));
}
