//! What a run comes to, read from its events: who sat there, who said what, and how it ended.

use super::words;
use althing_assembly::event::{
    Ending, Event, Failure, Fitted, Note, Opening, Outcome, Parts, Said, SeatInfo, Settled,
    Sureness, Synthesis, Totals, Turn, What,
};
use althing_assembly::measure;
use althing_chat::Called;
use althing_stdx::{Fault, Result};
use serde::Serialize;

/// A whole run, as a person wants to read it. It may still go on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    pub run: String,
    pub question: String,
    pub method: String,
    /// Names of the files given along.
    pub context: Vec<String>,
    /// The run this one goes on from.
    pub continues: Option<String>,
    pub started_at_ms: u64,
    /// When its last event happened.
    pub updated_at_ms: u64,
    /// How often it went on after a stop.
    pub resumed: u32,
    pub seats: Vec<SeatInfo>,
    pub phases: Vec<Phase>,
    /// Tokens and money; so far, where the run has no end.
    pub totals: Totals,
    /// None: it runs, or it stopped without an end.
    pub ending: Option<Ending>,
    /// What a council came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<Settled>>,
    /// What there is to know about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A part of the discussion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    pub number: u32,
    pub name: String,
    /// In the order in which they were asked.
    pub lines: Vec<Line>,
}

/// One turn and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    pub by: Turn,
    /// A scripted voice, not a model.
    pub demo: bool,
    /// Functions that were called for it on the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Called>,
    /// What its prompt left out, where that was more than before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Box<Fitted>>,
    pub heard: Heard,
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    Said(Box<Said>),
    Failed(Failure),
    /// The run stopped in the middle of it, or it is still going on.
    Unfinished {
        so_far: String,
    },
}

/// A labelled piece of a speech; a plain one has no label.
#[derive(Debug, Clone, PartialEq)]
pub struct Section<'a> {
    pub label: Option<&'a str>,
    pub text: &'a str,
}

impl Account {
    /// Reads a run's events, from its first on.
    pub fn of(events: &[Event]) -> Result<Account> {
        let [Event { what: What::RunStarted(opening), run, at_ms, .. }, rest @ ..] = events else {
            return Err(Fault::internal("the run's log does not begin with its start"));
        };
        let mut account = Account::begin(run, *at_ms, opening);
        for event in rest {
            account.updated_at_ms = event.at_ms;
            account.take(&event.what);
        }
        Ok(account)
    }

    /// What the table came to, and who wrote it down.
    pub fn synthesis(&self) -> Option<(&Line, &Synthesis)> {
        self.lines().filter_map(|line| Some((line, line.synthesis()?))).last()
    }

    /// How sure each seat was at the end.
    pub fn confidences(&self) -> &[Sureness] {
        self.synthesis().map_or(&[], |(_, synthesis)| synthesis.confidences.as_slice())
    }

    /// Mean of the confidences, 0 to 100.
    pub fn confidence_mean(&self) -> Option<u8> {
        measure::mean(self.confidences())
    }

    /// Whether a scripted voice sat at the table.
    pub fn has_demo(&self) -> bool {
        self.seats.iter().any(|seat| seat.demo)
    }

    /// Every turn, phase by phase.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.phases.iter().flat_map(|phase| &phase.lines)
    }

    fn begin(run: &str, at_ms: u64, opening: &Opening) -> Account {
        Account {
            run: run.to_string(),
            question: opening.question.clone(),
            method: opening.method.clone(),
            context: opening.context.iter().map(|file| file.name.clone()).collect(),
            continues: opening.continues.as_ref().map(|earlier| earlier.run.clone()),
            started_at_ms: at_ms,
            updated_at_ms: at_ms,
            resumed: 0,
            seats: opening.seats.clone(),
            phases: Vec::new(),
            totals: Totals::default(),
            ending: None,
            plan: None,
            warnings: Vec::new(),
        }
    }

    fn take(&mut self, what: &What) {
        match what {
            What::RunResumed { .. } => {
                self.resumed += 1;
                self.ending = None;
            }
            What::PhaseStarted { phase, name, .. } => {
                self.phase(*phase).name.clone_from(name);
            }
            What::TurnStarted(turn) => {
                self.line(turn);
            }
            What::TurnDelta { turn, text, reasoning: false } => {
                if let Some(Line { heard: Heard::Unfinished { so_far }, .. }) = self.open(*turn) {
                    so_far.push_str(text);
                }
            }
            What::TurnNoted { turn, note: Note::Called(called) } => {
                if let Some(line) = self.open(*turn) {
                    line.calls.push(called.clone());
                }
            }
            // A prompt may be fitted twice: the second time it leaves out more.
            What::TurnNoted { turn, note: Note::Fitted(fitted) } => {
                if let Some(line) = self.open(*turn) {
                    line.left_out = Some(fitted.clone());
                }
            }
            What::TurnEnded { by, outcome } => {
                self.totals.add(outcome);
                self.line(by).heard = match outcome {
                    Outcome::Said(said) => Heard::Said(said.clone()),
                    Outcome::Failed(failure) => Heard::Failed(failure.clone()),
                };
            }
            What::RunEnded { ending, totals } => {
                self.ending = Some(ending.clone());
                self.totals = *totals;
            }
            What::RunStarted(_)
            | What::PhaseEnded { .. }
            | What::PauseStarted { .. }
            | What::PauseEnded { .. }
            | What::TurnNoted { .. }
            | What::TurnDelta { .. }
            | What::TurnInterrupted { .. }
            | What::AnswerChecked(_)
            | What::LabelsSealed(_)
            | What::PlansJudged(_) => {}
            What::PlanSettled(settled) => self.plan = Some(settled.clone()),
            What::Warned { code, message } => self.warnings.push(format!("{code}: {message}")),
        }
    }

    /// The turn with this number.
    fn open(&mut self, turn: u32) -> Option<&mut Line> {
        let mut lines = self.phases.iter_mut().flat_map(|phase| &mut phase.lines).rev();
        lines.find(|line| line.by.turn == turn)
    }

    fn phase(&mut self, number: u32) -> &mut Phase {
        let at = self.phases.iter().position(|phase| phase.number == number);
        let at = at.unwrap_or_else(|| {
            self.phases.push(Phase { number, name: String::new(), lines: Vec::new() });
            self.phases.len() - 1
        });
        &mut self.phases[at]
    }

    fn line(&mut self, turn: &Turn) -> &mut Line {
        let demo = self.seats.get(turn.seat).is_some_and(|seat| seat.demo);
        let lines = &mut self.phase(turn.phase).lines;
        let at = lines.iter().position(|line| line.by.turn == turn.turn).unwrap_or_else(|| {
            let heard = Heard::Unfinished { so_far: String::new() };
            lines.push(Line { by: turn.clone(), demo, calls: vec![], left_out: None, heard });
            lines.len() - 1
        });
        &mut lines[at]
    }
}

impl Line {
    /// Who speaks, with the demo mark, the role and the round.
    pub fn title(&self) -> String {
        let mut title = self.by.name.clone();
        if self.demo {
            title.push_str(" (demo)");
        }
        for more in [&self.by.role, &self.by.round].into_iter().flatten() {
            title.push_str(", ");
            title.push_str(more);
        }
        title
    }

    /// What was said, part by part; empty parts are left out.
    pub fn sections(&self) -> Vec<Section<'_>> {
        let said = match &self.heard {
            Heard::Said(said) => said,
            Heard::Failed(_) => return Vec::new(),
            Heard::Unfinished { so_far } => return written([(None, so_far.as_str())]),
        };
        let sections = match &said.parts {
            Parts::Plain => Vec::new(),
            Parts::Critique { agreements, disagreements, missing } => written([
                (Some("Agreements"), agreements.as_str()),
                (Some("Disagreements"), disagreements),
                (Some("Missing"), missing),
            ]),
            Parts::Position { position, .. } if position.is_empty() => Vec::new(),
            Parts::Position { position, .. } => written([(Some("Position"), position.as_str())]),
            Parts::Estimate { estimate, .. } => written([(Some("Estimate"), estimate.as_str())]),
            Parts::Synthesis(parts) => synthesis_sections(parts),
        };
        if sections.is_empty() { written([(None, said.text.as_str())]) } else { sections }
    }

    /// What there is to say about the turn besides its text.
    pub fn remarks(&self) -> Vec<String> {
        let left_out = self.left_out.as_deref().map(words::describe_left_out);
        let calls = self.calls.iter().map(words::called);
        let mut remarks: Vec<String> = left_out.into_iter().chain(calls).collect();
        let said = match &self.heard {
            Heard::Said(said) => said,
            Heard::Failed(failure) => {
                remarks.push(words::failure(failure));
                return remarks;
            }
            Heard::Unfinished { .. } => {
                remarks.push("not finished".into());
                return remarks;
            }
        };
        if let Parts::Estimate { unchanged: true, .. } = said.parts {
            remarks.push("unchanged".into());
        }
        if let Parts::Position { confidence: Some(stated), .. }
        | Parts::Estimate { confidence: Some(stated), .. } = said.parts
        {
            remarks.push(format!("confidence {}", words::confidence(stated)));
        }
        for call in &said.tool_calls {
            remarks.push(format!("asks for {} with {}", call.name, call.arguments));
        }
        remarks.extend(words::list_shortfalls(said));
        remarks
    }

    /// The synthesis, where this is one.
    pub fn synthesis(&self) -> Option<&Synthesis> {
        match &self.heard {
            Heard::Said(said) => match &said.parts {
                Parts::Synthesis(synthesis) => Some(synthesis),
                _ => None,
            },
            _ => None,
        }
    }
}

fn synthesis_sections(parts: &Synthesis) -> Vec<Section<'_>> {
    let more = parts.more.iter().map(|more| (Some(more.name.as_str()), more.text.as_str()));
    let own = [
        (Some("Consensus"), parts.consensus.as_deref().unwrap_or("not stated")),
        (Some("Agreed"), &parts.agreed),
        (Some("Synthesis"), &parts.synthesis),
        (Some("Differences"), &parts.differences),
    ];
    written(own.into_iter().chain(more))
}

fn written<'a>(parts: impl IntoIterator<Item = (Option<&'a str>, &'a str)>) -> Vec<Section<'a>> {
    let sections = parts.into_iter().map(|(label, text)| Section { label, text });
    sections.filter(|section| !section.text.trim().is_empty()).collect()
}
