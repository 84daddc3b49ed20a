//! What happened in a run, as data. Closed under new methods: a method brings names of phases and
//! roles, never a new variant, so the log, the terminal and every face know no method by name.

use crate::council::Terms;
use crate::council::anonymise::Redaction;
use crate::fit::Cut;
use althing_chat::{Attachment, Called, Retry, Stop, Tool, ToolCall, Usage};
use althing_stdx::Kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One line of the log. `seq` counts from 0 without gaps within a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub seq: u64,
    pub run: String,
    pub at_ms: u64,
    #[serde(flatten)]
    pub what: What,
}

impl Event {
    /// Adds it to `out` as JSON. Here and not where it is kept, because this crate is built for
    /// speed and the next call waits for it.
    pub fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(out, self)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum What {
    RunStarted(Box<Opening>),
    /// The run goes on after a stop; `kept` turns are not asked again.
    RunResumed {
        kept: u32,
        max_cost_usd: Option<f64>,
    },
    PhaseStarted {
        phase: u32,
        total: u32,
        name: String,
        participants: Vec<String>,
    },
    PhaseEnded {
        phase: u32,
        next: u32,
        next_name: String,
    },
    /// The run waits before `phase`; without an answer it goes on by itself after `timeout_ms`.
    PauseStarted {
        phase: u32,
        timeout_ms: u64,
    },
    PauseEnded {
        phase: u32,
        timed_out: bool,
    },
    TurnStarted(Turn),
    TurnNoted {
        turn: u32,
        note: Note,
    },
    TurnDelta {
        turn: u32,
        text: String,
        /// Thinking aloud, not part of the answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reasoning: bool,
    },
    TurnEnded {
        #[serde(flatten)]
        by: Turn,
        outcome: Outcome,
    },
    /// The turn was in flight when the run stopped; it is asked once more under a new number.
    TurnInterrupted {
        turn: u32,
    },
    /// An answer was held against the form it had to have.
    AnswerChecked(Box<Checked>),
    /// The plans of a council were shuffled, labelled and made anonymous: who wrote which is fixed.
    LabelsSealed(Box<Sealed>),
    /// The plans were compared, by the judge or by the score that stands in for one.
    PlansJudged(Box<Judgement>),
    /// What a council came to.
    PlanSettled(Box<Settled>),
    /// Something the person should know; `code` is for programs.
    Warned {
        code: String,
        message: String,
    },
    RunEnded {
        ending: Ending,
        totals: Totals,
    },
}

/// Everything a run was started with, so that it can be resumed from its log alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    pub method: String,
    pub question: String,
    /// The mark of the fence around the question and what came with it; empty: not drawn yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
    /// Files the person gave along, as name and text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Quoted>,
    /// Pictures and documents the person gave along; every prompt has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The earlier run this one goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Continued>,
    pub seats: Vec<SeatInfo>,
    /// Role name to seats, for methods with teams.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: Roles,
    /// Turns of the free discussion, all seats together.
    pub turns: u32,
    /// Seats in the order in which they are asked to write the synthesis.
    pub synthesizers: Vec<usize>,
    pub synthesizer_mode: String,
    /// Language of the answers; none: that of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// How long to wait between phases; none: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Whether the run concludes where the limit is reached, and does not stop to be resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub concludes_at_limit: bool,
    /// What the whole run may cost by our table; none where no seat has a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_usd: Option<f64>,
    /// Functions a single model may ask for; nothing is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Names of functions that are called for every model that asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<String>,
    /// Whether providers are asked to stream.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub stream: bool,
    /// What a council plans, and by which rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub council: Option<Box<Terms>>,
}

impl Opening {
    /// Everything in it that a prompt quotes.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> + Clone {
        let files = self.context.iter().flat_map(|file| [file.name.as_str(), &file.text]);
        let before = self.continues.iter().flat_map(|before| {
            let positions = before.positions.iter().flat_map(|it| [it.name.as_str(), &it.text]);
            [before.question.as_str(), &before.synthesis].into_iter().chain(positions)
        });
        std::iter::once(self.question.as_str()).chain(files).chain(before)
    }
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

pub type Roles = BTreeMap<String, Vec<usize>>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quoted {
    pub name: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Continued {
    pub run: String,
    pub question: String,
    pub synthesis: String,
    pub positions: Vec<Quoted>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeatInfo {
    /// `provider:model`.
    pub model: String,
    /// How the seat is called at the table; unique within the run.
    pub name: String,
    /// A standing instruction, where one model sits several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<String>,
    /// A scripted voice, not a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
    /// Tokens of the window that the person wants for this seat; none: what the model has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
}

/// Who speaks, when and as what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Number within the run; a turn asked again gets a new one.
    pub turn: u32,
    pub phase: u32,
    pub seat: usize,
    /// Which of this seat's turns in this phase, from 0.
    pub nth: u32,
    pub model: String,
    pub name: String,
    pub speech: Speech,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
    /// One of several that speak at the same time.
    pub parallel: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speech {
    Answer,
    Critique,
    Message,
    Position,
    Synthesis,
}

/// What happens to a call besides its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    Queued,
    Started,
    Retrying(Retry),
    /// A function is being called for the model, which goes on when it has the result.
    Calling(ToolCall),
    /// It was called, and this came of it.
    Called(Called),
    /// The prompt was cut to fit the window.
    Fitted(Box<Fitted>),
}

/// What a prompt leaves out for want of room. Later prompts to the same model leave it out too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fitted {
    pub model: String,
    /// The first seat of those that read the same prompts.
    #[serde(default)]
    pub seat: usize,
    /// Which of the run's transcripts.
    pub transcript: String,
    pub cut: Cut,
    /// Speeches that are not there at all, and those that are there in part.
    pub dropped: usize,
    pub shortened: usize,
    /// Words of both that are not shown.
    pub words: usize,
    /// Tokens of the window.
    pub window: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Said(Box<Said>),
    Failed(Failure),
}

/// A successful turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    pub text: String,
    pub parts: Parts,
    pub stop: Stop,
    /// Why it is not all that the model was about to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutOff>,
    /// The mark of its fence in later prompts; `text` does not contain it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
    /// What the model asked to be called; only where it was offered tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub took_ms: u64,
}

/// Why an answer was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutOff {
    /// It was longer than asked for.
    Length,
    /// It said the same again and again.
    Looping,
    /// It took longer than a turn may take.
    Time,
}

impl CutOff {
    /// In a few words, for people and prompts.
    pub fn in_words(self) -> &'static str {
        match self {
            CutOff::Length => "cut off: too long",
            CutOff::Looping => "cut off: it repeated itself",
            CutOff::Time => "cut off: out of time",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What the part that did come is taken to have cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens of the call, where the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether the model had begun to answer: such a call is paid for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

/// The labelled parts of a speech.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Parts {
    Plain,
    Critique { agreements: String, disagreements: String, missing: String },
    Position { position: String, confidence: Option<Confidence> },
    Estimate { estimate: String, unchanged: bool, confidence: Option<Confidence> },
    Synthesis(Box<Synthesis>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confidence {
    pub level: Level,
    /// 0 to 100; from the level where no number was given.
    pub score: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    Low,
    Medium,
    High,
}

/// The heading under which a synthesis says why its discussion broke off.
pub const CONCLUDED_EARLY: &str = "Concluded early";

/// What the table came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Synthesis {
    /// YES, PARTIAL, NO, FOR, AGAINST or `<k> SELECTED`, as the method has it; none where whoever
    /// concluded did not say.
    #[serde(default)]
    pub consensus: Option<String>,
    /// What everyone accepts.
    pub agreed: String,
    pub synthesis: String,
    /// `None` where there are none.
    pub differences: String,
    /// Anything more under its own heading, such as how views moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<Quoted>,
    /// Seat name to its last stated confidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confidences: Vec<Sureness>,
    /// Names of seats that were asked for a confidence and stated none. They count in no average.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstated: Vec<String>,
    /// Successful speeches before this one.
    pub messages: u32,
    /// The one who wrote this had argued for a side.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sureness {
    pub seat: usize,
    pub model: String,
    pub name: String,
    #[serde(flatten)]
    pub confidence: Confidence,
}

/// Whether an answer is what was asked for, and what happens next where it is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    pub turn: u32,
    pub seat: usize,
    pub name: String,
    pub role: String,
    /// From 1.
    pub attempt: u32,
    pub valid: bool,
    /// Of a valid answer, in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What is wrong, each with its place; or why there is no answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// None: the seat is not asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

/// How a seat is asked once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// With what was wrong.
    Stricter,
    /// With less to read.
    Reduced,
    /// In the same words.
    Same,
}

/// Which plan is whose, and what was covered in them. Nothing of this reaches the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    #[serde(deserialize_with = "crate::council::read_seed")]
    pub seed: i64,
    /// In the order in which the judge reads them.
    pub labels: Vec<Labelled>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<Redaction>,
    /// All that the judge gets, as `judge_input`; null in logs from before it was kept.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labelled {
    pub label: String,
    pub seat: usize,
    pub name: String,
}

/// How the plans compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// No judge could: the score decided.
    pub fallback: bool,
    pub selected: String,
    pub scores: Vec<Scored>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub analysis: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_steps: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub improvements: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub label: String,
    pub seat: usize,
    pub name: String,
    /// 0 to 10.
    pub score: f64,
    pub rationale: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strengths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaknesses: Vec<String>,
}

/// The final plan in its form, and for a person to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    pub plan: Value,
    pub markdown: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Completed,
    Cancelled,
    Failed(Failure),
}

/// Tokens and money of a run so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub calls: u32,
    pub input_tokens: u64,
    /// Of `input_tokens`: read from a provider's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Sum over the calls whose price is known.
    pub cost_usd: f64,
    /// Calls whose tokens nobody counted: the sums are lower bounds.
    pub uncounted: u32,
    /// Calls whose price nobody knows: `cost_usd` is a lower bound.
    pub unpriced: u32,
}

impl Totals {
    /// Counts one call in.
    pub fn add(&mut self, outcome: &Outcome) {
        self.calls += 1;
        let (counted, cost_usd) = match outcome {
            Outcome::Said(said) => (said.usage, said.cost_usd),
            Outcome::Failed(failure) if failure.answered => (failure.usage, failure.cost_usd),
            Outcome::Failed(_) => return,
        };
        let usage = counted.unwrap_or_default();
        self.input_tokens += usage.input.unwrap_or(0);
        self.cached_tokens += usage.cached.unwrap_or(0);
        self.output_tokens += usage.output.unwrap_or(0);
        self.uncounted += u32::from(counted.is_none());
        self.cost_usd += cost_usd.unwrap_or(0.0);
        self.unpriced += u32::from(cost_usd.is_none());
    }
}
