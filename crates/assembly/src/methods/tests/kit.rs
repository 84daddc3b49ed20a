//! A table of scripted voices, and its log as text.

use crate::event::{
    Confidence, Ending, Event, Opening, Outcome, Parts, SeatInfo, Speech, Synthesis, What,
};
use crate::floor::{Floor, Log, Price, Rules, Seat};
use crate::past::Past;
use crate::prompt::{Heard, hear};
use crate::{method, run};
use althing_chat::{Ask, Usage, Window};
use althing_stdx::Result;
use althing_testkit::{Scripted, Stage, Step};
use futures_util::{FutureExt, future::BoxFuture};
use std::sync::{Arc, Mutex};
use tokio::{sync::Notify, time::Instant};

/// One call of a voice, as its script sees it.
pub(crate) struct Call<'a> {
    pub seat: usize,
    pub name: &'a str,
    pub ask: &'a Ask,
    pub heard: Heard,
    /// Calls of this voice before this one.
    pub nth: usize,
}

type Script = Arc<dyn Fn(&Call) -> Vec<Step> + Send + Sync>;

/// The same price for every call.
pub(crate) fn flat_price(dollars: f64) -> Option<Price> {
    Some(Arc::new(move |_: &Usage| dollars))
}

/// Everything a run needs; changed field by field.
#[derive(Clone)]
pub(crate) struct Table {
    pub opening: Opening,
    pub rules: Rules,
    /// Dollars of a call.
    pub price: Option<Price>,
    /// Tokens of every seat's window.
    pub window: u64,
    pub script: Script,
    pub resume: Arc<Notify>,
    pub stage: Stage,
}

pub(crate) const QUESTION: &str = "Tea or coffee?";

/// Names of seats: short, and none a part of another.
pub(crate) fn name(seat: usize) -> String {
    let names = ["ada", "bob", "cyd", "dan", "eve", "fay"];
    names.get(seat).map_or_else(|| format!("n{seat}"), |name| name.to_string())
}

pub(crate) fn table(method_name: &str, seats: usize) -> Table {
    let info = |seat| SeatInfo {
        model: format!("test:{}-1", name(seat)),
        name: name(seat),
        stance: None,
        demo: false,
        context_tokens: None,
    };
    let opening = Opening {
        attachments: vec![],
        method: method_name.into(),
        question: QUESTION.into(),
        mark: String::new(),
        context: vec![],
        continues: None,
        seats: (0..seats).map(info).collect(),
        roles: method(method_name).unwrap().default_roles(seats),
        turns: seats as u32,
        synthesizers: (0..seats).collect(),
        synthesizer_mode: "first".into(),
        language: None,
        pause_ms: None,
        max_cost_usd: None,
        estimate_usd: None,
        tools: vec![],
        offered: vec![],
        stream: true,
        council: None,
    };
    Table {
        opening,
        rules: Rules::default(),
        price: None,
        window: Window::UNKNOWN.tokens,
        script: Arc::new(|call| vec![Step::SayText(voice(call))]),
        resume: Arc::default(),
        stage: Stage::default(),
    }
}

impl Table {
    pub fn script(mut self, script: impl Fn(&Call) -> Vec<Step> + Send + Sync + 'static) -> Table {
        self.script = Arc::new(script);
        self
    }

    /// A whole run from the start.
    pub async fn hold(&self) -> Vec<Event> {
        self.resumed(&[]).await
    }

    /// A run that goes on from `before`, with fresh voices; all events, the old ones too.
    pub async fn resumed(&self, before: &[Event]) -> Vec<Event> {
        self.held(before, false, std::future::pending()).await
    }

    pub async fn held(
        &self,
        before: &[Event],
        retry_failed: bool,
        cancel: impl Future<Output = ()>,
    ) -> Vec<Event> {
        let record = Record::new(before);
        let floor = self.floor(Past::read(before, retry_failed), Arc::new(record.clone()));
        run::hold(&floor, cancel).await.expect("the log takes everything");
        record.events()
    }

    pub fn floor(&self, past: Past, log: Arc<dyn Log>) -> Floor {
        let seats = (0..self.opening.seats.len()).map(|seat| self.seat(seat)).collect();
        let method = method(&self.opening.method).unwrap();
        let resume = self.resume.clone();
        Floor::new(self.opening.clone(), method, seats, log, past, self.rules, resume)
    }

    fn seat(&self, seat: usize) -> Seat {
        let (script, info) = (self.script.clone(), self.opening.seats[seat].clone());
        let name = info.name.clone();
        let model = Scripted::from_fn(&info.model, move |ask, nth| {
            script(&Call { seat, name: &name, ask, heard: hear(ask), nth })
        });
        let model = Arc::new(model.on(&self.stage));
        Seat {
            index: seat,
            name: info.name,
            stance: info.stance,
            model,
            price: self.price.clone(),
            window: Window {
                tokens: info.context_tokens.unwrap_or(self.window),
                ..Window::UNKNOWN
            },
        }
    }
}

/// A voice that does what it is asked, and tells how much it was given to read.
pub(crate) fn voice(call: &Call) -> String {
    let (name, count) = (call.name, call.heard.quotes.len());
    if call.heard.labels.is_empty() {
        let list = format!("1. {name}'s first idea\n2. {name}'s second idea\n");
        let list = if call.heard.plain.contains("numbered list") { list } else { String::new() };
        return format!("{list}{name} read {count}");
    }
    let lines = call.heard.labels.iter().filter_map(|label| {
        let text = said_under(label, name, count)?;
        Some(format!("{label}: {text}\n"))
    });
    lines.collect::<String>().trim_end().to_string()
}

fn said_under(label: &str, name: &str, count: usize) -> Option<String> {
    let last = label.split(' ').next_back().unwrap_or_default();
    Some(match label {
        "CONSENSUS" | "APORIA" | "CONVERGENCE" | "ALIGNMENT" => "YES".into(),
        "CONFIDENCE" => "HIGH 80".into(),
        "IDEA 4" | "IDEA 5" | "ALTERNATIVE D" => return None,
        "ESTIMATE" | "REVISED ESTIMATE" => format!("{count} weeks"),
        "SCORES" => "\n| | A | B | C | D |\n|-|-|-|-|-|\n| 1 | 8 | 6 | 4 | 2 |".into(),
        _ if label.starts_with("PICK") => format!("{last}, says {name}"),
        _ if label.starts_with("ALTERNATIVE ") => format!("Plan {last}: a plan of {name}"),
        _ if label.starts_with("CRITERION") => format!("Cost {last}: a cost of {name}"),
        _ => format!("{} by {name} who read {count}", label.to_lowercase()),
    })
}

/// A log in memory, on the test's clock.
#[derive(Clone)]
pub(crate) struct Record {
    events: Arc<Mutex<Vec<Event>>>,
    start: Instant,
}

impl Record {
    pub fn new(before: &[Event]) -> Record {
        Record { events: Arc::new(Mutex::new(before.to_vec())), start: Instant::now() }
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

impl Log for Record {
    fn append(&self, what: What) -> BoxFuture<'_, Result<()>> {
        let mut events = self.events.lock().unwrap();
        let at_ms = self.start.elapsed().as_millis() as u64;
        let seq = events.len() as u64;
        events.push(Event { seq, run: "r".into(), at_ms, what });
        async { Ok(()) }.boxed()
    }
}

/// A log as lines: phases, who spoke as what and said what, pauses, and how it ended.
pub(crate) fn render(events: &[Event]) -> String {
    let lines = events.iter().filter_map(|event| match &event.what {
        What::PhaseStarted { phase, total, name, participants } => {
            Some(format!("== {phase}/{total} {name}: {}", participants.join(" ")))
        }
        What::PhaseEnded { phase, next, .. } => Some(format!("-- {phase} to {next}")),
        What::PauseEnded { phase, timed_out } => {
            let how = if *timed_out { "timed out" } else { "ended" };
            Some(format!("-- pause before {phase} {how} at {} ms", event.at_ms))
        }
        What::TurnEnded { by, outcome } => {
            let speech = match by.speech {
                Speech::Message => String::new(),
                speech => format!(" {}", format!("{speech:?}").to_lowercase()),
            };
            let role = by.role.iter().chain(&by.round).map(|word| format!(" {word}"));
            let sign = if by.parallel { "&" } else { "" };
            Some(format!(
                "{sign}{}{speech}{}: {}",
                by.name,
                role.collect::<String>(),
                in_words(outcome)
            ))
        }
        What::TurnInterrupted { turn } => Some(format!("-- turn {turn} interrupted")),
        What::RunResumed { kept, .. } => Some(format!("-- resumed with {kept} turns")),
        What::RunEnded { ending, .. } => Some(match ending {
            Ending::Failed(failure) => format!("=> {}: {}", failure.kind, failure.message),
            ending => format!("=> {ending:?}").to_lowercase(),
        }),
        What::RunStarted(_)
        | What::PauseStarted { .. }
        | What::TurnStarted(_)
        | What::TurnNoted { .. }
        | What::TurnDelta { .. }
        | What::AnswerChecked(_)
        | What::LabelsSealed(_)
        | What::PlansJudged(_)
        | What::PlanSettled(_)
        | What::Warned { .. } => None,
    });
    lines.map(|line| line + "\n").collect()
}

fn in_words(outcome: &Outcome) -> String {
    let said = match outcome {
        Outcome::Failed(failure) => return format!("FAILED {}: {}", failure.kind, failure.message),
        Outcome::Said(said) => said,
    };
    match &said.parts {
        Parts::Plain => said.text.replace('\n', " / "),
        Parts::Critique { agreements, disagreements, missing } => {
            format!("{agreements} | {disagreements} | {missing}")
        }
        Parts::Position { position, confidence } => format!("{position} | {}", sure(*confidence)),
        Parts::Estimate { estimate, unchanged, confidence } => {
            let unchanged = if *unchanged { " (unchanged)" } else { "" };
            format!("{estimate}{unchanged} | {}", sure(*confidence))
        }
        Parts::Synthesis(synthesis) => show(synthesis),
    }
}

fn sure(confidence: Option<Confidence>) -> String {
    confidence.map_or("-".into(), |c| format!("{:?} {}", c.level, c.score))
}

/// A synthesis, field by field.
pub(crate) fn show(synthesis: &Synthesis) -> String {
    let Synthesis { consensus, agreed, synthesis: text, differences, .. } = synthesis;
    let mut lines = vec![
        format!("{} after {}", consensus.as_deref().unwrap_or("-"), synthesis.messages),
        format!("synthesis: {}", text.replace('\n', " / ")),
        format!("differences: {differences}"),
    ];
    lines.extend((!agreed.is_empty()).then(|| format!("agreed: {agreed}")));
    let more = synthesis.more.iter();
    lines.extend(more.map(|more| format!("{}: {}", more.name, more.text.replace('\n', " / "))));
    let sure = synthesis.confidences.iter().map(|s| format!("{} {}", s.name, s.confidence.score));
    let sure: Vec<String> = sure.collect();
    lines.extend((!sure.is_empty()).then(|| format!("sure: {}", sure.join(", "))));
    lines.extend(synthesis.debated.then(|| "by one who debated".to_string()));
    lines.join("\n   ")
}

/// How a run ended.
pub(crate) fn ending(events: &[Event]) -> &Ending {
    match &events.last().expect("a run has events").what {
        What::RunEnded { ending, .. } => ending,
        other => panic!("a run ends with its end, not {other:?}"),
    }
}

/// The synthesis of a run.
pub(crate) fn synthesis(events: &[Event]) -> Option<Synthesis> {
    events.iter().rev().find_map(|event| match &event.what {
        What::TurnEnded { outcome: Outcome::Said(said), .. } => match &said.parts {
            Parts::Synthesis(synthesis) => Some(*synthesis.clone()),
            _ => None,
        },
        _ => None,
    })
}

/// How a run ended, as a line.
pub(crate) fn last_line(events: &[Event]) -> String {
    render(events).lines().next_back().unwrap_or_default().to_string()
}

/// Whether a call is the one that concludes.
pub(crate) fn is_synthesis(call: &Call) -> bool {
    is_synthesis_ask(call.ask)
}

pub(crate) fn is_synthesis_ask(ask: &Ask) -> bool {
    hear(ask).plain.contains("You conclude, for the person")
}
