//! Pull streams: one conversation each, whose replies are fetched piece by piece. A stream belongs
//! to the connection that made it; nobody else can tell that it is there.

mod lane;
mod line;
mod reply;
mod talk;
#[cfg(test)]
mod tests;

use super::Service;
use super::chat::NotedVoice;
use super::words::{Caller, Received};
use crate::lineup::in_field;
use althing_chat::{Message, Model, Tool};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use line::{Line, Partner};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Open streams of one connection; one more is refused.
pub const STREAMS_PER_CONNECTION_MAX: usize = 64;
/// Open streams in all; one more is refused.
pub const STREAMS_MAX: usize = 4096;
/// A stream that nobody used for so long is closed.
pub const IDLE_MAX: Duration = Duration::from_secs(600);
/// The longest wait for the next piece, and the wait where none is asked for: below the 25 s that
/// clients of a bus give a call.
pub const WAIT_MAX: Duration = Duration::from_secs(20);
/// Pieces in one answer; more is an error.
pub const CHUNKS_MAX: usize = 256;
/// Characters of an unknown stream's name that are repeated.
const SHOWN_CHARS_MAX: usize = 40;

/// The open streams.
#[derive(Default)]
pub struct Streams(Arc<Table>);

#[derive(Default)]
struct Table(Mutex<Open>);

#[derive(Default)]
struct Open {
    lines: HashMap<String, Arc<Line>>,
    /// Whether somebody looks after idle streams; only while there are any.
    reaping: bool,
}

impl Service {
    /// Opens a conversation with the voice behind `model_id`, whichever that is at each turn.
    pub async fn create_stream(&self, caller: &Caller, model_id: &str) -> Result<String> {
        let id = format!("stream_{:016x}", fastrand::u64(..));
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let partner = Partner { model_id: model_id.into(), affinity: hasher.finish() };
        self.partner(&partner).await?;
        self.streams.create(caller, id, partner)
    }

    /// Says something; the reply begins to arrive. Refused while one is under way.
    ///
    /// A user's message is answered at once. A tool's is once every open call has its result;
    /// without an id it is the result of the oldest. A system message only adds to what is known.
    /// Tools stay until others are given. The voice is looked up anew: since the last turn its
    /// provider may have been removed, or its route changed.
    pub async fn send_message(
        &self,
        caller: &Caller,
        stream_id: &str,
        message: Message,
        tools: Vec<Tool>,
    ) -> Result<()> {
        let line = self.streams.line(caller, stream_id)?;
        let (voice, noted) = self.partner(&line.partner).await?;
        line.send(voice, Some(noted), message, tools)
    }

    async fn partner(&self, partner: &Partner) -> Result<(Arc<dyn Model>, Arc<NotedVoice>)> {
        let found = self.find_voice_noting(&partner.model_id, Some(partner.affinity)).await;
        found.map_err(in_field("model_id"))
    }

    /// The next pieces of the reply: at most `max_chunks` of text that are there already, or of
    /// thoughts where these come first, else one tool call, else the end. Nothing within `wait` is no error and no chunk.
    pub async fn receive_stream(
        &self,
        caller: &Caller,
        stream_id: &str,
        wait: Option<Duration>,
        max_chunks: usize,
    ) -> Result<Received> {
        self.streams.receive(caller, stream_id, wait, max_chunks).await
    }

    /// The bulk lane: replies as JSON lines on a pipe, from now on. Its reader sets the pace, and
    /// one that closes it cancels the reply and gets the stream back as it was.
    pub async fn open_stream_fd(&self, caller: &Caller, stream_id: &str) -> Result<OwnedFd> {
        lane::open(&self.streams.line(caller, stream_id)?)
    }

    /// Ends a conversation, and with it the call to the model.
    pub async fn close_stream(&self, caller: &Caller, stream_id: &str) -> Result<()> {
        self.streams.close(caller, stream_id)
    }

    /// Frees everything a client held that is gone.
    pub fn caller_left(&self, connection: &str) {
        self.streams.caller_left(connection);
    }
}

impl Streams {
    /// How many are open.
    pub fn len(&self) -> usize {
        self.0.lock().lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends all conversations: the service stops.
    pub fn close_all(&self) {
        self.0.lock().lines.drain().for_each(|(_, line)| line.close());
    }

    /// A conversation with `partner`, under a name that nobody has.
    fn create(&self, caller: &Caller, id: String, partner: Partner) -> Result<String> {
        let mut open = self.0.lock();
        let own = open.lines.values().filter(|line| line.owner == caller.connection).count();
        if own >= STREAMS_PER_CONNECTION_MAX {
            let text =
                format!("a connection can have {STREAMS_PER_CONNECTION_MAX} streams; close one");
            return Err(Fault::new(Kind::Busy, text));
        }
        if open.lines.len() >= STREAMS_MAX {
            let text = format!("all {STREAMS_MAX} streams are taken; try again later");
            return Err(Fault::new(Kind::Busy, text));
        }
        open.lines.insert(id.clone(), Arc::new(Line::new(caller.connection.clone(), partner)));
        if !open.reaping {
            open.reaping = true;
            tokio::spawn(reap(Arc::downgrade(&self.0)));
        }
        Ok(id)
    }

    fn line(&self, caller: &Caller, id: &str) -> Result<Arc<Line>> {
        let open = self.0.lock();
        let line = open.lines.get(id).filter(|line| line.owner == caller.connection);
        line.cloned().ok_or_else(|| not_found(id))
    }

    async fn receive(
        &self,
        caller: &Caller,
        id: &str,
        wait: Option<Duration>,
        max_chunks: usize,
    ) -> Result<Received> {
        if !(1..=CHUNKS_MAX).contains(&max_chunks) {
            let text = format!("max_chunks: 1 to {CHUNKS_MAX}, not {max_chunks}");
            return Err(Fault::invalid(text));
        }
        let line = self.line(caller, id)?;
        let deadline = Instant::now() + wait.unwrap_or(WAIT_MAX).min(WAIT_MAX);
        line.receive(deadline, max_chunks).await.unwrap_or_else(|| Err(not_found(id)))
    }

    fn close(&self, caller: &Caller, id: &str) -> Result<()> {
        self.line(caller, id)?.close();
        self.0.lock().lines.remove(id);
        Ok(())
    }

    fn caller_left(&self, connection: &str) {
        let gone = |_: &String, line: &mut Arc<Line>| line.owner == connection;
        self.0.lock().lines.extract_if(gone).for_each(|(_, line)| line.close());
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Open> {
        // A panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what is idle; says when to look again, none where nothing is open.
    fn close_idle(&self) -> Option<Instant> {
        let mut open = self.lock();
        let now = Instant::now();
        open.lines.retain(|_, line| {
            let stays = line.idle_at() > now;
            if !stays {
                line.close();
            }
            stays
        });
        open.reaping = !open.lines.is_empty();
        open.lines.values().map(|line| line.idle_at()).min()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.lock().lines.values().for_each(|line| line.close());
    }
}

async fn reap(table: Weak<Table>) {
    while let Some(next) = table.upgrade().and_then(|table| table.close_idle()) {
        sleep_until(next).await;
    }
}

fn not_found(id: &str) -> Fault {
    let shown = one_line(id, SHOWN_CHARS_MAX);
    Fault::new(Kind::NotFound, format!("stream_id: no stream '{shown}'"))
}
