//! One stream: its conversation, the reply under way, and who waits for what.

use super::super::chat::NotedVoice;
use super::super::words::Received;
use super::IDLE_MAX;
use super::reply::{Given, Reply};
use super::talk::Talk;
use althing_chat::{Delta, Message, Model, Speaking, Tool};
use althing_stdx::{Fault, Kind, Result};
use futures_util::StreamExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// With whom a stream talks. Only the name is kept: what it means is looked up at every turn, and
/// between two of them no provider and no key is held.
pub(super) struct Partner {
    pub model_id: String,
    /// Keeps the turns where the first one was answered.
    pub affinity: u64,
}

/// A stream.
pub(super) struct Line {
    /// The connection it belongs to.
    pub owner: String,
    pub partner: Partner,
    /// Cancelled when the stream is closed.
    pub closed: CancellationToken,
    state: Mutex<State>,
    /// Something is there for the client.
    news: Notify,
    /// The model may go on.
    room: Notify,
}

struct State {
    talk: Talk,
    turn: Option<Turn>,
    taker: Taker,
    used_at: Instant,
}

/// The model's turn.
struct Turn {
    reply: Reply,
    /// Tells who answers, where that is known.
    noted: Option<Arc<NotedVoice>>,
    /// How long the conversation was before what began it.
    said_before: usize,
    over: CancellationToken,
}

/// Who takes the pieces of replies.
#[derive(Clone, Copy, PartialEq)]
enum Taker {
    Nobody,
    /// A call that waits for the next.
    Call,
    /// The bulk lane.
    Lane,
}

impl Line {
    pub fn new(owner: String, partner: Partner) -> Line {
        let state = State {
            talk: Talk::default(),
            turn: None,
            taker: Taker::Nobody,
            used_at: Instant::now(),
        };
        Line {
            owner,
            partner,
            closed: CancellationToken::new(),
            state: Mutex::new(state),
            news: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Says something; where it is the model's turn then, the reply of `voice` begins, for which
    /// `noted` knows who answers.
    pub fn send(
        self: &Arc<Self>,
        voice: Arc<dyn Model>,
        noted: Option<Arc<NotedVoice>>,
        message: Message,
        tools: Vec<Tool>,
    ) -> Result<()> {
        let mut state = self.state();
        state.used_at = Instant::now();
        if state.turn.is_some() {
            let text = "a reply is under way: receive it to its end first";
            return Err(Fault::new(Kind::Busy, text));
        }
        let said_before = state.talk.len();
        if !state.talk.say(message, tools)? {
            return Ok(());
        }
        let over = self.closed.child_token();
        let reply = Reply::default();
        state.turn = Some(Turn { reply, noted, said_before, over: over.clone() });
        let ask = state.talk.ask();
        drop(state);
        tokio::spawn(listen(self.clone(), voice.speak(ask), over));
        Ok(())
    }

    /// The next pieces; none in them where nothing came in time. None where the stream is closed.
    pub async fn receive(
        self: &Arc<Self>,
        deadline: Instant,
        max_chunks: usize,
    ) -> Option<Result<Received>> {
        let _taking = match self.take(Taker::Call) {
            Ok(taking) => taking,
            Err(fault) => return Some(Err(fault)),
        };
        if let Err(fault) = self.pending() {
            return Some(Err(fault));
        }
        let next = timeout_at(deadline, self.next(max_chunks));
        let next = self.closed.run_until_cancelled(next).await?;
        Some(next.unwrap_or_else(|_| Ok(Received::default())))
    }

    /// The next pieces or the end of a reply, as soon as there are any. Cancel-safe.
    pub async fn next(&self, max_chunks: usize) -> Result<Received> {
        loop {
            if let Some(given) = self.give(max_chunks) {
                return given;
            }
            self.news.notified().await;
        }
    }

    /// Replies go to the bulk lane from now on, until what this gives is dropped.
    pub fn take_lane(self: &Arc<Self>) -> Result<Taking> {
        self.take(Taker::Lane)
    }

    /// Ends the reply under way, as if its beginning had not been said.
    pub fn cancel_reply(&self) {
        let mut state = self.state();
        if let Some(turn) = state.turn.take() {
            turn.over.cancel();
            state.talk.rewind(turn.said_before);
        }
    }

    /// Nothing more is heard or said.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// When it has been unused for too long; a call that waits uses it.
    pub fn idle_at(&self) -> Instant {
        let state = self.state();
        let used_at = if state.taker == Taker::Call { Instant::now() } else { state.used_at };
        used_at + IDLE_MAX
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere cannot leave it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, taker: Taker) -> Result<Taking> {
        let mut state = self.state();
        let text = match state.taker {
            Taker::Nobody => {
                state.taker = taker;
                return Ok(Taking(self.clone()));
            }
            Taker::Call => "another call receives from this stream",
            Taker::Lane => "the replies of this stream go to its file descriptor",
        };
        Err(Fault::new(Kind::Busy, text))
    }

    /// An error where nothing will come.
    fn pending(&self) -> Result<()> {
        let state = self.state();
        if state.turn.is_some() {
            return Ok(());
        }
        let first = match state.talk.open_calls().first() {
            Some(call) => format!("send the result of the call '{}'", call.id),
            None => "send a message".into(),
        };
        Err(Fault::invalid(format!("nothing is pending: {first} first")))
    }

    fn give(&self, max_chunks: usize) -> Option<Result<Received>> {
        let mut state = self.state();
        let turn = state.turn.as_mut()?;
        let (given, said_before) = (turn.reply.give(max_chunks)?, turn.said_before);
        state.used_at = Instant::now();
        Some(match given {
            Given::Pieces(received) => {
                self.room.notify_one();
                Ok(received)
            }
            Given::End(Ok(answer)) => {
                let noted = state.turn.take().and_then(|turn| turn.noted);
                state.talk.answered(answer.text, answer.tool_calls);
                let answered_by = noted.and_then(|noted| noted.answered_by());
                let usage = answer.usage;
                Ok(Received { done: true, usage, answered_by, ..Received::default() })
            }
            Given::End(Err(fault)) => {
                state.turn = None;
                state.talk.rewind(said_before);
                Err(fault)
            }
        })
    }

    /// Waits until what the model says next can be kept.
    async fn has_room(&self) {
        while !self.state().turn.as_ref().is_none_or(|turn| turn.reply.has_room()) {
            self.room.notified().await;
        }
    }

    /// Takes in what the model said, unless its turn is over. Says whether it is now.
    fn take_in(&self, over: &CancellationToken, item: Option<Result<Delta>>) -> bool {
        let mut state = self.state();
        if let Some(turn) = state.turn.as_mut().filter(|_| !over.is_cancelled()) {
            if turn.reply.take_in(item) {
                over.cancel();
            }
            self.news.notify_one();
        }
        over.is_cancelled()
    }
}

/// The right to take the pieces of replies.
pub(super) struct Taking(pub Arc<Line>);

impl Drop for Taking {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.taker = Taker::Nobody;
        state.used_at = Instant::now();
    }
}

/// Listens to the model as fast as the client takes it, until its turn is over. Then the model's
/// stream is dropped, which ends the call.
async fn listen(line: Arc<Line>, mut speaking: Speaking, over: CancellationToken) {
    let cut = Cut(line, over);
    let Cut(line, over) = &cut;
    let all = async {
        loop {
            line.has_room().await;
            let item = speaking.next().await;
            if line.take_in(over, item) {
                return;
            }
        }
    };
    over.run_until_cancelled(all).await;
}

/// A listener that breaks off leaves no client waiting.
struct Cut(Arc<Line>, CancellationToken);

impl Drop for Cut {
    fn drop(&mut self) {
        let Cut(line, over) = self;
        line.take_in(over, Some(Err(Fault::internal("the reply was lost"))));
    }
}
