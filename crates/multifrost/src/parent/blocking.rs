//! The same handle for callers that wait on a thread.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::each::Each;
use super::{BlockingItems, CallOptions, Options, Parent, Reply, pack, stream};
use crate::error::Error;
use crate::limits::STOP_GRACE;
use crate::value::Value;
use crate::wait::block_on;

/// A handle whose calls block the thread. It needs no runtime.
#[derive(Debug, Clone)]
pub struct Blocking {
    parent: Parent,
}

impl Blocking {
    pub(super) fn new(parent: Parent) -> Blocking {
        Blocking { parent }
    }

    /// As [`Parent::connect`].
    pub fn connect(service: &str, options: Options) -> Result<Blocking, Error> {
        let max = options.connect_max;
        let parent = Parent::seek(service, options)?;
        match block_on(parent.inner.shared.up(), max) {
            Some(up) => up.map(|_| Blocking { parent: parent.clone() }),
            None => Err(Error::NoService(service.into())),
        }
    }

    /// As [`Parent::call`].
    pub fn call<T: DeserializeOwned>(
        &self,
        function: &str,
        args: impl Serialize,
    ) -> Result<T, Error> {
        self.call_with(&CallOptions::default(), function, args)?.read()
    }

    /// As [`Parent::call_values`].
    pub fn call_values(&self, function: &str, args: &[Value<'_>]) -> Result<Reply, Error> {
        self.call_with(&CallOptions::default(), function, args)
    }

    /// As [`Parent::call_with`].
    pub fn call_with(
        &self,
        options: &CallOptions,
        function: &str,
        args: impl Serialize,
    ) -> Result<Reply, Error> {
        let args = pack(args)?;
        let shared = &self.parent.inner.shared;
        let max = options.timeout.unwrap_or(shared.options.call_max);
        let answer = shared.request_blocking(options, function, &args, max);
        answer.unwrap_or(Err(Error::TimedOut(max)))
    }

    /// As [`Parent::call_each`], as an iterator: one thread keeps a worker busy.
    ///
    /// ```no_run
    /// # fn example(calc: multifrost::parent::Blocking) -> Result<(), multifrost::Error> {
    /// let pairs = (0..1_000_000).map(|n| (n, 1));
    /// for sum in calc.call_each::<i64, _>("add", pairs) {
    ///     println!("{}", sum?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_each<'a, T: DeserializeOwned, A: Serialize>(
        &'a self,
        function: &'a str,
        args: impl IntoIterator<Item = A>,
    ) -> impl Iterator<Item = Result<T, Error>> {
        let args = args.into_iter().map(pack);
        Each::new(&self.parent.inner.shared, function, args).map(|answer| answer?.read())
    }

    /// As [`Parent::stream`].
    pub fn stream<T: DeserializeOwned>(
        &self,
        function: &str,
        args: impl Serialize,
    ) -> Result<BlockingItems<T>, Error> {
        self.stream_with(&CallOptions::default(), function, args)
    }

    /// As [`Parent::stream_with`].
    pub fn stream_with<T: DeserializeOwned>(
        &self,
        options: &CallOptions,
        function: &str,
        args: impl Serialize,
    ) -> Result<BlockingItems<T>, Error> {
        let args = pack(args)?;
        let max = options.timeout.unwrap_or(self.parent.inner.shared.options.call_max);
        match block_on(stream::items(&self.parent, options, function, &args), max) {
            Some(items) => items.map(BlockingItems::from),
            None => Err(Error::TimedOut(max)),
        }
    }

    /// As [`Parent::stop`].
    pub fn stop(&self) {
        self.parent.inner.end(STOP_GRACE);
    }
}
