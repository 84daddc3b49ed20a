//! A run on the screen, event by event. One voice at a time has the page: the first that speaks
//! keeps it to its end, the others are kept back and follow in the order in which they finished.

use super::flow::Flow;
use super::relabel::Relabel;
use super::status::{Status, Waiting};
use super::{BAD, DIM, Screen, heading, paragraph, seat_style};
use althing_assembly::event::{Event, Failure, Note, Opening, Outcome, Parts, Speech, Turn, What};
use althing_hub::export;
use std::collections::BTreeMap;
use std::time::Duration;

mod closing;
mod pen;

pub use closing::tool_calls;
use pen::Pen;

/// The screen's memory of a run.
pub struct Live {
    screen: Screen,
    status: Status,
    run: String,
    opening: Option<Opening>,
    turns: BTreeMap<u32, Voice>,
    page: Option<Page>,
    /// Finished or failed while another had the page, in that order.
    waiting: Vec<u32>,
}

/// Who has the page, and how it is written.
struct Page {
    turn: u32,
    pen: Pen,
}

/// A turn that is not over yet or not yet shown.
struct Voice {
    turn: Turn,
    asked_at_ms: u64,
    note: Option<String>,
    /// Text that came while another voice had the page.
    kept: String,
    /// What there is to say about it at its end: what its prompt left out, what was called.
    remarks: Vec<String>,
    is_begun: bool,
    outcome: Option<Outcome>,
}

impl Live {
    pub fn new(screen: Screen) -> Live {
        let (status, turns) = (Status::default(), BTreeMap::new());
        Live {
            screen,
            status,
            run: String::new(),
            opening: None,
            turns,
            page: None,
            waiting: vec![],
        }
    }

    /// What to print for an event.
    pub fn on(&mut self, event: &Event) -> String {
        let mut out = String::new();
        self.status.clear(&mut out);
        self.run.clone_from(&event.run);
        match &event.what {
            What::RunStarted(opening) => self.open(opening, &mut out),
            What::RunResumed { kept, .. } => {
                let turns = if *kept == 1 { "turn is" } else { "turns are" };
                self.line(&format!("Resumed: {kept} {turns} kept and not asked again."), &mut out);
            }
            What::PhaseStarted { phase, total, name, .. } => {
                if !self.is_plain() {
                    let title = format!("{phase}/{total} {name}");
                    out.push_str(&format!("\n{}\n", heading(self.screen, '─', &title)));
                }
            }
            What::PhaseEnded { .. } => {}
            // Not everybody who looks can end it; see `invite`.
            What::PauseStarted { .. } => {}
            What::PauseEnded { timed_out: true, .. } => {
                self.line("Nobody answered; going on.", &mut out)
            }
            What::PauseEnded { .. } => {}
            What::TurnStarted(turn) => self.ask(turn, event.at_ms),
            What::TurnNoted { turn, note } => self.note(*turn, note, &mut out),
            What::TurnDelta { turn, text, reasoning: false } => self.hear(*turn, text, &mut out),
            What::TurnDelta { turn, .. } => self.set_note(*turn, None),
            What::TurnEnded { by, outcome } => self.finish(by, outcome, &mut out),
            What::TurnInterrupted { turn } => self.interrupt(*turn, &mut out),
            // A council has a view of its own.
            What::AnswerChecked(_)
            | What::LabelsSealed(_)
            | What::PlansJudged(_)
            | What::PlanSettled(_) => {}
            What::Warned { message, .. } => self.line(message, &mut out),
            What::RunEnded { ending, totals } => {
                self.leave_page(&mut out);
                closing::ending(self, ending, totals, &mut out);
            }
        }
        out
    }

    /// What to print in a pause for somebody who can end it.
    pub fn invite(&self, phase: u32, timeout_ms: u64) -> String {
        let mut out = String::new();
        let minutes = timeout_ms.div_ceil(60_000);
        let text = format!("Enter goes on to phase {phase}; by itself in {minutes} min.");
        self.line(&text, &mut out);
        out
    }

    /// Redraws the status line while nobody has the page.
    pub fn tick(&mut self, now_ms: u64) -> String {
        let mut out = String::new();
        if self.page.is_none() {
            let thinking = self.turns.values().filter(|voice| voice.outcome.is_none());
            let waiting: Vec<Waiting> = thinking.map(|voice| voice.waiting(now_ms)).collect();
            self.status.draw(self.screen, &waiting, &mut out);
        }
        out
    }

    fn open(&mut self, opening: &Opening, out: &mut String) {
        self.opening = Some(opening.clone());
        if !self.is_plain() {
            closing::lineup(self, opening, out);
        }
    }

    /// One model alone: nothing but its answer.
    fn is_plain(&self) -> bool {
        self.opening.as_ref().is_some_and(|opening| opening.seats.len() == 1)
    }

    fn ask(&mut self, turn: &Turn, asked_at_ms: u64) {
        let voice = Voice {
            turn: turn.clone(),
            asked_at_ms,
            note: None,
            kept: String::new(),
            remarks: vec![],
            is_begun: false,
            outcome: None,
        };
        self.turns.insert(turn.turn, voice);
    }

    fn note(&mut self, turn: u32, note: &Note, out: &mut String) {
        match note {
            Note::Queued => self.set_note(turn, Some("waits in line".into())),
            Note::Started => self.set_note(turn, None),
            Note::Retrying(retry) => {
                let wait = Duration::from_millis(retry.wait_ms).as_secs_f32();
                let text = format!("{}, trying again in {wait:.1} s", retry.message);
                let name =
                    self.turns.get(&turn).map(|voice| voice.turn.name.clone()).unwrap_or_default();
                if !self.screen.live && !self.is_plain() {
                    self.line(&format!("{name}: {text}"), out);
                }
                self.set_note(turn, Some(text));
            }
            Note::Calling(call) => self.set_note(turn, Some(format!("calls {}", call.name))),
            Note::Called(called) => {
                self.set_note(turn, None);
                self.keep_remark(turn, export::called(called));
            }
            Note::Fitted(fitted) => self.keep_remark(turn, export::describe_left_out(fitted)),
        }
    }

    /// Keeps a remark for the end of the turn: somebody else may have the page.
    fn keep_remark(&mut self, turn: u32, remark: String) {
        if let Some(voice) = self.turns.get_mut(&turn) {
            voice.remarks.push(remark);
        }
    }

    fn set_note(&mut self, turn: u32, note: Option<String>) {
        if let Some(voice) = self.turns.get_mut(&turn) {
            voice.note = note;
        }
    }

    fn hear(&mut self, turn: u32, text: &str, out: &mut String) {
        let Some(voice) = self.turns.get_mut(&turn) else { return };
        voice.kept.push_str(text);
        // Into a file or a pipe only whole speeches go, except a single answer.
        if !self.screen.live && !self.is_plain() {
            return;
        }
        if self.page.is_none() {
            self.give_page(turn, out);
        }
        self.write_kept(turn, out);
    }

    fn give_page(&mut self, turn: u32, out: &mut String) {
        let (is_plain, screen) = (self.is_plain(), self.screen);
        let Some(voice) = self.turns.get_mut(&turn) else { return };
        voice.is_begun = true;
        if !is_plain {
            out.push_str(&format!("\n{}\n", voice.head(screen)));
        }
        let pen = match voice.turn.speech {
            // A pipe gets the answer as it is: it may be code.
            _ if is_plain && !screen.live => Pen::Raw { is_line_open: false },
            _ if is_plain => Pen::Wrapped(Flow::new(screen, "")),
            Speech::Synthesis => Pen::Headed(Flow::new(screen, "│ "), Relabel::new(screen.colour)),
            _ => Pen::Wrapped(Flow::new(screen, "  ")),
        };
        self.page = Some(Page { turn, pen });
    }

    fn write_kept(&mut self, turn: u32, out: &mut String) {
        let Some(page) = self.page.as_mut().filter(|page| page.turn == turn) else { return };
        let Some(voice) = self.turns.get_mut(&turn) else { return };
        page.pen.write(&std::mem::take(&mut voice.kept), out);
    }

    fn finish(&mut self, by: &Turn, outcome: &Outcome, out: &mut String) {
        let Some(voice) = self.turns.get_mut(&by.turn) else { return };
        voice.outcome = Some(outcome.clone());
        if !voice.is_begun
            && let Outcome::Said(said) = outcome
        {
            voice.kept.clone_from(&said.text);
        }
        match &self.page {
            Some(page) if page.turn != by.turn => self.waiting.push(by.turn),
            _ => {
                self.show_end(by.turn, out);
                self.next_page(out);
            }
        }
    }

    /// Shows a finished turn to its end.
    fn show_end(&mut self, turn: u32, out: &mut String) {
        let Some(voice) = self.turns.get_mut(&turn) else { return };
        let remarks = std::mem::take(&mut voice.remarks);
        let Some(outcome) = voice.outcome.clone() else { return };
        match outcome {
            Outcome::Said(said) => {
                if self.page.is_none() {
                    self.give_page(turn, out);
                }
                self.write_kept(turn, out);
                self.leave_page(out);
                self.remark(&remarks, out);
                out.push_str(&closing::tool_calls(&said));
                self.remark(&export::list_shortfalls(&said), out);
                if let Parts::Synthesis(synthesis) = &said.parts {
                    closing::verdict(self, synthesis, out);
                }
            }
            Outcome::Failed(failure) => {
                self.leave_page(out);
                self.lost(turn, &failure, out);
                self.remark(&remarks, out);
            }
        }
        self.turns.remove(&turn);
    }

    /// After a voice left the page: those that finished meanwhile, then one that is speaking.
    fn next_page(&mut self, out: &mut String) {
        for turn in std::mem::take(&mut self.waiting) {
            self.show_end(turn, out);
        }
        let speaking =
            self.turns.iter().find(|(_, voice)| voice.outcome.is_none() && !voice.kept.is_empty());
        if let Some(turn) = speaking.map(|(turn, _)| *turn).filter(|_| self.screen.live) {
            self.give_page(turn, out);
            self.write_kept(turn, out);
        }
    }

    fn leave_page(&mut self, out: &mut String) {
        if let Some(page) = self.page.take() {
            page.pen.end(out);
        }
    }

    fn lost(&mut self, turn: u32, failure: &Failure, out: &mut String) {
        // A single answer that fails is the command's own error, said once at the end.
        if self.is_plain() {
            return;
        }
        let Some(voice) = self.turns.get(&turn) else { return };
        let text = format!("✗ {} lost this turn: {}", voice.turn.name, failure.message);
        out.push_str(&format!("\n{}", paragraph(self.screen, BAD, &text)));
    }

    fn interrupt(&mut self, turn: u32, out: &mut String) {
        self.leave_page(out);
        if let Some(voice) = self.turns.remove(&turn) {
            self.line(
                &format!("{} was interrupted here; the turn is asked once more.", voice.turn.name),
                out,
            );
            self.remark(&voice.remarks, out);
        }
        self.next_page(out);
    }

    /// Writes what there is to say about a turn besides its text, a paragraph each.
    fn remark(&self, remarks: &[String], out: &mut String) {
        remarks.iter().for_each(|remark| self.line(&format!("({remark})"), out));
    }

    fn line(&self, text: &str, out: &mut String) {
        // One model alone: nothing but its answer goes into a pipe.
        if self.screen.live || !self.is_plain() {
            out.push_str(&format!("\n{}", paragraph(self.screen, DIM, text)));
        }
    }
}

impl Voice {
    fn head(&self, screen: Screen) -> String {
        let name = screen
            .paint(seat_style(self.turn.seat), &althing_stdx::text::one_line(&self.turn.name, 80));
        let role = [self.turn.role.as_deref(), self.turn.round.as_deref()];
        let role = role.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if role.is_empty() {
            name
        } else {
            format!("{name} {}", screen.paint(DIM, &format!("({role})")))
        }
    }

    fn waiting(&self, now_ms: u64) -> Waiting {
        let since = Duration::from_millis(now_ms.saturating_sub(self.asked_at_ms));
        Waiting { name: self.turn.name.clone(), since, note: self.note.clone() }
    }
}

#[cfg(test)]
mod tests;
