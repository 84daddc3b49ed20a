//! A discussion for a program that asks: among the voices this machine has, held by the service and
//! kept in the history like any other.

use super::Service;
use crate::book::Book;
use crate::discover;
use crate::export;
use crate::lineup::{self, Lineup};
use crate::runs::{Request, Run};
use althing_assembly::event::{Note, Outcome, Parts, Quoted, Speech, Synthesis, What};
use althing_assembly::{Event, Method};
use althing_chat::Attachment;
use althing_stdx::Result;
use std::time::Duration;

/// How long the providers' lists are waited for.
const PATIENCE: Duration = Duration::from_secs(4);

/// What a program wants discussed. What is none is as configured.
pub struct Discussion {
    pub question: String,
    /// What was said or given before the question.
    pub context: Vec<Quoted>,
    /// Pictures and documents that came with it.
    pub attachments: Vec<Attachment>,
    pub method: &'static Method,
    /// Empty: the configured line-up, else one chosen from what is found.
    pub models: Vec<String>,
    pub rounds: Option<u32>,
    pub language: Option<String>,
    pub max_cost_usd: Option<f64>,
}

/// A discussion that has begun. Dropping it does not end it; the run's control does.
pub struct Held {
    pub run: Run,
    /// What the person should know about who sits.
    pub notes: Vec<String>,
    /// Scripted voices speak, since there are no models.
    pub demo: bool,
}

impl Service {
    /// Begins a discussion.
    pub async fn discuss(&self, wanted: Discussion) -> Result<Held> {
        self.library.refresh().await?;
        let book = self.library.book();
        let lineup = self.seat(&wanted, &book).await?;
        let (mut notes, demo) = (lineup.notes.clone(), lineup.seats.iter().any(|seat| seat.demo));
        let config = &book.config;
        let runs = self.runs();
        let rounds = wanted.rounds.unwrap_or(*config.rounds_per_agent);
        let run = runs.start(Request {
            estimate_usd: estimate(&lineup, &wanted, rounds),
            question: wanted.question,
            context: wanted.context,
            attachments: wanted.attachments,
            method: wanted.method,
            lineup,
            roles: None,
            rounds,
            turns: None,
            synthesizer: *config.synthesizer,
            language: wanted.language.or_else(|| config.language.value.clone()),
            pause: None,
            max_cost_usd: Some(wanted.max_cost_usd.unwrap_or(*config.max_cost_usd)),
            continues: None,
            tools: vec![],
            workers: true,
            stream: true,
        });
        let run = run.await?;
        notes.extend(run.notes.iter().cloned());
        Ok(Held { run, notes, demo })
    }

    async fn seat(&self, wanted: &Discussion, book: &Book) -> Result<Lineup> {
        if !wanted.models.is_empty() && !lineup::needs_discovery(&wanted.models, book) {
            return lineup::resolve(&wanted.models, book, None);
        }
        let found = discover::discover(book, &self.gateway, PATIENCE).await;
        if wanted.models.is_empty() {
            return Ok(lineup::choose_for(&found, wanted.method, book));
        }
        lineup::resolve(&wanted.models, book, Some(&found))
    }
}

/// A part of the price would pass for the whole, so it is all or none.
fn estimate(lineup: &Lineup, wanted: &Discussion, rounds: u32) -> Option<f64> {
    let seats = lineup.seats.len();
    let calls = (wanted.method.calls)(seats, seats * rounds as usize);
    let context: usize = wanted.context.iter().map(|it| it.text.len()).sum();
    let beside: usize = wanted.attachments.iter().map(Attachment::as_chars).sum();
    let estimate = lineup::estimate(lineup, calls, wanted.question.len() + context + beside);
    estimate.usd.filter(|_| estimate.unpriced == 0)
}

/// What a program learns of an event while it waits, in one line.
pub fn progress(event: &Event) -> Option<String> {
    match &event.what {
        What::PhaseStarted { phase, total, name, .. } => {
            Some(format!("phase {phase} of {total}: {name}"))
        }
        What::TurnNoted { note: Note::Calling(call), .. } => Some(format!("calls {}", call.name)),
        What::TurnStarted(turn) => Some(format!("{} is thinking", turn.name)),
        What::TurnNoted { note: Note::Fitted(fitted), .. } => {
            Some(format!("{}: {}", fitted.model, export::describe_left_out(fitted)))
        }
        What::TurnEnded { by, outcome: Outcome::Said(said) } => {
            let lacks = export::list_shortfalls(said).join(", ");
            let lacks = if lacks.is_empty() { lacks } else { format!(" ({lacks})") };
            Some(format!("{} has spoken{lacks}", by.name))
        }
        What::TurnEnded { by, outcome: Outcome::Failed(failure) } => {
            Some(format!("{} failed: {}", by.name, failure.message))
        }
        What::AnswerChecked(it) => Some(match (it.valid, it.again) {
            (true, _) => format!("{}: valid", it.name),
            (false, Some(_)) => format!("{}: not valid, asked again", it.name),
            (false, None) => format!("{}: not valid", it.name),
        }),
        What::Warned { code, message } => Some(format!("{code}: {message}")),
        _ => None,
    }
}

/// What a finished discussion came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The synthesis.
    pub text: String,
    /// What belongs behind it: what is agreed and open, the verdict, and whether it was cut off.
    pub more: String,
    /// Whether the model was stopped before it had said all.
    pub is_cut: bool,
}

impl Conclusion {
    /// Reads it out of the event that has it.
    pub fn of(event: &Event) -> Option<Conclusion> {
        if let What::PlanSettled(settled) = &event.what {
            let (text, more) = (settled.markdown.clone(), String::new());
            return Some(Conclusion { text, more, is_cut: false });
        }
        let What::TurnEnded { by, outcome: Outcome::Said(said) } = &event.what else { return None };
        let (text, mut more) = match &said.parts {
            Parts::Synthesis(synthesis) => (&synthesis.synthesis, describe_verdict(synthesis)),
            _ if by.speech == Speech::Synthesis => (&said.text, String::new()),
            _ => return None,
        };
        if let Some(cut) = export::describe_cut(said) {
            more.push_str(&format!("\n\n(The synthesis is {cut}.)"));
        }
        Some(Conclusion { text: text.clone(), more, is_cut: export::cut_of(said).is_some() })
    }

    /// All of it as one text.
    pub fn into_text(self) -> String {
        self.text + &self.more
    }
}

fn describe_verdict(synthesis: &Synthesis) -> String {
    let mut text = String::new();
    let parts = [("Agreed", &synthesis.agreed), ("Open", &synthesis.differences)];
    for (title, part) in parts.into_iter().filter(|(_, part)| !part.trim().is_empty()) {
        text.push_str(&format!("\n\n{title}: {}", part.trim()));
    }
    let consensus = synthesis.consensus.as_deref().unwrap_or("not stated");
    text.push_str(&format!("\n\nConsensus: {consensus}"));
    text
}
