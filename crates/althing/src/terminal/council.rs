//! A council on the screen: a line for everything a planner or the judge does, and the plan.

use super::status::{Status, Waiting};
use super::{BAD, DIM, GOOD, Screen, WARN, paragraph};
use crate::printer;
use althing_assembly::council::merge::Warning;
use althing_assembly::council::{JUDGE, PLANNER};
use althing_assembly::event::{
    Again, Checked, Ending, Event, Judgement, Note, Opening, Outcome, What,
};
use althing_hub::export;
use althing_stdx::redact::redact;
use althing_stdx::text::{one_line, printable};
use anstyle::Style;
use std::time::Duration;

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

/// Where no line can move, whoever still works is told after so much silence.
const SILENCE_MS_MAX: u64 = 30_000;

/// The screen's memory of a council.
pub struct Progress {
    /// Behind the lines of progress.
    screen: Screen,
    lines: Lines,
    began_ms: u64,
    /// When something was last told.
    told_ms: u64,
    /// Turns under way: number, name and beginning.
    turns: Vec<(u32, String, u64)>,
    status: Status,
}

impl Progress {
    /// `screen` is the one behind the lines of progress.
    pub fn new(screen: Screen, lines: Lines) -> Progress {
        let (turns, status) = (Vec::new(), Status::default());
        Progress { screen, lines, began_ms: 0, told_ms: 0, turns, status }
    }

    /// What is to be shown of those who work while nothing happens: a line that moves, or one from time
    /// to time.
    pub fn tick(&mut self, now_ms: u64) -> String {
        let mut out = String::new();
        let waiting = |(_, name, since): &(u32, String, u64)| Waiting {
            name: name.clone(),
            since: Duration::from_millis(now_ms.saturating_sub(*since)),
            note: None,
        };
        let waiting: Vec<Waiting> = self.turns.iter().map(waiting).collect();
        if self.screen.live {
            self.status.draw(self.screen, &waiting, &mut out);
        } else if !waiting.is_empty() && now_ms.saturating_sub(self.told_ms) >= SILENCE_MS_MAX {
            self.told_ms = now_ms;
            let voice = |it: &Waiting| format!("{} for {} s", it.name, it.since.as_secs());
            let voices: Vec<String> = waiting.iter().map(voice).collect();
            let seconds = now_ms.saturating_sub(self.began_ms) as f64 / 1000.0;
            let text = format!("{seconds:6.1} s  still working: {}", voices.join(", "));
            out.push_str(&paragraph(self.screen, DIM, &redact(&text)));
        }
        self.place(out)
    }

    /// Puts a text where the lines of progress go: what of it belongs to the output is given back.
    fn place(&self, text: String) -> String {
        match self.lines {
            Lines::Shown => text,
            Lines::Told => {
                printer::tell(text);
                String::new()
            }
        }
    }

    /// What to print for an event.
    pub fn on(&mut self, event: &Event) -> String {
        let line = self.line(event).map(|(style, text)| {
            let seconds = event.at_ms.saturating_sub(self.began_ms) as f64 / 1000.0;
            let text = redact(&one_line(&text, LINE_CHARS * 2));
            paragraph(self.screen, style, &format!("{seconds:6.1} s  {text}"))
        });
        self.forget_ended(event);
        let mut lines = String::new();
        self.status.clear(&mut lines);
        if let Some(line) = line {
            self.told_ms = event.at_ms;
            lines.push_str(&line);
        }
        let mut out = self.place(lines);
        if let What::PlanSettled(settled) = &event.what {
            out.push_str(&printable(&settled.markdown));
        }
        out
    }

    /// Who has ended works no more.
    fn forget_ended(&mut self, event: &Event) {
        match &event.what {
            What::TurnEnded { by, .. } => self.turns.retain(|(turn, ..)| *turn != by.turn),
            What::TurnInterrupted { turn: ended } => self.turns.retain(|(it, ..)| it != ended),
            What::RunEnded { .. } | What::RunResumed { .. } => self.turns.clear(),
            _ => {}
        }
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
                self.turns.push((turn.turn, turn.name.clone(), event.at_ms));
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
            What::Warned { code, message } => {
                Some((WARN, format!("{}: {message}", Warning::title_of(code))))
            }
            What::RunEnded { ending, totals } => {
                let style = if *ending == Ending::Completed { DIM } else { BAD };
                let ending = export::ending(Some(ending));
                Some((style, format!("{ending}; {}", export::totals(totals))))
            }
            _ => None,
        }
    }

    fn name(&self, turn: u32) -> Option<&str> {
        let asked = self.turns.iter().find(|(it, ..)| *it == turn);
        asked.map(|(_, name, _)| name.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(at_ms: u64, mut what: serde_json::Value) -> Event {
        (what["seq"], what["run"], what["at_ms"]) = (json!(0), json!("r1"), json!(at_ms));
        serde_json::from_value(what).unwrap()
    }

    fn turn(kind: &str) -> serde_json::Value {
        json!({ "type": kind, "turn": 3, "phase": 1, "seat": 0, "nth": 0, "model": "m",
            "name": "Ada", "speech": "answer", "role": PLANNER, "parallel": true })
    }

    #[test]
    fn who_works_is_told_while_nothing_happens() {
        let mut progress = Progress::new(Screen::plain(), Lines::Shown);
        assert!(progress.on(&event(1_000, turn("turn_started"))).contains("Ada: asked, attempt 1"));
        assert_eq!(progress.tick(2_000), "");
        assert!(progress.tick(31_000).ends_with("still working: Ada for 30 s\n"));
        assert_eq!(progress.tick(32_000), "", "told once");
        let screen = Screen { live: true, colour: false, columns: 40 };
        let mut progress = Progress::new(screen, Lines::Shown);
        progress.on(&event(1_000, turn("turn_started")));
        assert!(progress.tick(3_000).contains("Ada 2 s"));
        let mut ended = turn("turn_ended");
        ended["outcome"] = json!({ "failed": { "kind": "timed_out", "message": "late" } });
        assert_eq!(progress.on(&event(4_000, ended)), "\r\x1b[K", "the line is wiped");
        assert_eq!(progress.tick(5_000), "");
    }
}
