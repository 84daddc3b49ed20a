//! Asking one seat until its answer can be used: what is tried again, how, and how often.

use super::anonymise::{Redaction, restored};
use super::leash::Leash;
use super::prompt::How;
use super::schema::Problem;
use crate::event::{Again, Checked, Failure, Outcome, Said, Speech, What};
use crate::floor::{Cue, Floor, Seat};
use crate::prompt::Prompt;
use althing_chat::Stop;
use althing_stdx::{Fault, Kind, Result, text::one_line};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The first and two more.
pub(super) const ATTEMPTS_MAX: u32 = 3;
/// With less time than this left nobody is asked again.
const TIME_MIN: Duration = Duration::from_secs(1);
const NOT_ASKED: &str = "it is not asked any more";
const OUT_OF_TIME: &str = "the time budget of the run is used up";
/// What planners and the judge say, to the log.
const SPEECH: Speech = Speech::Answer;
/// Errors of an answer in the log, and characters of a summary there.
const ERRORS_MAX: usize = 20;
const SUMMARY_CHARS_MAX: usize = 400;

/// What a reader makes of an answer.
pub(super) enum Read<T> {
    Good {
        value: T,
        summary: String,
    },
    /// It can be used, but one more try may give a better one.
    Flawed {
        value: T,
        summary: String,
        flaws: Vec<Problem>,
    },
    Bad(Vec<Problem>),
    Refused,
}

/// What came of asking.
pub(super) struct Asked<T> {
    /// The answer, with when it came among all turns of the run; or why there is none.
    pub result: std::result::Result<(T, u64), String>,
    /// Nobody asked again because the time was up.
    pub out_of_time: bool,
    /// Others had finished before, and it was not needed any more.
    pub let_go: bool,
}

/// Who is asked, as what and until when.
pub(super) struct Asker<'a> {
    pub floor: &'a Floor,
    pub seat: &'a Seat,
    pub role: &'static str,
    pub attempt: Duration,
    pub until: Instant,
    pub enough: watch::Receiver<bool>,
    /// Otherwise only what is stored counts.
    pub may_ask: bool,
    /// Enough others are stored.
    pub is_full: bool,
    /// What it cannot see; what people read of it has that put back.
    pub covered: &'a [Redaction],
}

/// Why an attempt gave nothing, or nothing good enough.
enum Trouble {
    Bad(Vec<Problem>),
    Flawed(Vec<Problem>),
    Failed(Failure),
}

/// An answer that can be used, put aside for a better one.
struct Kept<T> {
    answer: (T, u64),
    summary: String,
    attempt: u32,
}

/// What was tried so far.
#[derive(Default)]
struct Tried {
    attempts: u32,
    has_reduced: bool,
    has_mended: bool,
}

impl Asker<'_> {
    /// Asks until an answer can be used or nothing more is worth a try. An error ends the run.
    pub(super) async fn ask<T>(
        &self,
        write: impl Fn(&How) -> Prompt,
        read: impl Fn(&str) -> Read<T>,
    ) -> Result<Asked<T>> {
        let (mut how, mut tried) = (How::Plain, Tried::default());
        let mut kept: Option<Kept<T>> = None;
        if let Some(stop) = self.stop() {
            return Ok(self.lost(None, stop.to_string(), Some(stop)));
        }
        loop {
            let cue = Cue::message(Some(self.role), 0, write(&how));
            let cue = Cue { speech: SPEECH, words: None, is_form: true, ..cue };
            let (seat, parallel) = (self.leashed(), self.role == super::PLANNER);
            let attempt = self.floor.attempt(&seat, &cue, parallel).await?;
            tried.attempts += 1;
            let trouble = match attempt.outcome {
                Outcome::Failed(failure) => Trouble::Failed(failure),
                Outcome::Said(said) => match read(&said.text) {
                    Read::Good { value, summary } => {
                        self.tell(attempt.turn, &tried, Ok(&summary), None).await?;
                        return Ok(found((value, attempt.rank)));
                    }
                    Read::Flawed { value, summary, flaws } => {
                        if tried.has_mended || tried.attempts == ATTEMPTS_MAX {
                            self.tell(attempt.turn, &tried, Ok(&summary), None).await?;
                            return Ok(found((value, attempt.rank)));
                        }
                        let (answer, attempt) = ((value, attempt.rank), tried.attempts);
                        kept = Some(Kept { answer, summary, attempt });
                        Trouble::Flawed(flaws)
                    }
                    Read::Bad(problems) => {
                        Trouble::Bad(cut(&said).into_iter().chain(problems).collect())
                    }
                    Read::Refused => Trouble::Failed(refused()),
                },
            };
            let wanted = next(&trouble, &how, &mut tried);
            let stop = wanted.as_ref().and_then(|_| self.stop());
            let next = wanted.filter(|_| stop.is_none());
            let again = next.as_ref().map(|next| next.1);
            // Where nothing better came, the one that was put aside is the answer.
            let used = kept.as_ref().filter(|_| next.is_none()).map(|it| it.told(&trouble));
            let found = used.as_deref().ok_or_else(|| trouble.errors());
            self.tell(attempt.turn, &tried, found, again).await?;
            match next {
                Some((next, _)) => how = next,
                None => {
                    let asked = self.lost(kept.map(|it| it.answer), trouble.words(), stop);
                    return Ok(Asked { let_go: asked.let_go || trouble.is_let_go(), ..asked });
                }
            }
        }
    }

    /// Why the seat cannot be asked now. What is stored needs neither time nor leave.
    fn stop(&self) -> Option<&'static str> {
        let left = self.until.saturating_duration_since(Instant::now());
        match self.floor.is_stored(self.seat, SPEECH, self.role) {
            true => None,
            false if !self.may_ask => Some(NOT_ASKED),
            false if left < TIME_MIN => Some(OUT_OF_TIME),
            false => None,
        }
    }

    /// The end without a good answer: one that was kept, or why there is none.
    fn lost<T>(&self, kept: Option<(T, u64)>, why: String, stop: Option<&str>) -> Asked<T> {
        Asked {
            result: kept.ok_or(why),
            out_of_time: stop == Some(OUT_OF_TIME),
            let_go: stop == Some(NOT_ASKED) && self.is_full,
        }
    }

    /// The seat with its model on the leash.
    fn leashed(&self) -> Seat {
        let leash = Leash {
            model: self.seat.model.clone(),
            attempt: self.attempt,
            until: self.until,
            enough: self.enough.clone(),
        };
        Seat {
            index: self.seat.index,
            name: self.seat.name.clone(),
            stance: self.seat.stance.clone(),
            model: Arc::new(leash),
            price: self.seat.price.clone(),
            window: self.seat.window,
        }
    }

    async fn tell(
        &self,
        turn: u32,
        tried: &Tried,
        found: std::result::Result<&str, Vec<String>>,
        again: Option<Again>,
    ) -> Result<()> {
        if self.floor.past().checked.contains(&turn) {
            return Ok(());
        }
        let plain = |text: &str| restored(text, self.covered);
        let errors = found.as_ref().err().map(Vec::as_slice).unwrap_or_default();
        let errors = errors.iter().map(|it| plain(it)).collect();
        let checked = Checked {
            turn,
            seat: self.seat.index,
            name: self.seat.name.clone(),
            role: self.role.to_string(),
            attempt: tried.attempts,
            valid: found.is_ok(),
            summary: found
                .as_ref()
                .map_or(String::new(), |it| one_line(&plain(it), SUMMARY_CHARS_MAX)),
            errors,
            again,
        };
        self.floor.append(What::AnswerChecked(Box::new(checked))).await
    }
}

impl<T> Kept<T> {
    /// What it is, and why no later one takes its place.
    fn told(&self, trouble: &Trouble) -> String {
        let Kept { summary, attempt, .. } = self;
        let why = trouble.words();
        format!("{summary}, by attempt {attempt}; the last one was no better: {why}")
    }
}

fn found<T>(found: (T, u64)) -> Asked<T> {
    Asked { result: Ok(found), out_of_time: false, let_go: false }
}

/// Why an answer may be none that can be used: it is longer than somebody let it be.
fn cut(said: &Said) -> Option<Problem> {
    let heard = said.text.len() / 1024;
    let words = || format!("the answer is longer than its limit; {heard} KB of it were heard");
    (said.stop == Stop::Length).then(|| Problem::new("$", words()))
}

fn refused() -> Failure {
    Failure::from(&Fault::new(Kind::Refused, "the model declined to answer"))
}

/// How to ask once more after `trouble`; none where it is not worth it. At most so often, a shorter
/// prompt and a mended verdict once each, and never where key, credit or name are wrong.
fn next(trouble: &Trouble, how: &How, tried: &mut Tried) -> Option<(How, Again)> {
    if tried.attempts >= ATTEMPTS_MAX {
        return None;
    }
    match trouble {
        Trouble::Bad(problems) => Some((How::Stricter(problems.clone()), Again::Stricter)),
        Trouble::Flawed(problems) => {
            tried.has_mended = true;
            Some((How::Stricter(problems.clone()), Again::Stricter))
        }
        Trouble::Failed(failure) => match failure.kind {
            Kind::Refused | Kind::ContextTooLong if !tried.has_reduced => {
                tried.has_reduced = true;
                Some((How::Reduced, Again::Reduced))
            }
            Kind::TimedOut | Kind::Network | Kind::Overloaded | Kind::Upstream | Kind::Internal => {
                Some((how.clone(), Again::Same))
            }
            // The provider's own waits are over by now, or somebody wants it to stop.
            _ => None,
        },
    }
}

impl Trouble {
    fn is_let_go(&self) -> bool {
        matches!(self, Trouble::Failed(failure) if failure.kind == Kind::Cancelled)
    }

    fn errors(&self) -> Vec<String> {
        match self {
            Trouble::Bad(problems) | Trouble::Flawed(problems) => {
                problems.iter().take(ERRORS_MAX).map(Problem::to_string).collect()
            }
            Trouble::Failed(failure) => vec![failure.message.clone()],
        }
    }

    /// In one line, for a list of failures.
    fn words(&self) -> String {
        match self {
            Trouble::Failed(failure) => one_line(&failure.message, SUMMARY_CHARS_MAX),
            Trouble::Bad(problems) | Trouble::Flawed(problems) => {
                let first = problems.first().map(Problem::to_string).unwrap_or_default();
                let more = match problems.len() {
                    0 | 1 => String::new(),
                    count => format!(" and {} more", count - 1),
                };
                format!("its answer is no valid one ({first}{more})")
            }
        }
    }
}
