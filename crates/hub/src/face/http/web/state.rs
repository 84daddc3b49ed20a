//! A council run as its page sees it: the state that `/ui/state` gives, and what changes in it with
//! each event of the log. Pure: the same log gives the same state, live or long after.

#[cfg(test)]
mod tests;

use crate::council::way_on;
use crate::export::{self, iso};
use althing_assembly::council::{JUDGE, PLANNER, merge};
use althing_assembly::event::{
    Checked, Ending, Judgement, Note, Opening, Outcome, Sealed, Turn, What,
};
use althing_assembly::{Event, council};
use althing_stdx::{Kind, text};
use serde::Serialize;
use serde_json::{Value, json};

/// What a page shows of one text; the log and the export have all of it.
const TEXT_CHARS_MAX: usize = 2000;

/// Everything about one run. No field is ever left out and none is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct State {
    pub run_id: String,
    pub task_brief: String,
    pub phase: Phase,
    /// The last phase that was begun: where a run stopped that has no plan.
    pub reached: Phase,
    /// The command with which a run that did not come to its plan goes on.
    pub resume: String,
    pub planners: Vec<Member>,
    pub judge: Member,
    /// Markdown.
    pub final_plan: String,
    pub errors: Vec<String>,
    pub timestamps: Timestamps,
    /// How the plans compare, once they were compared.
    pub scores: Vec<Score>,
    /// What the judge found in all plans together.
    pub missing_steps: Vec<String>,
    pub contradictions: Vec<String>,
    pub improvements: Vec<String>,
    pub warnings: Vec<Warning>,
    /// Scripted voices speak, not models.
    pub demo: bool,
    pub cost_usd: f64,
    /// The last event of the log that this state knows; `after` of `/ui/events`.
    pub sequence: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    /// There is no run.
    #[default]
    Idle,
    Starting,
    Planning,
    Judging,
    Finalizing,
    Complete,
    Failed,
    Cancelled,
}

impl Phase {
    fn is_over(self) -> bool {
        matches!(self, Phase::Complete | Phase::Failed | Phase::Cancelled)
    }
}

/// A planner or the judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Member {
    pub id: String,
    pub status: Status,
    pub summary: String,
    pub errors: Vec<String>,
    /// What its latest prompt left out, and whether its latest answer lacks its end.
    pub remarks: Vec<String>,
    pub model: String,
    /// From 1; 0 before the first.
    pub attempt: u32,
    /// When something last came from it.
    pub last_activity: String,
    /// Characters of the answer so far.
    pub chars: usize,
    /// As what the judge saw its plan.
    pub label: String,
    /// Its latest turn, by which the log names it between start and end.
    #[serde(skip)]
    turn: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Status {
    #[default]
    Pending,
    Running,
    Retrying,
    NeedsFix,
    Complete,
    Failed,
    Cancelled,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Timestamps {
    pub started_at: String,
    pub updated_at: String,
    pub completed_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Score {
    pub label: String,
    pub planner: String,
    pub score: f64,
    pub rationale: String,
    pub strengths: Vec<String>,
    pub weaknesses: Vec<String>,
    pub selected: bool,
    /// No judge could compare: a fixed score did.
    pub fallback: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Warning {
    pub code: String,
    /// The code for people.
    pub title: String,
    pub message: String,
}

/// What a page is told. The parts are read from the state when it is sent, so that many changes of
/// one part are one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Phase,
    Planner(usize),
    Judge,
    Plan,
}

impl State {
    /// Takes in one event; what of the state is different now.
    pub(super) fn take(&mut self, event: &Event) -> Vec<Change> {
        let now = iso(event.at_ms);
        self.sequence = event.seq as i64;
        self.timestamps.updated_at.clone_from(&now);
        match &event.what {
            What::RunStarted(opening) => self.open(&event.run, opening, now),
            What::RunResumed { .. } => self.resumed(),
            What::PhaseStarted { phase, .. } => self.enter(*phase),
            What::TurnStarted(turn) => self.started(turn, now),
            What::TurnNoted { turn, note } => self.noted(*turn, note, now),
            What::TurnDelta { turn, text, reasoning: false } => self.heard(*turn, text, now),
            What::TurnEnded { by, outcome } => self.ended(by, outcome, now),
            What::AnswerChecked(checked) => self.checked(checked),
            What::LabelsSealed(sealed) => self.sealed(sealed),
            What::PlansJudged(judgement) => self.judged(judgement),
            What::PlanSettled(settled) => {
                self.final_plan = text::printable(&settled.markdown);
                vec![Change::Plan]
            }
            What::Warned { code, message } => {
                let title = merge::Warning::title_of(code).to_string();
                let (code, message) = (code.clone(), shown(message));
                self.warnings.push(Warning { code, title, message });
                vec![Change::Phase]
            }
            What::RunEnded { ending, totals } => {
                self.cost_usd = totals.cost_usd;
                self.close(ending, now)
            }
            _ => vec![],
        }
    }

    /// The message about one part of the state, as the protocol has it.
    pub(super) fn message(&self, change: Change) -> Value {
        let (run_id, timestamp) = (&self.run_id, &self.timestamps.updated_at);
        let (kind, payload) = match change {
            Change::Phase => (
                "phase_change",
                json!({ "run_id": run_id, "phase": self.phase, "timestamp": timestamp,
                    "reached": self.reached, "resume": self.resume, "errors": self.errors, "warnings": self.warnings,
                    "timestamps": self.timestamps, "cost_usd": self.cost_usd }),
            ),
            Change::Planner(at) => (
                "planner_update",
                json!({ "run_id": run_id, "planner": self.planners.get(at),
                    "timestamp": timestamp }),
            ),
            Change::Judge => (
                "judge_update",
                json!({ "run_id": run_id, "judge": self.judge, "scores": self.scores,
                    "missing_steps": self.missing_steps, "contradictions": self.contradictions,
                    "improvements": self.improvements, "timestamp": timestamp }),
            ),
            Change::Plan => (
                "final_plan",
                json!({ "run_id": run_id, "final_plan": self.final_plan,
                    "errors": self.errors, "warnings": self.warnings, "timestamp": timestamp }),
            ),
        };
        json!({ "type": kind, "payload": payload })
    }

    /// What is never passed over when a part is told of: the phase, or the status of a member.
    pub(super) fn standing(&self, change: Change) -> Value {
        match change {
            Change::Phase => json!(self.phase),
            Change::Planner(at) => {
                let member = self.planners.get(at);
                json!(member.map(|it| (it.status, it.attempt)))
            }
            Change::Judge => json!((self.judge.status, self.judge.attempt, self.scores.len())),
            Change::Plan => Value::Null,
        }
    }

    /// The last event of `run` that is known; -1 where none is.
    pub(super) fn sequence_of(&self, run: &str) -> i64 {
        if self.run_id == run { self.sequence } else { -1 }
    }

    /// Nobody holds the run any more, and it has no end.
    pub(super) fn stopped(&mut self) -> bool {
        if self.phase.is_over() || self.phase == Phase::Idle {
            return false;
        }
        let is_news = self.resume.is_empty();
        if is_news {
            self.errors.push("the run stopped before its end".into());
            self.resume = format!("althing resume {}", self.run_id);
        }
        is_news
    }

    fn open(&mut self, run: &str, opening: &Opening, now: String) -> Vec<Change> {
        self.run_id = run.to_string();
        self.task_brief = text::printable(&opening.question);
        self.phase = Phase::Starting;
        self.reached = Phase::Starting;
        self.demo = opening.seats.iter().any(|seat| seat.demo);
        self.timestamps.started_at = now;
        let default = council::METHOD.default_roles(opening.seats.len());
        let roles = if opening.roles.is_empty() { &default } else { &opening.roles };
        let members = |role: &str| {
            let seats = roles.get(role).map(Vec::as_slice).unwrap_or_default();
            let seats = seats.iter().filter_map(|seat| opening.seats.get(*seat));
            seats.map(|seat| Member {
                id: seat.name.clone(),
                model: seat.model.clone(),
                ..Member::default()
            })
        };
        self.planners = members(PLANNER).collect();
        self.judge = members(JUDGE).next().unwrap_or_default();
        vec![Change::Phase]
    }

    fn resumed(&mut self) -> Vec<Change> {
        self.errors.clear();
        self.resume.clear();
        self.timestamps.completed_at.clear();
        let open = |member: &mut Member| {
            if !matches!(member.status, Status::Complete | Status::Failed) {
                member.status = Status::Pending;
            }
        };
        self.planners.iter_mut().chain([&mut self.judge]).for_each(open);
        if self.phase.is_over() {
            self.phase = Phase::Starting;
        }
        self.everything()
    }

    fn enter(&mut self, phase: u32) -> Vec<Change> {
        self.phase = match phase {
            1 => Phase::Planning,
            2 => Phase::Judging,
            _ => Phase::Finalizing,
        };
        self.reached = self.phase;
        vec![Change::Phase]
    }

    fn started(&mut self, turn: &Turn, now: String) -> Vec<Change> {
        self.change(turn.role.as_deref(), &turn.name, |member| {
            member.status = if turn.nth == 0 { Status::Running } else { Status::Retrying };
            // A run that goes on asks for the interrupted one once more.
            member.attempt = turn.nth + 1;
            member.turn = Some(turn.turn);
            member.chars = 0;
            member.remarks.clear();
            member.last_activity = now;
        })
    }

    fn noted(&mut self, turn: u32, note: &Note, now: String) -> Vec<Change> {
        self.of_turn(turn, |member| {
            member.last_activity = now;
            match note {
                Note::Retrying(retry) => member.errors = vec![shown(&retry.message)],
                // A prompt that is fitted again leaves out all of that and more.
                Note::Fitted(fitted) => member.remarks = vec![export::describe_left_out(fitted)],
                _ => {}
            }
        })
    }

    fn heard(&mut self, turn: u32, text: &str, now: String) -> Vec<Change> {
        self.of_turn(turn, |member| {
            member.chars += text.chars().count();
            member.last_activity = now;
        })
    }

    fn ended(&mut self, by: &Turn, outcome: &Outcome, now: String) -> Vec<Change> {
        let cost = match outcome {
            Outcome::Said(said) => said.cost_usd,
            Outcome::Failed(failure) => failure.cost_usd,
        };
        self.cost_usd += cost.unwrap_or_default();
        self.change(by.role.as_deref(), &by.name, |member| {
            member.last_activity = now;
            match outcome {
                Outcome::Said(said) => {
                    member.chars = said.text.chars().count();
                    member.remarks.extend(export::describe_cut(said).map(|it| shown(&it)));
                }
                Outcome::Failed(failure) if failure.kind == Kind::Cancelled => {
                    member.status = Status::Cancelled;
                    member.summary = shown(&failure.message);
                }
                Outcome::Failed(failure) => {
                    member.errors = vec![shown(&failure.message)];
                }
            }
        })
    }

    fn checked(&mut self, checked: &Checked) -> Vec<Change> {
        self.change(Some(&checked.role), &checked.name, |member| {
            member.errors = checked.errors.iter().map(|error| shown(error)).collect();
            if checked.valid {
                member.summary = shown(&checked.summary);
            }
            member.status = match (checked.valid, checked.again) {
                (true, None) => Status::Complete,
                (_, Some(_)) => Status::NeedsFix,
                (false, None) if member.status == Status::Cancelled => Status::Cancelled,
                (false, None) => Status::Failed,
            };
        })
    }

    fn sealed(&mut self, sealed: &Sealed) -> Vec<Change> {
        for labelled in &sealed.labels {
            let found = self.planners.iter_mut().find(|member| member.id == labelled.name);
            if let Some(member) = found {
                member.label.clone_from(&labelled.label);
            }
        }
        (0..self.planners.len()).map(Change::Planner).collect()
    }

    fn judged(&mut self, judgement: &Judgement) -> Vec<Change> {
        let scores = judgement.scores.iter().map(|scored| Score {
            label: scored.label.clone(),
            planner: scored.name.clone(),
            score: scored.score,
            rationale: shown(&scored.rationale),
            strengths: all_shown(&scored.strengths),
            weaknesses: all_shown(&scored.weaknesses),
            selected: scored.label == judgement.selected,
            fallback: judgement.fallback,
        });
        self.scores = scores.collect();
        self.missing_steps = all_shown(&judgement.missing_steps);
        self.contradictions = all_shown(&judgement.contradictions);
        self.improvements = all_shown(&judgement.improvements);
        if !judgement.analysis.is_empty() {
            self.judge.summary = shown(&judgement.analysis);
        }
        vec![Change::Judge]
    }

    fn close(&mut self, ending: &Ending, now: String) -> Vec<Change> {
        self.timestamps.completed_at = now;
        self.resume = way_on(&self.run_id, ending).unwrap_or_default();
        match ending {
            Ending::Completed => self.phase = Phase::Complete,
            Ending::Cancelled => self.phase = Phase::Cancelled,
            Ending::Failed(failure) => {
                self.phase = Phase::Failed;
                self.errors.push(shown(&failure.message));
            }
        }
        // Whom a run that is complete did not wait for was not needed.
        let left = if self.phase == Phase::Failed { Status::Failed } else { Status::Cancelled };
        let open = |status| {
            use Status::{NeedsFix, Pending, Retrying, Running};
            matches!(status, Pending | Running | Retrying | NeedsFix)
        };
        for member in self.planners.iter_mut().chain([&mut self.judge]) {
            // A judge nobody came to ask has not failed.
            if open(member.status) && (member.attempt > 0 || left == Status::Cancelled) {
                member.status = left;
            }
        }
        self.everything()
    }

    fn everything(&self) -> Vec<Change> {
        let planners = (0..self.planners.len()).map(Change::Planner);
        planners.chain([Change::Judge, Change::Phase]).collect()
    }

    fn change(
        &mut self,
        role: Option<&str>,
        name: &str,
        change: impl FnOnce(&mut Member),
    ) -> Vec<Change> {
        if role == Some(JUDGE) {
            change(&mut self.judge);
            return vec![Change::Judge];
        }
        let Some(at) = self.planners.iter().position(|member| member.id == name) else {
            return vec![];
        };
        change(&mut self.planners[at]);
        vec![Change::Planner(at)]
    }

    fn of_turn(&mut self, turn: u32, change: impl FnOnce(&mut Member)) -> Vec<Change> {
        if self.judge.turn == Some(turn) {
            change(&mut self.judge);
            return vec![Change::Judge];
        }
        let Some(at) = self.planners.iter().position(|member| member.turn == Some(turn)) else {
            return vec![];
        };
        change(&mut self.planners[at]);
        vec![Change::Planner(at)]
    }
}

fn all_shown(texts: &[String]) -> Vec<String> {
    texts.iter().map(|it| shown(it)).collect()
}

/// Text of somebody else, safe to show and not too long.
fn shown(text: &str) -> String {
    text::clip(&text::printable(text), TEXT_CHARS_MAX)
}
