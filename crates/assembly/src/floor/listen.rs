//! Listening to one turn: deltas into the log in small batches, the end, the cut or the failure out.

use super::budget::Ceiling;
use super::{Floor, Rules, Seat};
use crate::event::{CutOff, Note, Parts, Said, Speech, Turn, What};
use crate::repetition::Repetition;
use crate::tokens::Weighing;
use althing_chat::{Answer, Ask, Delta, Stop, Usage};
use althing_stdx::{Fault, Kind, Result};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::time::Instant;

/// Deltas are written together: after this time or this much text, whichever comes first.
const BATCH_TIME: Duration = Duration::from_millis(50);
const BATCH_BYTES: usize = 4096;
/// A reply longer than this is cut here, whatever its ceiling is.
const REPLY_BYTES_MAX: usize = 256 * 1024;
/// The ceiling counts tokens and we guess them on the high side, by half for English: text beyond so
/// many percent of it is too long.
const CEILING_PERCENT: f64 = 150.0;

/// What came of a turn.
pub(super) struct Heard {
    /// What was said, or why the turn is lost.
    pub said: Result<Said>,
    /// Characters that came, thinking included, whatever became of them.
    pub chars: usize,
    /// Tokens of the call, where the provider counted them.
    pub usage: Option<Usage>,
    /// Whether its limit was reached before it said a word.
    pub is_used_up: bool,
    /// Whether it thought before it spoke, aloud or not.
    pub thinks: bool,
    /// Whether functions were called for it, so that it read more than its prompt.
    pub has_called: bool,
}

impl Heard {
    /// Adds what an earlier try of the same turn used.
    pub fn add_usage(&mut self, earlier: Option<Usage>) {
        // A sum of which a part is unknown is unknown.
        let (Some(earlier), Some(usage)) = (earlier, self.usage) else { return };
        self.usage = Some(usage.plus(earlier));
        if let Ok(said) = &mut self.said {
            said.usage = self.usage;
        }
    }
}

/// What a seat says to `ask`, at most up to `ceiling`. An error is ours and ends the run. A model for
/// which functions are called is asked again with each result: the money for that is added to
/// `reserved`.
pub(super) async fn listen(
    floor: &Floor,
    seat: &Seat,
    turn: &Turn,
    ask: Ask,
    ceiling: Ceiling,
    reserved: &mut f64,
) -> Result<Heard> {
    let began = Instant::now();
    let has_tools = !ask.tools.is_empty();
    let mut batch = Batch::new(turn.turn, began);
    let mut answer = Answer::default();
    let chars = ask.chars();
    let speech = turn.speech;
    let mut purse =
        Purse { floor, seat, speech, reserved, chars, is_calling: false, has_called: false };
    let mut limits = Limits::new(ceiling, seat.model.is_noisy());
    let heard = hear(&mut purse, &mut batch, ask, &mut answer, &mut limits).await;
    batch.flush(floor).await?;
    if !has_tools {
        // Calls of tools that nobody offered say nothing.
        answer.tool_calls.clear();
    }
    let took_ms = began.elapsed().as_millis() as u64;
    let (usage, has_called) = (answer.usage, purse.has_called);
    let is_used_up = is_used_up(&answer);
    let is_hidden = usage.and_then(|it| it.reasoning).is_some_and(|tokens| tokens > 0);
    let thinks = !answer.reasoning.is_empty() || is_hidden || is_used_up;
    let said = heard?.and_then(|cut| said(answer, cut, took_ms));
    Ok(Heard { said, chars: limits.chars, usage, is_used_up, thinks, has_called })
}

/// Listens to the end or to a limit. The outer error ends the run, the inner one loses the turn.
async fn hear(
    purse: &mut Purse<'_>,
    batch: &mut Batch,
    ask: Ask,
    answer: &mut Answer,
    limits: &mut Limits,
) -> Result<Result<Option<CutOff>>> {
    let (floor, seat) = (purse.floor, purse.seat);
    let rules = floor.rules;
    let mut clock = TurnClock::start(rules.turn_max);
    let mut speaking = seat.model.speak(ask);
    loop {
        let next = tokio::select! {
            biased;
            // First, so that a model which never stops to breathe cannot outrun it.
            () = at(clock.deadline) => return Ok(limits.cut(answer, CutOff::Time, too_late(rules))),
            next = speaking.next() => next,
            () = at(batch.due()) => { batch.flush(floor).await?; continue }
        };
        let delta = match next {
            Some(Ok(delta)) => delta,
            Some(Err(fault)) if fault.kind == Kind::TimedOut => {
                return Ok(limits.cut(answer, CutOff::Time, fault));
            }
            Some(Err(fault)) => return Ok(Err(fault)),
            None if answer.stop.is_some() => {
                let cut = (answer.stop == Some(Stop::Length)).then_some(CutOff::Length);
                return Ok(Ok(cut));
            }
            None => return Ok(Err(Fault::new(Kind::Network, "the answer broke off"))),
        };
        purse.see(&delta)?;
        let reached = limits.reached(&delta);
        match &delta {
            Delta::Text(text) => batch.add(floor, text, false).await?,
            Delta::Reasoning(text) => batch.add(floor, text, true).await?,
            Delta::Queued => {
                clock.pause();
                batch.note(floor, Note::Queued).await?;
            }
            // Whoever did not stand in line started with the turn.
            Delta::Started if clock.resume() => batch.note(floor, Note::Started).await?,
            Delta::Started => {}
            Delta::Retrying(retry) => batch.note(floor, Note::Retrying(retry.clone())).await?,
            Delta::Calling(call) => batch.note(floor, Note::Calling(call.clone())).await?,
            Delta::Called(called) => batch.note(floor, Note::Called(called.clone())).await?,
            Delta::ToolCall(_) | Delta::Usage(_) | Delta::Stop(_) | Delta::Ignored(_) => {}
        }
        answer.add(delta);
        match reached {
            None => {}
            Some(Reached::Thinking { cut, why }) => {
                return Ok(limits.cut(answer, cut, Fault::new(Kind::Upstream, why)));
            }
            Some(Reached::Text { cut, bytes }) => {
                answer.text.truncate(answer.text.floor_char_boundary(bytes));
                let why = match answer.text.trim() {
                    "" => "the model said nothing",
                    _ => "it said the same again and again",
                };
                return Ok(limits.cut(answer, cut, Fault::new(Kind::Upstream, why)));
            }
        }
    }
}

/// What ends a turn before the model does.
enum Reached {
    /// So many bytes of the text are kept.
    Text { cut: CutOff, bytes: usize },
    /// Words that came before are kept.
    Thinking { cut: CutOff, why: String },
}

/// The time that a turn has left. It does not run while the model stands in line.
struct TurnClock {
    left: Duration,
    deadline: Option<Instant>,
}

impl TurnClock {
    fn start(left: Duration) -> TurnClock {
        TurnClock { left, deadline: Some(Instant::now() + left) }
    }

    fn pause(&mut self) {
        if let Some(deadline) = self.deadline.take() {
            self.left = deadline.saturating_duration_since(Instant::now());
        }
    }

    /// Goes on; returns whether it stood still.
    fn resume(&mut self) -> bool {
        let was_paused = self.deadline.is_none();
        if was_paused {
            *self = TurnClock::start(self.left);
        }
        was_paused
    }
}

/// How much a turn has said, and whether it repeats itself.
struct Limits {
    ceiling: Ceiling,
    /// Characters that came, kept or not.
    chars: usize,
    bytes: usize,
    text: Weighing,
    thought: Weighing,
    text_watch: Option<Repetition>,
    thought_watch: Repetition,
}

impl Limits {
    /// A form is looked for in all that a noisy model says, so its text is not watched.
    fn new(ceiling: Ceiling, is_noisy: bool) -> Limits {
        let text_watch = match ceiling.is_form {
            true => (!is_noisy).then(Repetition::of_form),
            false => Some(Repetition::default()),
        };
        let thought_watch = Repetition::default();
        let (text, thought) = (Weighing::default(), Weighing::default());
        Limits { ceiling, chars: 0, bytes: 0, text, thought, text_watch, thought_watch }
    }

    /// Ends a turn before the model does: what was said is kept. Without a word it is `fault`; half
    /// a form is no answer either, but for one that is too long, whose reader may still find it.
    fn cut(&self, answer: &mut Answer, cut: CutOff, fault: Fault) -> Result<Option<CutOff>> {
        let is_half = self.ceiling.is_form && cut != CutOff::Length;
        if answer.text.trim().is_empty() || is_half {
            return Err(fault);
        }
        answer.stop = Some(Stop::Length);
        Ok(Some(cut))
    }

    fn reached(&mut self, delta: &Delta) -> Option<Reached> {
        match delta {
            Delta::Text(text) => self.reached_by_text(text),
            Delta::Reasoning(text) => {
                self.chars += text.chars().count();
                text.chars().for_each(|c| self.thought.add(c));
                let most = self.ceiling.reasoning as f64;
                if self.thought_watch.push(text).is_some() {
                    let why = "its thoughts went in circles".to_string();
                    return Some(Reached::Thinking { cut: CutOff::Looping, why });
                }
                let is_too_long = self.thought.tokens() * 100.0 > most * CEILING_PERCENT;
                let why = || format!("it thought for more than {most} tokens");
                is_too_long.then(|| Reached::Thinking { cut: CutOff::Length, why: why() })
            }
            _ => None,
        }
    }

    fn reached_by_text(&mut self, text: &str) -> Option<Reached> {
        let before = self.bytes;
        self.bytes += text.len();
        self.chars += text.chars().count();
        if let Some(bytes) = self.text_watch.as_mut().and_then(|watch| watch.push(text)) {
            return Some(Reached::Text { cut: CutOff::Looping, bytes });
        }
        // A form is as long as it has to be: only its bytes are limited.
        let most = match self.ceiling.is_form {
            true => f64::INFINITY,
            false => self.ceiling.visible as f64 * CEILING_PERCENT / 100.0,
        };
        // Of a piece that goes over, as much as there is room for.
        let fits = |c: &char| {
            self.text.add(*c);
            self.text.tokens() <= most
        };
        let kept: usize = text.chars().take_while(fits).map(char::len_utf8).sum();
        if kept == text.len() && self.bytes <= REPLY_BYTES_MAX {
            return None;
        }
        let bytes = (before + kept).min(REPLY_BYTES_MAX);
        Some(Reached::Text { cut: CutOff::Length, bytes })
    }
}

/// The money of a turn: each time that results go back to the model, as much is set aside as for a
/// first call, with all that it has heard by then.
struct Purse<'a> {
    floor: &'a Floor,
    seat: &'a Seat,
    speech: Speech,
    reserved: &'a mut f64,
    chars: usize,
    /// Within a row of calls that the model made at once.
    is_calling: bool,
    has_called: bool,
}

impl Purse<'_> {
    fn see(&mut self, delta: &Delta) -> Result<()> {
        let was_calling = self.is_calling;
        self.is_calling = matches!(delta, Delta::Calling(_) | Delta::Called(_));
        self.has_called |= self.is_calling;
        match delta {
            Delta::Text(text) => self.chars += text.chars().count(),
            Delta::Called(called) => self.chars += called.result.chars().count(),
            _ => {}
        }
        if self.is_calling && !was_calling {
            *self.reserved += self.floor.reserve(self.seat, self.chars, self.speech)?;
        }
        Ok(())
    }
}

fn said(answer: Answer, cut: Option<CutOff>, took_ms: u64) -> Result<Said> {
    let is_used_up = is_used_up(&answer);
    let text = answer.text.trim();
    let stop = answer.stop.unwrap_or(Stop::End);
    if stop == Stop::Refused {
        return Err(Fault::new(Kind::Refused, "the model declined to answer"));
    }
    if is_used_up {
        let message =
            "it reached its limit of tokens before it said a word, most likely by thinking";
        return Err(Fault::new(Kind::Upstream, message));
    }
    if text.is_empty() && answer.tool_calls.is_empty() {
        return Err(Fault::new(Kind::Upstream, "the model said nothing"));
    }
    Ok(Said {
        text: text.to_string(),
        parts: Parts::Plain,
        stop,
        cut,
        mark: String::new(),
        tool_calls: answer.tool_calls,
        usage: answer.usage,
        cost_usd: None,
        took_ms,
    })
}

/// Tells an answer whose tokens went elsewhere, to thoughts that are not shown as a rule.
fn is_used_up(answer: &Answer) -> bool {
    let is_silent = answer.text.trim().is_empty() && answer.tool_calls.is_empty();
    is_silent && answer.stop == Some(Stop::Length)
}

fn too_late(Rules { turn_max, setting }: Rules) -> Fault {
    let text = format!("no answer within {} s ({setting})", turn_max.as_secs());
    Fault::new(Kind::TimedOut, text)
}

/// Waits until `when`; for ever where there is none.
async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// Text on its way to the log.
struct Batch {
    turn: u32,
    text: String,
    reasoning: bool,
    written: Instant,
    is_first: bool,
}

impl Batch {
    fn new(turn: u32, now: Instant) -> Batch {
        Batch { turn, text: String::new(), reasoning: false, written: now, is_first: true }
    }

    /// When the text gathered so far must be written.
    fn due(&self) -> Option<Instant> {
        (!self.text.is_empty()).then(|| self.written + BATCH_TIME)
    }

    async fn add(&mut self, floor: &Floor, text: &str, reasoning: bool) -> Result<()> {
        if self.reasoning != reasoning {
            self.flush(floor).await?;
            self.reasoning = reasoning;
            self.is_first = true;
        }
        self.text.push_str(text);
        // The first words go out at once: that is what a person waits for.
        let is_due = self.is_first || self.text.len() >= BATCH_BYTES;
        self.is_first = false;
        if is_due || self.due().is_some_and(|due| due <= Instant::now()) {
            self.flush(floor).await?;
        }
        Ok(())
    }

    async fn note(&mut self, floor: &Floor, note: Note) -> Result<()> {
        self.flush(floor).await?;
        floor.append(What::TurnNoted { turn: self.turn, note }).await
    }

    async fn flush(&mut self, floor: &Floor) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.written = Instant::now();
        let text = std::mem::take(&mut self.text);
        floor.append(What::TurnDelta { turn: self.turn, text, reasoning: self.reasoning }).await
    }
}
