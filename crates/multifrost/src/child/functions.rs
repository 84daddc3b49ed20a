//! The table of functions, and how values come into and out of them.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Tokio;
use super::items::Items;
use super::panics::caught;
use super::ticket::Ticket;
use crate::limits::DEPTH_MAX;
use crate::msgpack;
use crate::pack;
use crate::unpack::unpack_arguments;

/// Why a function failed, as its caller reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    text: String,
}

impl Failure {
    /// A failure of some kind: `ValueError: too small`. Its place in the program goes with it.
    #[track_caller]
    pub fn new(kind: &str, message: impl fmt::Display) -> Failure {
        Failure::at(Location::caller(), format!("{kind}: {message}"))
    }

    /// Of an error in a box, of one that is made of such a box, as those of `anyhow`, or of words:
    /// `.map_err(Failure::of)?`. Any other error needs nothing but the `?`.
    #[track_caller]
    pub fn of(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
        Failure::at(Location::caller(), with_causes(&*error.into()))
    }

    /// One that is no function's own, and has no place.
    pub(super) fn ours(kind: &str, message: impl fmt::Display) -> Failure {
        Failure { text: format!("{kind}: {message}") }
    }

    /// As the tracebacks of Python begin.
    pub(super) fn at(place: impl fmt::Display, text: String) -> Failure {
        Failure { text: text + &format!("\nTraceback:\n  at {place}") }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// As its caller reads it.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Any error: its words, below them what caused it, line by line, and where it was met.
impl<E: std::error::Error> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Failure {
        Failure::at(Location::caller(), with_causes(&error))
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    /// A chain that is longer is cut.
    const CAUSES_MAX: usize = 32;
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    for cause in causes.take(CAUSES_MAX) {
        text += &format!("\nCaused by: {cause}");
    }
    text
}

/// An item may have to stand in a list.
const ITEM_DEPTH_MAX: usize = DEPTH_MAX - 1;

type Answer = Result<Bytes, Failure>;
type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;
type Now = dyn Fn(Bytes) -> Answer + Send + Sync;
type Begin<T> = dyn Fn(&[u8]) -> Result<T, Failure> + Send + Sync;
type Each = Box<dyn Iterator<Item = Answer>>;
type EachLater = Pin<Box<dyn Stream<Item = Answer> + Send>>;

/// Packed arguments in, a packed result out, or packed items.
#[derive(Clone)]
pub(super) enum Function {
    Now(Arc<Now>),
    Later(Arc<Begin<Later>>),
    Each(Arc<Begin<Each>>),
    EachLater(Arc<Begin<EachLater>>),
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Function::Now(_) => "Now",
            Function::Later(_) => "Later",
            Function::Each(_) => "Each",
            Function::EachLater(_) => "EachLater",
        })
    }
}

impl Function {
    /// Runs it on this thread, and gives its result; nothing if it gave items. A panic is a failure
    /// of this call only.
    pub(super) fn run(
        &self,
        args: Bytes,
        tokio: &Tokio,
        ticket: &Ticket,
        items: &mut Items<'_>,
    ) -> Result<Option<Bytes>, Failure> {
        let run = || match self {
            Function::Now(run) => run(args).map(Some),
            Function::Later(run) => tokio.block_on(ticket.unless_cancelled(run(&args)?))?.map(Some),
            Function::Each(run) => {
                run(&args)?.try_for_each(|item| items.add(&item?)).map(|()| None)
            }
            Function::EachLater(run) => {
                let mut stream = run(&args)?;
                while let Some(item) = tokio.block_on(ticket.unless_cancelled(stream.next()))? {
                    items.add(&item?)?;
                }
                Ok(None)
            }
        };
        caught(run)
    }
}

#[derive(Debug, Default)]
pub(super) struct Functions(BTreeMap<String, Function>);

impl Functions {
    pub(super) fn add<A: DeserializeOwned, R: Serialize>(
        &mut self,
        name: &str,
        run: impl Fn(A) -> Result<R, Failure> + Send + Sync + 'static,
    ) {
        let run = move |args: Bytes| pack(&run(unpack(&args)?)?, DEPTH_MAX);
        self.0.insert(name.into(), Function::Now(Arc::new(run)));
    }

    pub(super) fn add_async<A, R, F>(
        &mut self,
        name: &str,
        run: impl Fn(A) -> F + Send + Sync + 'static,
    ) where
        A: DeserializeOwned,
        R: Serialize,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        let run = move |args: &[u8]| -> Result<Later, Failure> {
            let running = run(unpack(args)?);
            Ok(Box::pin(async move { pack(&running.await?, DEPTH_MAX) }))
        };
        self.0.insert(name.into(), Function::Later(Arc::new(run)));
    }

    pub(super) fn add_each<A, R, I>(
        &mut self,
        name: &str,
        run: impl Fn(A) -> Result<I, Failure> + Send + Sync + 'static,
    ) where
        A: DeserializeOwned,
        R: Serialize,
        I: IntoIterator<Item = Result<R, Failure>, IntoIter: 'static>,
    {
        let run = move |args: &[u8]| -> Result<Each, Failure> {
            Ok(Box::new(run(unpack(args)?)?.into_iter().map(|item| pack(&item?, ITEM_DEPTH_MAX))))
        };
        self.0.insert(name.into(), Function::Each(Arc::new(run)));
    }

    pub(super) fn add_each_async<A, R, S>(
        &mut self,
        name: &str,
        run: impl Fn(A) -> S + Send + Sync + 'static,
    ) where
        A: DeserializeOwned,
        R: Serialize,
        S: Stream<Item = Result<R, Failure>> + Send + 'static,
    {
        let run = move |args: &[u8]| -> Result<EachLater, Failure> {
            Ok(Box::pin(run(unpack(args)?).map(|item| pack(&item?, ITEM_DEPTH_MAX))))
        };
        self.0.insert(name.into(), Function::EachLater(Arc::new(run)));
    }

    pub(super) fn add_packed(
        &mut self,
        name: &str,
        run: impl Fn(Bytes) -> Answer + Send + Sync + 'static,
    ) {
        let run = move |args: Bytes| checked(run(args)?, DEPTH_MAX);
        self.0.insert(name.into(), Function::Now(Arc::new(run)));
    }

    /// A function, or the list of them, which every library calls by a name of its own.
    pub(super) fn get(&self, name: &str) -> Option<Function> {
        if let Some(function) = self.0.get(name) {
            return Some(function.clone());
        }
        if !["list_functions", "listFunctions", "ListFunctions"].contains(&name) {
            return None;
        }
        let names: Vec<String> = self.0.keys().filter(|it| !it.starts_with('_')).cloned().collect();
        Some(Function::Now(Arc::new(move |_| pack(&names, DEPTH_MAX))))
    }
}

fn unpack<A: DeserializeOwned>(args: &[u8]) -> Result<A, Failure> {
    let wrong = |error| Failure::ours("TypeError", format!("invalid arguments: {error}"));
    unpack_arguments(args).map_err(wrong)
}

fn pack(result: &impl Serialize, levels: usize) -> Answer {
    Ok(pack::pack(result, levels).map_err(unsent)?.into())
}

/// A result as it is, if every library can read it.
fn checked(packed: Bytes, levels: usize) -> Answer {
    msgpack::check(&packed, levels).map(|()| packed).map_err(unsent)
}

fn unsent(why: impl fmt::Display) -> Failure {
    Failure::ours("TypeError", format!("the result cannot be sent: {why}"))
}
