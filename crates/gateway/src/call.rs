//! One call, from the line in front of the server to the last token: its deadlines, and another
//! attempt where that may help. No sockets: an attempt is a closure, so tests pause the clock.

#[cfg(test)]
mod tests;

use crate::dialect::Reader;
use crate::http::Body;
use crate::lane::{Entry, Place};
use crate::{Limits, retry};
use althing_chat::{Delta, Retry, Speaking};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::BoxFuture;
use futures_util::stream::{StreamExt, unfold};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// Bytes on the wire per byte of answer, at most: each token comes wrapped in JSON. Beyond it the
/// call fails as one whose answer is too long.
pub(crate) const WIRE_BYTES_FACTOR: usize = 16;
/// How long the end of a body is waited for after the answer's own end mark. It comes at once and
/// lets the connection be used again; where it does not, the connection is closed.
const DRAIN_WAIT: Duration = Duration::from_millis(200);
/// The person's settings behind the deadlines, as messages name them.
const SILENCE_SETTING: &str = "model_timeout_seconds";
const TOTAL_SETTING: &str = "turn_seconds_max";
/// A limit that no clock can hold is as good as this one.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// An answer that has begun: its bytes, and who understands them.
pub(crate) struct Opened {
    pub body: Body,
    pub reader: Box<dyn Reader>,
}

/// Sends the request once more.
pub(crate) type Attempt = Box<dyn Fn() -> BoxFuture<'static, Result<Opened>> + Send>;

/// A call under way.
pub(crate) struct Call {
    /// The provider, as messages name it.
    who: String,
    limits: Limits,
    /// Whether tokens are to come one by one. Otherwise all come last, and only `total` bounds
    /// the wait for them.
    streamed: bool,
    attempt: Attempt,

    phase: Phase,
    place: Option<Place>,
    /// Attempts begun.
    attempts: u32,
    total_at: Instant,
    /// Bytes of this attempt's body.
    heard: usize,
    /// Bytes of answer handed out. Once there are any, no other attempt is made.
    spoken: usize,
    ready: VecDeque<Result<Delta>>,
}

enum Phase {
    Arriving(Entry),
    InLine(Arc<Semaphore>),
    Asking,
    Listening { opened: Opened, first_at: Instant },
    Pausing { until: Instant },
    Leaving { body: Body },
    Over,
}

#[derive(Clone, Copy)]
pub(crate) enum Deadline {
    FirstToken,
    Idle,
    Total,
}

impl Call {
    pub(crate) fn new(
        who: String,
        limits: Limits,
        streamed: bool,
        entry: Entry,
        attempt: Attempt,
    ) -> Call {
        Call {
            who,
            limits,
            streamed,
            attempt,
            phase: Phase::Arriving(entry),
            place: None,
            attempts: 0,
            total_at: Instant::now(),
            heard: 0,
            spoken: 0,
            ready: VecDeque::new(),
        }
    }

    /// The call as a stream. Nothing happens before it is first polled.
    pub(crate) fn speaking(self) -> Speaking {
        unfold(self, |mut call| async move { Some((call.next().await?, call)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<Delta>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            self.phase = match mem::replace(&mut self.phase, Phase::Over) {
                Phase::Arriving(entry) => self.arrive(entry),
                Phase::InLine(lane) => self.wait_in_line(lane).await,
                Phase::Asking => self.ask().await,
                Phase::Listening { opened, first_at } => self.listen(opened, first_at).await,
                Phase::Pausing { until } => {
                    sleep_until(until).await;
                    Phase::Asking
                }
                Phase::Leaving { body } => drain(body).await,
                Phase::Over => {
                    self.place = None;
                    return None;
                }
            };
        }
    }

    fn arrive(&mut self, entry: Entry) -> Phase {
        let lane = match entry {
            Entry::Placed(place) => return self.start(place),
            Entry::Line(lane) => lane,
        };
        match lane.clone().try_acquire_owned() {
            Ok(place) => self.start(place),
            Err(_) => {
                self.ready.push_back(Ok(Delta::Queued));
                Phase::InLine(lane)
            }
        }
    }

    async fn wait_in_line(&mut self, lane: Arc<Semaphore>) -> Phase {
        match lane.acquire_owned().await {
            Ok(place) => self.start(place),
            Err(closed) => self.end(Fault::internal(closed)),
        }
    }

    /// The clocks start here: time spent in line is nobody's fault.
    fn start(&mut self, place: Place) -> Phase {
        self.place = Some(place);
        self.total_at = from_now(self.limits.total);
        self.ready.push_back(Ok(Delta::Started));
        Phase::Asking
    }

    async fn ask(&mut self) -> Phase {
        self.attempts += 1;
        self.heard = 0;
        let first_at = from_now(self.limits.first_token);
        let (deadline, at) = self.nearest(first_at);
        match timeout_at(at, (self.attempt)()).await {
            Err(_) => self.end(late(&self.who, &self.limits, deadline)),
            Ok(Err(fault)) => self.fail(fault),
            Ok(Ok(opened)) => Phase::Listening { opened, first_at },
        }
    }

    async fn listen(&mut self, mut opened: Opened, first_at: Instant) -> Phase {
        let (deadline, at) = self.nearest(first_at);
        let heard = match timeout_at(at, opened.body.next()).await {
            Err(_) => return self.end(late(&self.who, &self.limits, deadline)),
            Ok(Some(Err(fault))) => return self.fail(fault),
            Ok(Some(Ok(bytes))) => {
                self.heard += bytes.len();
                opened.reader.feed(&bytes)
            }
            Ok(None) => {
                let mut last = opened.reader.end();
                // A reader that has neither end nor error to report saw an answer cut short.
                last.push(Err(Fault::new(Kind::Network, "the answer broke off")));
                last
            }
        };
        match self.hand_out(heard) {
            Ok(true) => Phase::Leaving { body: opened.body },
            Ok(false) => Phase::Listening { opened, first_at },
            Err(fault) => self.fail(fault),
        }
    }

    /// The deadline that comes first, seen from now.
    fn nearest(&self, first_at: Instant) -> (Deadline, Instant) {
        let other = if self.streamed && self.spoken == 0 {
            (Deadline::FirstToken, first_at)
        } else if self.heard > 0 {
            (Deadline::Idle, from_now(self.limits.idle))
        } else {
            return (Deadline::Total, self.total_at);
        };
        if other.1 < self.total_at { other } else { (Deadline::Total, self.total_at) }
    }

    /// Puts deltas out; says whether the last of them was the end.
    fn hand_out(&mut self, heard: Vec<Result<Delta>>) -> Result<bool> {
        for delta in heard {
            let delta = delta?;
            self.spoken += size(&delta);
            match (self.ready.back_mut(), delta) {
                // Words that came in the same moment are one piece: whoever reads them cannot tell.
                (Some(Ok(Delta::Text(before))), Delta::Text(text)) => before.push_str(&text),
                (_, delta) => {
                    let stopped = matches!(delta, Delta::Stop(_));
                    self.ready.push_back(Ok(delta));
                    if stopped {
                        return Ok(true);
                    }
                }
            }
        }
        let max = self.limits.answer_bytes_max;
        if self.spoken > max || self.heard / WIRE_BYTES_FACTOR > max {
            let text = format!("the answer of {} is longer than {max} bytes", self.who);
            return Err(Fault::new(Kind::Upstream, text));
        }
        Ok(false)
    }

    /// Tries again where that may help, there is time, and nothing was said yet.
    fn fail(&mut self, fault: Fault) -> Phase {
        let pause = retry::pause(&fault, self.attempts, self.limits.attempts_max, fastrand::f64());
        let until = pause.map(|pause| (pause, Instant::now() + pause));
        match until.filter(|(_, until)| self.spoken == 0 && *until < self.total_at) {
            None => self.end(fault),
            Some((pause, until)) => {
                self.ready.push_back(Ok(Delta::Retrying(Retry {
                    attempt: self.attempts,
                    wait_ms: pause.as_millis() as u64,
                    kind: fault.kind,
                    message: fault.message,
                })));
                Phase::Pausing { until }
            }
        }
    }

    fn end(&mut self, fault: Fault) -> Phase {
        self.ready.push_back(Err(fault));
        Phase::Over
    }
}

/// `who` was not in time.
pub(crate) fn late(who: &str, limits: &Limits, deadline: Deadline) -> Fault {
    let Limits { first_token, idle, total, .. } = limits;
    let text = match deadline {
        Deadline::FirstToken => {
            format!("{who} gave no token within {first_token:?} ({SILENCE_SETTING})")
        }
        Deadline::Idle => format!("{who} fell silent for {idle:?} ({SILENCE_SETTING})"),
        Deadline::Total => format!("{who} was not done within {total:?} ({TOTAL_SETTING})"),
    };
    Fault::new(Kind::TimedOut, text)
}

pub(crate) fn from_now(wait: Duration) -> Instant {
    Instant::now() + wait.min(FOR_EVER)
}

/// What a delta adds to the answer. Never 0 for a token, so that the first one is noticed.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) => text.len().max(1),
        Delta::ToolCall(call) => call.name.len() + call.arguments.len().max(1),
        Delta::Queued | Delta::Started | Delta::Retrying(_) | Delta::Usage(_) | Delta::Stop(_) => 0,
        Delta::Calling(_) | Delta::Called(_) | Delta::Ignored(_) => 0,
    }
}

/// Reads on to the body's end; what comes after the answer's own end says nothing.
async fn drain(mut body: Body) -> Phase {
    let rest = async { while let Some(Ok(_)) = body.next().await {} };
    // Late or not, the call is over: the connection is then closed instead of kept.
    let _ = timeout(DRAIN_WAIT, rest).await;
    Phase::Over
}
