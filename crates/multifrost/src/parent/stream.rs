//! Answers that come item by item. What a caller has not taken yet is bounded: the worker waits.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use super::Parent;
use super::options::CallOptions;
use super::reply::Reply;
use super::shared::Shared;
use crate::envelope::{Draft, Id, Kind};
use crate::error::Error;
use crate::ext::{Extension, Notes};
use crate::id::{self, Uuid};
use crate::limits::{STREAM_BYTES_MAX, STREAM_ITEMS_MAX};
use crate::msgpack::EMPTY_ARRAY;
use crate::socket::Link;
use crate::unpack::unpack;
use crate::wait::block_on;

/// What a worker sends for a stream.
#[derive(Debug)]
enum Event {
    Item(Reply),
    /// An answer in one piece, of a function that knows no items.
    Whole(Reply),
    Failed(Error),
}

/// The streams of a parent that are not at their end, by their id.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<HashMap<String, Feed>>);

#[derive(Debug)]
struct Feed {
    events: mpsc::Sender<Event>,
    open: Arc<Open>,
    count: u64,
    /// The worker has not kept to the limits: nothing more is taken from it.
    is_overrun: bool,
}

/// What has come and was not taken yet.
#[derive(Debug, Default)]
struct Open {
    items: AtomicUsize,
    bytes: AtomicUsize,
}

impl Open {
    fn has_room(&self) -> bool {
        self.items.load(Ordering::SeqCst) < STREAM_ITEMS_MAX
            && self.bytes.load(Ordering::SeqCst) < STREAM_BYTES_MAX
    }
}

impl Streams {
    fn open(&self, id: &str) -> (mpsc::Receiver<Event>, Arc<Open>) {
        // Room for the items, and for the end.
        let (events, receiver) = mpsc::channel(STREAM_ITEMS_MAX + 1);
        let open = Arc::new(Open::default());
        let feed = Feed { events, open: open.clone(), count: 0, is_overrun: false };
        self.lock().insert(id.into(), feed);
        (receiver, open)
    }

    /// An item came. More than may wait are the worker's fault, and the end of the stream.
    pub(super) fn item(&self, id: &str, item: Reply) {
        let mut streams = self.lock();
        let Some(feed) = streams.get_mut(id).filter(|feed| !feed.is_overrun) else { return };
        if !feed.open.has_room() {
            // It stays, so that the worker is told when the caller has come to the error.
            feed.is_overrun = true;
            let why = Error::Answer("more items came than may wait".into());
            return feed.end(Event::Failed(why));
        }
        feed.count += 1;
        feed.open.items.fetch_add(1, Ordering::SeqCst);
        feed.open.bytes.fetch_add(item.packed().len(), Ordering::SeqCst);
        // Whoever asked may have given up this instant.
        let _ = feed.events.try_send(Event::Item(item));
    }

    /// The answer after the items: how many there were, or the answer itself.
    pub(super) fn end(&self, id: &str, answer: Result<Reply, Error>, items: Option<u64>) {
        let Some(feed) = self.lock().remove(id).filter(|feed| !feed.is_overrun) else { return };
        let event = match (answer, items) {
            (Err(error), _) => Event::Failed(error),
            (Ok(_), Some(items)) if items == feed.count => return,
            (Ok(_), Some(items)) => {
                Event::Failed(Error::Answer(format!("{} items of {items} came", feed.count)))
            }
            (Ok(reply), None) => Event::Whole(reply),
        };
        feed.end(event);
    }

    pub(super) fn fail_all(&self, error: &Error) {
        let feeds = std::mem::take(&mut *self.lock());
        feeds.into_values().for_each(|feed| feed.end(Event::Failed(error.clone())));
    }

    pub(super) fn are_open(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Whether it was still open.
    fn close(&self, id: &str) -> bool {
        self.lock().remove(id).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Feed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feed {
    fn end(&self, event: Event) {
        // There is room for it; whoever asked may have given up this instant.
        let _ = self.events.try_send(event);
    }
}

impl Shared {
    /// Makes the call of a stream. What the peer knows must be known first, and an old one is
    /// called as ever.
    async fn open(
        self: &Arc<Shared>,
        options: &CallOptions,
        function: &str,
        args: &Bytes,
    ) -> Result<Source, Error> {
        loop {
            self.settle(options).await?;
            if !self.peer.has(Extension::Stream) {
                return self.request(options, function, args).await.map(Source::whole);
            }
            let place = self.places.clone().acquire_owned().await.map_err(|_| Error::Stopped)?;
            let up = self.up().await?;
            // Another connection than the one that was asked is asked anew.
            if !self.peer.has(Extension::Stream) {
                continue;
            }
            let id = id::fresh();
            let packet = self.draft(&id, options, function, args, true)?.finish();
            let (events, open) = self.streams.open(&id);
            let shared = self.clone();
            let (link, taken) = (up.link.clone(), Taken::default());
            let mut live = Live { shared, link, id, events, open, taken, place };
            if up.link.send(packet).await.is_ok() {
                up.seat.want();
                return Ok(Source::Live(live));
            }
            if let Ok(Event::Failed(error)) = live.events.try_recv() {
                return Err(error);
            }
        }
    }

    /// Any answer tells what the peer knows, also that there is no such function.
    async fn settle(&self, options: &CallOptions) -> Result<(), Error> {
        if self.peer.known().is_some() {
            return Ok(());
        }
        match self.request(options, "list_functions", &Bytes::from_static(&[EMPTY_ARRAY])).await {
            Ok(_) | Err(Error::Remote(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The items of an answer, each when it comes. Between two the worker may take as long as a call
/// may; then the stream is given up. Dropping it cancels the call.
pub struct Items<T> {
    source: Source,
    /// The worker lives as long as its stream.
    _parent: Parent,
    max: Duration,
    types: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("source", &self.source).finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Source {
    Live(Live),
    /// Items that are all there, packed.
    List(std::vec::IntoIter<Vec<u8>>),
}

#[derive(Debug)]
struct Live {
    shared: Arc<Shared>,
    link: Arc<Link>,
    id: Uuid,
    events: mpsc::Receiver<Event>,
    open: Arc<Open>,
    taken: Taken,
    #[expect(dead_code, reason = "held, so that a stream counts among the pending calls")]
    place: OwnedSemaphorePermit,
}

/// How much was taken, and what of it the worker does not know yet.
#[derive(Debug, Default)]
struct Taken {
    total: u64,
    untold_items: usize,
    untold_bytes: usize,
}

impl Source {
    /// The items of a list; anything else is one item.
    fn whole(reply: Reply) -> Source {
        Source::List(reply.items().into_iter())
    }

    fn over() -> Source {
        Source::List(Vec::new().into_iter())
    }
}

impl Live {
    /// The worker may send more when it knows that half of what may wait was taken. May be dropped
    /// while it waits.
    async fn next(&mut self) -> Option<Event> {
        let Taken { total, untold_items, untold_bytes } = self.taken;
        if untold_items * 2 >= STREAM_ITEMS_MAX || untold_bytes * 2 >= STREAM_BYTES_MAX {
            let notes = Notes { taken: Some(total), ..Notes::default() };
            let draft = Draft::new(Kind::Stream, Id::Text(&self.id)).notes(&notes);
            // A connection that has ended fails the stream by itself.
            let _ = self.link.send(draft.finish()).await;
            self.taken = Taken { total, ..Taken::default() };
        }
        let event = self.events.recv().await;
        if let Some(Event::Item(item)) = &event {
            let bytes = item.packed().len();
            self.open.items.fetch_sub(1, Ordering::SeqCst);
            self.open.bytes.fetch_sub(bytes, Ordering::SeqCst);
            self.taken.total += 1;
            self.taken.untold_items += 1;
            self.taken.untold_bytes += bytes;
        }
        event
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.shared.streams.close(&self.id) {
            self.shared.say_cancel(&self.link, &self.id);
        }
    }
}

impl<T: DeserializeOwned> Items<T> {
    /// The next item; nothing after the last one or an error.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        match timeout(self.max, self.step()).await {
            Ok(item) => item,
            Err(_) => Some(Err(self.give_up())),
        }
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<T, Error>> {
        futures_util::stream::unfold(self, |mut items| async {
            items.next().await.map(|item| (item, items))
        })
    }

    async fn step(&mut self) -> Option<Result<T, Error>> {
        let item = match &mut self.source {
            Source::List(items) => items.next()?,
            Source::Live(live) => match live.next().await {
                Some(Event::Item(item)) => item.packed().to_vec(),
                Some(Event::Whole(reply)) => {
                    let mut items = reply.items().into_iter();
                    let first = items.next();
                    self.source = Source::List(items);
                    first?
                }
                Some(Event::Failed(error)) => {
                    self.source = Source::over();
                    return Some(Err(error));
                }
                None => {
                    self.source = Source::over();
                    return None;
                }
            },
        };
        let read = unpack(&item);
        Some(read.map_err(|error| Error::Answer(error.to_string())))
    }

    fn give_up(&mut self) -> Error {
        self.source = Source::over();
        Error::TimedOut(self.max)
    }
}

/// As [`Items`], for a thread that waits.
#[derive(Debug)]
pub struct BlockingItems<T>(Items<T>);

impl<T: DeserializeOwned> Iterator for BlockingItems<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Result<T, Error>> {
        let max = self.0.max;
        match block_on(self.0.step(), max) {
            Some(item) => item,
            None => Some(Err(self.0.give_up())),
        }
    }
}

/// Opens a stream, without a limit of its own.
pub(super) async fn items<T>(
    parent: &Parent,
    options: &CallOptions,
    function: &str,
    args: &Bytes,
) -> Result<Items<T>, Error> {
    let shared = &parent.inner.shared;
    let max = options.timeout.unwrap_or(shared.options.call_max);
    let source = shared.open(options, function, args).await?;
    Ok(Items { source, _parent: parent.clone(), max, types: PhantomData })
}

impl<T> From<Items<T>> for BlockingItems<T> {
    fn from(items: Items<T>) -> BlockingItems<T> {
        BlockingItems(items)
    }
}
