//! A council on the screen: a line for everything a planner or the judge does, and the plan.

use super::{BAD, DIM, GOOD, Screen, WARN, paragraph};
use althing_assembly::council::{JUDGE, PLANNER};
use althing_assembly::event::{
    Again, Checked, Ending, Event, Judgement, Note, Opening, Outcome, What,
};
use althing_hub::export;
use althing_stdx::redact::redact;
use althing_stdx::text::{one_line, printable};
use anstyle::Style;
use std::io::Write;

/// Characters of an error or a summary in a line.
const LINE_CHARS: usize = 300;

/// Where the lines of progress go. The plan goes to standard output in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Beside the output, so that the plan can be piped.
    Told,
    /// With the output.
    Shown,
}

/// The screen's memory of a council.
pub struct Progress {
    screen: Screen,
    lines: Lines,
    began_ms: u64,
    /// Names of turns under way.
    turns: Vec<(u32, String)>,
}

impl Progress {
    pub fn new(screen: Screen, lines: Lines) -> Progress {
        Progress { screen, lines, began_ms: 0, turns: Vec::new() }
    }

    /// What to print for an event.
    pub fn on(&mut self, event: &Event) -> String {
        let line = self.line(event).map(|(style, text)| {
            let seconds = event.at_ms.saturating_sub(self.began_ms) as f64 / 1000.0;
            let text = redact(&one_line(&text, LINE_CHARS * 2));
            paragraph(self.screen, style, &format!("{seconds:6.1} s  {text}"))
        });
        let mut out = String::new();
        match (self.lines, line) {
            (_, None) => {}
            (Lines::Shown, Some(line)) => out.push_str(&line),
            // Nobody left to tell if this fails.
            (Lines::Told, Some(line)) => drop(std::io::stderr().write_all(line.as_bytes())),
        }
        if let What::PlanSettled(settled) = &event.what {
            out.push_str(&printable(&settled.markdown));
        }
        out
    }

    fn line(&mut self, event: &Event) -> Option<(Style, String)> {
        let plain = Style::new();
        match &event.what {
            What::RunStarted(opening) => {
                self.began_ms = event.at_ms;
                Some((plain, lineup(&event.run, opening)))
            }
            What::RunResumed { kept, .. } => {
                self.began_ms = event.at_ms;
                let answers = if *kept == 1 { "answer is" } else { "answers are" };
                Some((plain, format!("Resumed: {kept} {answers} kept and not asked again.")))
            }
            What::PhaseStarted { name, .. } => Some((DIM, format!("== {name}"))),
            What::TurnStarted(turn) => {
                self.turns.push((turn.turn, turn.name.clone()));
                Some((plain, format!("{}: asked, attempt {}", turn.name, turn.nth + 1)))
            }
            What::TurnNoted { turn, note: Note::Retrying(retry) } => {
                let name = self.name(*turn)?;
                Some((DIM, format!("{name}: {}, again in {} ms", retry.message, retry.wait_ms)))
            }
            What::TurnNoted { turn, note: Note::Fitted(fitted) } => {
                let left_out = export::describe_left_out(fitted);
                Some((DIM, format!("{}: {left_out}", self.name(*turn)?)))
            }
            What::TurnEnded { by, outcome: Outcome::Said(said) } => {
                let cut = export::describe_cut(said)?;
                Some((WARN, format!("{}: {cut}", by.name)))
            }
            What::AnswerChecked(checked) => Some(verdict_on(checked)),
            What::LabelsSealed(sealed) => {
                let plans = if sealed.labels.len() == 1 { "plan goes" } else { "plans go" };
                Some((DIM, format!("{} anonymous {plans} to the judge", sealed.labels.len())))
            }
            What::PlansJudged(judgement) => Some((GOOD, judged(judgement))),
            What::Warned { code, message } => Some((WARN, format!("warning, {code}: {message}"))),
            What::RunEnded { ending, totals } => {
                let style = if *ending == Ending::Completed { DIM } else { BAD };
                let ending = export::ending(Some(ending));
                Some((style, format!("{ending}; {}", export::totals(totals))))
            }
            _ => None,
        }
    }

    fn name(&self, turn: u32) -> Option<&str> {
        let asked = self.turns.iter().find(|(it, _)| *it == turn);
        asked.map(|(_, name)| name.as_str())
    }
}

fn lineup(run: &str, opening: &Opening) -> String {
    let names = |role: &str| {
        let seats = opening.roles.get(role).map(Vec::as_slice).unwrap_or_default();
        let names = seats.iter().filter_map(|seat| opening.seats.get(*seat));
        names.map(|seat| seat.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    format!("Run {run}. Planners: {}. Judge: {}.", names(PLANNER), names(JUDGE))
}

fn verdict_on(checked: &Checked) -> (Style, String) {
    let Checked { name, .. } = checked;
    if checked.valid {
        return (GOOD, format!("{name}: ready: {}", one_line(&checked.summary, LINE_CHARS)));
    }
    let errors = one_line(&checked.errors.join("; "), LINE_CHARS);
    match checked.again {
        Some(Again::Stricter) => {
            (WARN, format!("{name}: not valid ({errors}); asked again with the errors"))
        }
        Some(Again::Reduced) => (WARN, format!("{name}: {errors}; asked again with less to read")),
        Some(Again::Same) => (WARN, format!("{name}: {errors}; asked again")),
        None => (BAD, format!("{name}: failed: {errors}")),
    }
}

fn judged(judgement: &Judgement) -> String {
    let scores = judgement.scores.iter().map(|it| {
        let mark = if it.label == judgement.selected { " (selected)" } else { "" };
        format!("{} by {} {:.1}{mark}", it.label, it.name, it.score)
    });
    let scores = scores.collect::<Vec<_>>().join(", ");
    let who = if judgement.fallback { "the score decides" } else { "the judge decides" };
    format!("{who}: {scores}")
}
