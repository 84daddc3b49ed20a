//! What agents write, understood. A reader is a pure function from one event to what it says;
//! `Said` gathers it.

mod claude;
mod codex;
mod gemini;
mod opencode;
#[cfg(test)]
mod tests;

use crate::failure;
use crate::keep::Keep;
use crate::refusal::is_refusal;
use althing_chat::{Delta, Retry, Stop, Usage};
use althing_stdx::{Fault, Kind, Result};
use serde_json::Value;
use std::mem;

/// The longest answer; a longer one is a failure.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Plain output that is kept: so much of its head, and as much of its tail. Together with the mark
/// between them less than the 256 KB that are heard of an answer, so the tail is heard too.
const TEXT_HALF_BYTES_MAX: usize = 127 << 10;
/// Errors and noise that are kept, for the case that nothing else explains a failure.
const NOISE_HALF_BYTES_MAX: usize = 2 << 10;
/// Places in them at which an error as JSON is looked for.
const OBJECTS_MAX: usize = 20;
/// An agent that tries again with a key, an account or a name that stays wrong is stopped at this
/// attempt. The first may be a login that is just being renewed.
const HOPELESS_ATTEMPTS: u32 = 2;

/// What the standard output of an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Events of Claude Code.
    Claude,
    /// Events of Codex.
    Codex,
    /// Events of Gemini CLI.
    Gemini,
    /// Events of opencode.
    OpenCode,
    /// The answer itself.
    Text,
}

impl Format {
    /// By the name that files use: `claude`, `codex`, `gemini`, `opencode`, `text`.
    pub fn find(name: &str) -> Option<Format> {
        Some(match name {
            "claude" => Format::Claude,
            "codex" => Format::Codex,
            "gemini" => Format::Gemini,
            "opencode" => Format::OpenCode,
            "text" => Format::Text,
            _ => return None,
        })
    }
}

/// Where an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Speaking,
    /// It is whole; the process may end.
    Done,
    /// It will not come.
    Failed,
}

/// What an agent has said so far.
#[derive(Debug)]
pub(crate) struct Said {
    format: Format,
    /// Whether every text belongs to the answer. An agent with tools also speaks in between.
    is_live: bool,
    state: State,
    /// Text handed out as deltas.
    shown: String,
    /// Text that may still turn out to be said in between.
    held: String,
    /// The answer as the agent itself sums it up.
    answer: Option<String>,
    plain: Keep,
    noise: Keep,
    /// A value that began and has not ended yet.
    many_lines: String,
    spent: Usage,
    failure: Option<Fault>,
    /// What went wrong without being the end.
    problem: Option<Fault>,
    /// The last attempt that failed, while nothing came after it.
    retry: Option<Retry>,
    ready: Vec<Delta>,
}

impl Said {
    pub(crate) fn new(format: Format, is_live: bool) -> Said {
        Said {
            format,
            is_live,
            state: State::Speaking,
            shown: String::new(),
            held: String::new(),
            answer: None,
            plain: Keep::new(TEXT_HALF_BYTES_MAX),
            noise: Keep::new(NOISE_HALF_BYTES_MAX),
            many_lines: String::new(),
            spent: Usage::default(),
            failure: None,
            problem: None,
            retry: None,
            ready: vec![],
        }
    }

    /// A line of standard output. What is no event is noise.
    pub(crate) fn line(&mut self, line: &str) {
        let read = match self.format {
            Format::Claude => claude::read,
            Format::Codex => codex::read,
            Format::Gemini => gemini::read,
            Format::OpenCode => opencode::read,
            Format::Text => return self.plain.line(line),
        };
        // Inside a value that takes many lines one of them may look like a whole one.
        let is_inside = !self.many_lines.is_empty() && line.starts_with([' ', '\t']);
        match serde_json::from_str(line).ok().filter(|_| !is_inside) {
            Some(value @ (Value::Object(_) | Value::Array(_))) => self.events(read, value),
            _ => {
                self.noise.line(line);
                if let Some(value) = self.gather(line) {
                    self.events(read, value);
                }
            }
        }
    }

    fn events(&mut self, read: fn(&mut Said, &Value), value: Value) {
        self.many_lines.clear();
        match value {
            Value::Array(events) => events.iter().for_each(|event| self.event(read, event)),
            event => self.event(read, &event),
        }
    }

    /// A line of a value that is written over many, as `gemini -o json` does; the value with its last
    /// line.
    fn gather(&mut self, line: &str) -> Option<Value> {
        if line.starts_with(['{', '[']) {
            self.many_lines.clear();
        } else if self.many_lines.is_empty() {
            return None;
        }
        self.many_lines.push_str(line);
        self.many_lines.push('\n');
        if self.many_lines.len() > ANSWER_BYTES_MAX {
            self.many_lines.clear();
        }
        // It ends where it began: at the left edge.
        let is_last = line.starts_with(['}', ']']);
        is_last.then(|| serde_json::from_str(&self.many_lines).ok()).flatten()
    }

    fn event(&mut self, read: fn(&mut Said, &Value), event: &Value) {
        let (before, size) = (self.retry.take(), self.ready.len());
        read(self, event);
        // Nothing new was said: it is still trying.
        if self.retry.is_none() && self.ready.len() == size && self.held.is_empty() {
            self.retry = before;
        }
    }

    /// A line of standard error.
    pub(crate) fn error_line(&mut self, line: &str) {
        self.noise.line(line);
        if self.format == Format::Gemini {
            gemini::read_error(self, line);
        }
    }

    /// What is to be handed on now.
    pub(crate) fn take(&mut self) -> Vec<Delta> {
        mem::take(&mut self.ready)
    }

    /// The answer is whole.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The answer will not come.
    pub(crate) fn is_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// Nothing of an answer was handed on.
    pub(crate) fn is_silent(&self) -> bool {
        self.shown.is_empty()
    }

    /// It only says that it tries again.
    pub(crate) fn is_retrying(&self) -> bool {
        self.retry.is_some()
    }

    /// The end of the process, with `trouble` if that was no good one: the rest of the answer and
    /// why it ended. An answer that is there is taken, and the trouble noted, or that it was cut.
    pub(crate) fn end(&mut self, trouble: Option<Fault>) -> Result<Vec<Delta>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut cut = None;
        if self.format == Format::Text {
            let plain = mem::replace(&mut self.plain, Keep::new(0));
            cut = plain.is_cut().then_some(Stop::Length);
            let answer = plain.text();
            if is_refusal(&answer) {
                let words = failure::shown(&answer);
                return Err(Fault::new(
                    Kind::Refused,
                    format!("the model declined to answer: {words}"),
                ));
            }
            self.answer = Some(answer);
        }
        self.settle();
        if self.shown.trim().is_empty() {
            return Err(self.silence(trouble));
        }
        let noted = trouble.or(self.problem.take()).map(|trouble| Stop::Other(trouble.message));
        self.ready.push(Delta::Stop(cut.or(noted).unwrap_or(Stop::End)));
        Ok(self.take())
    }

    /// Its time is over. One that was trying again is told for what it tried.
    pub(crate) fn late(&mut self, late: Fault) -> Fault {
        match self.retry.take() {
            Some(retry) => Fault::new(retry.kind, format!("{}; {}", late.message, retry.message)),
            None => late,
        }
    }

    /// Hands out what is missing of the answer. The streamed text stands where the agent's own sum
    /// of it is empty or another.
    fn settle(&mut self) {
        let held = mem::take(&mut self.held);
        let answer = self.answer.take().filter(|answer| !answer.trim().is_empty());
        let rest = match answer {
            Some(answer) if self.shown.is_empty() => answer,
            Some(answer) => answer.strip_prefix(&self.shown).unwrap_or_default().to_string(),
            None => held,
        };
        self.show(rest);
    }

    /// Why there is no answer.
    fn silence(&mut self, trouble: Option<Fault>) -> Fault {
        let noise = mem::replace(&mut self.noise, Keep::new(0)).text();
        let trying = self.retry.take().map(|retry| Fault::new(retry.kind, retry.message));
        match (trying.or(self.problem.take()), trouble) {
            (Some(told), _) => told,
            (None, Some(trouble)) if trouble.kind != Kind::Upstream => trouble,
            (None, Some(trouble)) => {
                let words = failure::shown(&told_in(&noise));
                let kind = failure::kind(&noise, None);
                match words.is_empty() {
                    true => trouble,
                    false => Fault::new(kind, format!("{}: {words}", trouble.message)),
                }
            }
            // To the one who asked, silence and a refusal are the same.
            (None, None) => Fault::new(Kind::Refused, "it ended without an answer"),
        }
    }

    /// A piece of the answer as it is being written.
    fn text(&mut self, text: &str) {
        if self.is_live {
            return self.show(text.to_string());
        }
        self.held.push_str(text);
        self.measure(self.held.len());
    }

    fn show(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.shown.push_str(&text);
        self.ready.push(Delta::Text(text));
        self.measure(self.shown.len());
    }

    fn measure(&mut self, bytes: usize) {
        if bytes > ANSWER_BYTES_MAX {
            let text = format!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
            self.fail(Fault::new(Kind::Upstream, text));
        }
    }

    /// A whole message that may be the last; the one before it was said in between.
    fn message(&mut self, text: &str) {
        self.between();
        self.held.push_str(text);
        self.measure(self.held.len());
    }

    /// A tool is used: what was said before it is no part of the answer.
    fn between(&mut self) {
        let held = mem::take(&mut self.held);
        self.reasoning(&held);
    }

    fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.ready.push(Delta::Reasoning(text.to_string()));
        }
    }

    fn usage(&mut self, usage: Usage) {
        self.spent = usage;
        self.ready.push(Delta::Usage(usage));
    }

    /// The usage of one step of several.
    fn step_usage(&mut self, step: Usage) {
        let sum = |a: Option<u64>, b: Option<u64>| a.map_or(b, |a| Some(a + b.unwrap_or(0)));
        let spent = self.spent;
        self.usage(Usage {
            input: sum(spent.input, step.input),
            output: sum(spent.output, step.output),
            cached: sum(spent.cached, step.cached),
            cache_written: sum(spent.cache_written, step.cache_written),
            reasoning: sum(spent.reasoning, step.reasoning),
            cost_nano_usd: sum(spent.cost_nano_usd, step.cost_nano_usd),
        });
    }

    /// The agent tries again by itself. Where that cannot help, it has failed.
    fn retrying(&mut self, retry: Retry) {
        if retry.kind.is_permanent() && retry.attempt >= HOPELESS_ATTEMPTS {
            return self.fail(Fault::new(retry.kind, &retry.message));
        }
        if self.shown.is_empty() {
            self.ready.push(Delta::Retrying(retry.clone()));
        }
        self.retry = Some(retry);
    }

    /// The answer is whole, with the agent's own sum of it where there is one.
    fn done(&mut self, answer: Option<&str>) {
        self.answer = answer.map(str::to_string);
        self.measure(answer.map_or(0, str::len));
        if self.state == State::Speaking {
            self.state = State::Done;
        }
    }

    fn problem(&mut self, fault: Fault) {
        self.problem = Some(fault);
    }

    fn fail(&mut self, fault: Fault) {
        self.failure.get_or_insert(fault);
        self.state = State::Failed;
    }
}

/// What explains most of a failure: the message of an error that is written as JSON, else a line.
fn told_in(noise: &str) -> String {
    let mut objects = noise.match_indices('{').take(OBJECTS_MAX);
    let message = objects.find_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&noise[at..]).into_iter::<Value>();
        let value = values.next()?.ok()?;
        value["error"]["message"].as_str().map(String::from)
    });
    message.unwrap_or_else(|| last_words(noise).to_string())
}

/// The line that explains most: the first that speaks of an error, else the last.
fn last_words(noise: &str) -> &str {
    let lines = || noise.lines().map(str::trim).filter(|line| !line.is_empty());
    let speaks = |line: &&str| line.to_ascii_lowercase().contains("error");
    lines().find(speaks).or_else(|| lines().next_back()).unwrap_or_default()
}

/// A number of tokens.
fn count(value: &Value) -> Option<u64> {
    value.as_u64()
}

/// A price in dollars that an agent tells; 0 is what those say that do not know it.
fn nano_usd(value: &Value) -> Option<u64> {
    let nano = value.as_f64().filter(|usd| usd.is_finite() && *usd > 0.0)? * Usage::NANO_PER_USD;
    Some(nano.round() as u64)
}

/// A status of HTTP.
fn status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}
