//! A run followed through the store, whoever holds it: this process, another one, or nobody any more.
//! A watcher is a cursor into the log, so one that returns misses nothing and a slow one costs
//! nothing.

use super::state::{Change, State};
use crate::store::{RunRow, Standing, Store};
use althing_assembly::event::What;
use althing_assembly::{Event, council};
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use serde_json::Value;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// Watchers at once; one more is told to come later.
pub(super) const WATCHERS_MAX: usize = 64;
/// How often the log is looked at. What comes in between is one message for each part.
const LOOK: Duration = Duration::from_millis(100);
/// Events read at once; the rest come with the next look, which follows without a pause.
const EVENTS_MAX: u32 = 2000;
/// After so much silence a comment shows that both sides are still there.
pub(super) const PING: Duration = Duration::from_secs(15);
/// What a page waits before it comes back.
pub(super) const RETRY_MS: u64 = 1000;

/// Which run is watched: one by name, or always the newest.
pub(super) type Wanted = Option<String>;

/// Counts the watchers.
#[derive(Clone)]
pub(crate) struct Watchers(Arc<Semaphore>);

impl Default for Watchers {
    fn default() -> Watchers {
        Watchers(Arc::new(Semaphore::new(WATCHERS_MAX)))
    }
}

impl Watchers {
    /// A place among them, until it is dropped.
    pub(super) fn enter(&self) -> Result<OwnedSemaphorePermit> {
        self.0.clone().try_acquire_owned().map_err(|_| {
            let text = format!("{WATCHERS_MAX} pages are watching already; close one");
            Fault::new(Kind::Busy, text)
        })
    }

    /// How many watch now.
    pub(in super::super) fn count(&self) -> usize {
        WATCHERS_MAX.saturating_sub(self.0.available_permits())
    }

    /// Ends all of them: the face stops.
    pub(in super::super) fn close(&self) {
        self.0.close();
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// What pages are to be told, in order. Of many changes of a part only the last is a message, but every
/// phase of the run and every status of a member is one: who comes back misses none of them.
#[derive(Default)]
struct News(Vec<Item>);

struct Item {
    change: Change,
    /// The phase or the status that the part then had.
    standing: Value,
    /// As it was then; none while the state still is so.
    message: Option<Value>,
}

impl News {
    /// Takes in an event.
    fn take(&mut self, state: &mut State, event: &Event) {
        if may_change_standing(&event.what) {
            // Written now: what comes next is another message.
            self.write(state);
        }
        let changes = state.take(event);
        self.add(state, changes);
    }

    fn add(&mut self, state: &State, changes: Vec<Change>) {
        for change in changes {
            let standing = state.standing(change);
            self.0.retain(|it| it.change != change || it.standing != standing);
            self.0.push(Item { change, standing, message: None });
        }
    }

    fn write(&mut self, state: &State) {
        for item in self.0.iter_mut().filter(|it| it.message.is_none()) {
            item.message = Some(state.message(item.change));
        }
    }

    /// The messages; only the last has an id: a page that was cut off among them gets all of them
    /// again.
    fn messages(mut self, state: &State) -> String {
        self.write(state);
        let mut out = String::new();
        let count = self.0.len();
        for (at, message) in self.0.into_iter().filter_map(|it| it.message).enumerate() {
            if at + 1 == count {
                let _ = writeln!(out, "id: {}:{}", state.run_id, state.sequence);
            }
            let _ = write!(out, "data: {message}\n\n");
        }
        out
    }
}

/// Whether a phase or a status may be another one after this.
fn may_change_standing(what: &What) -> bool {
    matches!(
        what,
        What::RunStarted(_)
            | What::RunResumed { .. }
            | What::RunEnded { .. }
            | What::PhaseStarted { .. }
            | What::TurnStarted(_)
            | What::TurnEnded { .. }
            | What::AnswerChecked(_)
            | What::PlansJudged(_)
    )
}

/// How a run stands now; the empty state where there is none.
pub(super) async fn state(store: &Store, wanted: &Wanted) -> Result<State> {
    let mut state = State::default();
    if let Some(row) = find(store, wanted).await? {
        catch_up(store, &row, &mut state, &mut News::default()).await?;
    }
    Ok(state)
}

async fn find(store: &Store, wanted: &Wanted) -> Result<Option<RunRow>> {
    let row = match wanted {
        None => return store.newest(council::METHOD.name).await,
        Some(run) => store.run(run).await?,
    };
    match row.method == council::METHOD.name {
        true => Ok(Some(row)),
        false => {
            let text = format!("run_id: {} is a discussion, not a council", row.id);
            Err(Fault::new(Kind::NotFound, text))
        }
    }
}

/// Takes in what the log has beyond the state, and says what is different.
async fn catch_up(store: &Store, row: &RunRow, state: &mut State, news: &mut News) -> Result<()> {
    loop {
        let next = (state.sequence_of(&row.id) + 1) as u64;
        let events = store.events_from(&row.id, next, EVENTS_MAX).await?;
        for event in &events {
            news.take(state, event);
        }
        if (events.len() as u32) < EVENTS_MAX {
            break;
        }
    }
    if row.standing == Standing::Stopped && state.stopped() {
        news.add(state, vec![Change::Phase]);
    }
    Ok(())
}

/// Where a page was when it left: `<run>:<sequence>`, as the ids of the messages are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub run: String,
    pub sequence: i64,
}

impl Mark {
    pub(super) fn read(text: &str) -> Option<Mark> {
        let (run, sequence) = text.rsplit_once(':')?;
        Some(Mark { run: run.to_string(), sequence: sequence.parse().ok()? })
    }
}

/// Everything that happens from `after` on, as server-sent events.
pub(super) async fn follow(
    store: Store,
    wanted: Wanted,
    after: Option<Mark>,
    watchers: &Watchers,
) -> Result<impl Stream<Item = Result<Bytes, Infallible>> + Send + use<>> {
    let place = watchers.enter()?;
    // A name that is wrong is told now, not in the stream.
    find(&store, &wanted).await?;
    let watch = Watch {
        store,
        wanted,
        after,
        state: State::default(),
        quiet_since: Instant::now(),
        is_new: true,
        watchers: watchers.clone(),
        _place: place,
    };
    Ok(stream::unfold(watch, async |mut watch| {
        let bytes = watch.next().await?;
        Some((Ok(bytes), watch))
    }))
}

struct Watch {
    store: Store,
    wanted: Wanted,
    after: Option<Mark>,
    state: State,
    quiet_since: Instant,
    is_new: bool,
    watchers: Watchers,
    _place: OwnedSemaphorePermit,
}

impl Watch {
    /// Waits for news, or for the time of a sign of life; none once the face stops.
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_new) {
            return Some(format!("retry: {RETRY_MS}\n\n").into());
        }
        while !self.watchers.is_closed() {
            // What cannot be read now may be later; the page has the state it has.
            let news = self.look().await.unwrap_or_default();
            if !news.0.is_empty() {
                self.quiet_since = Instant::now();
                return Some(news.messages(&self.state).into());
            }
            if self.quiet_since.elapsed() >= PING {
                self.quiet_since = Instant::now();
                return Some(Bytes::from_static(b": ping\n\n"));
            }
            sleep(LOOK).await;
        }
        None
    }

    async fn look(&mut self) -> Result<News> {
        let mut news = News::default();
        if let Some(row) = self.left().await? {
            // Its last events first, then the newest run.
            self.state = State::default();
            self.pass_over(&row).await?;
            catch_up(&self.store, &row, &mut self.state, &mut news).await?;
            if !news.0.is_empty() {
                return Ok(news);
            }
        }
        let Some(row) = find(&self.store, &self.wanted).await? else { return Ok(news) };
        if row.id != self.state.run_id {
            self.state = State::default();
            self.pass_over(&row).await?;
        }
        catch_up(&self.store, &row, &mut self.state, &mut news).await?;
        Ok(news)
    }

    /// The run that a page followed before it was away, where a newer one has begun since.
    async fn left(&mut self) -> Result<Option<RunRow>> {
        let newest = find(&self.store, &self.wanted).await?;
        let is_newest = |mark: &Mark| newest.as_ref().is_some_and(|row| row.id == mark.run);
        let Some(mark) = self.after.as_ref().filter(|mark| !is_newest(mark)) else {
            return Ok(None);
        };
        // What is no council, or is gone, has nothing to tell.
        let row = find(&self.store, &Some(mark.run.clone())).await.ok().flatten();
        self.after = self.after.take().filter(|_| row.is_some());
        Ok(row.filter(|_| self.wanted.is_none()))
    }

    /// What a returning page knows already is taken in without a word.
    async fn pass_over(&mut self, row: &RunRow) -> Result<()> {
        let Some(mark) = self.after.take_if(|mark| mark.run == row.id) else { return Ok(()) };
        while self.state.sequence_of(&row.id) < mark.sequence {
            let next = (self.state.sequence_of(&row.id) + 1) as u64;
            let known = (mark.sequence + 1) as u64 - next;
            let most = (EVENTS_MAX as u64).min(known) as u32;
            let events = self.store.events_from(&row.id, next, most).await?;
            if events.is_empty() {
                break;
            }
            events.iter().for_each(|event| drop(self.state.take(event)));
        }
        Ok(())
    }
}
