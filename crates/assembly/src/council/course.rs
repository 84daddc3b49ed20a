//! The course of a council: plan, seal, judge, settle. Deterministic given the answers, so a run that
//! stopped is held again with the stored ones and comes to the same plan.

mod judging;

use super::anonymise::{self, Veil};
use super::attempt::{Asked, Asker, Read};
use super::extract::{Extracted, extract, is_refusal};
use super::markdown::{Place, Remarks, markdown};
use super::merge::{self, Warning};
use super::plan::{self, Body, Final, Plan, Validation};
use super::schema::{self, Form};
use super::task::{self, Task};
use super::{PLANNER, Terms, prompt};
use crate::event::{Judgement, Labelled, Opening, Scored, Sealed, Settled, What};
use crate::floor::{Floor, Seat};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::join_all;
use serde_json::Value;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The part of the run's time that planners may take; the rest is the judge's.
const PLANNING_SHARE: f64 = 2.0 / 3.0;
/// What comes after the planners is not made ready before this: until then they are being started,
/// and that needs the processor more.
const PREPARE_AFTER: Duration = Duration::from_millis(30);

/// One council while it is held.
struct Council<'a> {
    floor: &'a Floor,
    terms: &'a Terms,
    task: Task,
    /// Our part of the prompts.
    own_words: String,
    began: Instant,
}

/// A valid plan.
struct Draft {
    seat: usize,
    plan: Value,
    /// Which of all turns it came with.
    rank: u64,
}

/// A plan as the judge sees it, and who wrote it.
struct Entry {
    label: String,
    seat: usize,
    name: String,
    value: Value,
    plan: Plan,
}

/// What was decided.
struct Decision {
    body: Body,
    judgement: Judgement,
    /// Names of those whose plans it is made of.
    used: Vec<String>,
}

pub(super) async fn run(floor: &Floor) -> Result<()> {
    let terms = floor.opening.council.as_deref();
    let terms =
        terms.ok_or_else(|| Fault::invalid("method: the council plans a task; use plan"))?;
    let task = task::read(&terms.task).map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        Fault::invalid(format!("task: {first}"))
    })?;
    let own_words = prompt::own_words(&task);
    let council = Council { floor, terms, task, own_words, began: Instant::now() };
    let mut warnings = Vec::new();
    floor.phase(1).await?;
    council.notes(&mut warnings).await?;
    let drafts = council.plan(&mut warnings).await?;
    let valid: Vec<usize> = drafts.iter().map(|draft| draft.seat).collect();
    floor.phase(2).await?;
    let (entries, sealed) = council.seal(drafts, &mut warnings).await?;
    let decision = council.judge(&entries, &sealed, &mut warnings).await?;
    floor.phase(3).await?;
    council.settle(&valid, &sealed, decision, warnings).await
}

impl Council<'_> {
    fn setting(&self) -> prompt::Setting<'_> {
        let Opening { language, mark, .. } = &self.floor.opening;
        prompt::Setting { task: &self.task, language: language.as_deref(), mark }
    }

    fn planners(&self) -> Vec<&Seat> {
        self.floor.role(PLANNER)
    }

    /// What is to be known from the start.
    async fn notes(&self, warnings: &mut Vec<Warning>) -> Result<()> {
        /// Codes of notes, which come from outside as text.
        const CODES: &[&str] =
            &["demo", "judge_wrote_a_plan", "files_left_out", "field_ignored", "lineup"];
        for (code, message) in &self.terms.notes {
            let code = CODES.iter().find(|known| *known == code).copied().unwrap_or("note");
            self.warn(warnings, Warning::new(code, message.clone())).await?;
        }
        if !self.terms.left_out.is_empty() {
            let message = self.terms.left_out.join("; ");
            self.warn(warnings, Warning::new("files_left_out", message)).await?;
        }
        Ok(())
    }

    async fn warn(&self, warnings: &mut Vec<Warning>, warning: Warning) -> Result<()> {
        let (code, message) = (warning.code.to_string(), warning.message.clone());
        warnings.push(warning);
        if self.floor.past().warned.contains(&(code.clone(), message.clone())) {
            return Ok(());
        }
        self.floor.append(What::Warned { code, message }).await
    }

    /// Every planner at once, each until its plan is valid or nothing more is worth a try.
    async fn plan(&self, warnings: &mut Vec<Warning>) -> Result<Vec<Draft>> {
        let planners = self.planners();
        let stored = planners.iter().filter(|seat| self.has_plan(seat)).count();
        // Sealed or full: what is stored is all there will be.
        let is_full = stored >= self.terms.plans_max;
        let enough = watch::Sender::new(false);
        let count = watch::Sender::new(stored);
        let asked = planners.iter().map(|seat| self.draft(seat, is_full, &enough, &count));
        // Everyone finishes before an error ends the run: what is paid for is kept.
        let asked = tokio::select! {
            asked = join_all(asked) => asked,
            never = prepare() => match never {},
        };
        let asked: Result<Vec<Asked<Extracted>>> = asked.into_iter().collect();
        let mut drafts = Vec::new();
        let (mut lost, mut late, mut out_of_time) = (Vec::new(), Vec::new(), false);
        let mut mended = Vec::new();
        for (seat, asked) in planners.iter().zip(asked?) {
            out_of_time |= asked.out_of_time;
            match asked.result {
                Ok((found, rank)) => {
                    mended.push((seat.name.clone(), found.repairs));
                    drafts.push(Draft { seat: seat.index, plan: found.value, rank });
                }
                Err(_) if asked.let_go => late.push(self.late(&seat.name)),
                Err(why) => lost.push(format!("{}: {why}", seat.name)),
            }
        }
        if drafts.is_empty() {
            let kind = if out_of_time { Kind::TimedOut } else { Kind::TooFew };
            let message = format!("no planner gave a valid plan ({})", lost.join("; "));
            return Err(Fault::new(kind, message));
        }
        for (name, repairs) in mended {
            self.tell_repairs(&name, &repairs, warnings).await?;
        }
        for why in lost {
            self.warn(warnings, Warning::new("planner_failed", why)).await?;
        }
        for warning in late {
            self.warn(warnings, warning).await?;
        }
        Ok(drafts)
    }

    /// Says what had to be mended to read the answer of `name`.
    async fn tell_repairs(
        &self,
        name: &str,
        repairs: &[String],
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if repairs.is_empty() {
            return Ok(());
        }
        let message = format!("{name}: its JSON was mended ({})", repairs.join("; "));
        self.warn(warnings, Warning::new("answer_mended", message)).await
    }

    fn late(&self, name: &str) -> Warning {
        let max = self.terms.plans_max;
        Warning::new("plan_left_out", format!("{name} was not among the first {max} to finish"))
    }

    /// Whether a valid plan of this seat is stored.
    fn has_plan(&self, seat: &Seat) -> bool {
        let said = self.floor.past().said(1, seat.index);
        said.iter().any(|(_, text)| matches!(self.read_plan(text), Read::Good { .. }))
    }

    async fn draft(
        &self,
        seat: &Seat,
        is_full: bool,
        enough: &watch::Sender<bool>,
        count: &watch::Sender<usize>,
    ) -> Result<Asked<Extracted>> {
        let was_stored = self.has_plan(seat);
        let asker = Asker {
            floor: self.floor,
            seat,
            role: PLANNER,
            attempt: Duration::from_millis(self.terms.attempt_ms),
            until: self.began + self.budget().mul_f64(PLANNING_SHARE),
            enough: enough.subscribe(),
            may_ask: self.floor.past().sealed.is_none() && !is_full,
            is_full,
            covered: &[],
        };
        let files = &self.floor.opening.context;
        let repository = prompt::Repository { files, left_out: &self.terms.left_out };
        let write = |how: &prompt::How| {
            prompt::planner(&self.setting(), &repository, seat.stance.as_deref(), how)
        };
        let asked = asker.ask(write, |text| self.read_plan(text)).await?;
        if asked.result.is_ok() && !was_stored {
            count.send_modify(|count| *count += 1);
            let is_enough = *count.borrow() >= self.terms.plans_max;
            enough.send_if_modified(|value| std::mem::replace(value, is_enough) != is_enough);
        }
        Ok(asked)
    }

    fn read_plan(&self, text: &str) -> Read<Extracted> {
        match extract(text, Form::CouncilPlan, &self.own_words) {
            Ok(found) => {
                let summary = found.value["summary"].as_str().unwrap_or_default().to_string();
                // A form that fits may still hold a number that no machine can.
                match plan::read::<Plan>(Form::CouncilPlan, &found.value) {
                    Ok(_) => Read::Good { value: found, summary },
                    Err(problems) => Read::Bad(problems),
                }
            }
            Err(_) if is_refusal(text) => Read::Refused,
            Err(problems) => Read::Bad(problems),
        }
    }

    fn budget(&self) -> Duration {
        Duration::from_millis(self.terms.budget_ms)
    }

    /// The first plans to be finished, in an order that says nothing about who wrote them, with
    /// everything covered that would.
    async fn seal(
        &self,
        mut drafts: Vec<Draft>,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Vec<Entry>, Sealed)> {
        drafts.sort_by_key(|draft| draft.rank);
        for late in drafts.iter().skip(self.terms.plans_max) {
            let warning = self.late(&self.floor.seats()[late.seat].name);
            self.warn(warnings, warning).await?;
        }
        drafts.truncate(self.terms.plans_max);
        drafts.sort_by_key(|draft| draft.seat);
        fastrand::Rng::with_seed(self.terms.seed.cast_unsigned()).shuffle(&mut drafts);
        let folders = self.terms.folders.iter().chain(&self.task.repo_context.root);
        let mut veil = Veil::new(&self.task.brief(false), self.names())
            .hiding(folders.map(String::as_str))
            .apart_from(drafts.iter().map(|draft| &draft.plan), &self.chosen_names());
        let mut entries = Vec::new();
        for (at, draft) in drafts.into_iter().enumerate() {
            let name = self.floor.seats()[draft.seat].name.clone();
            let value = veil.cover(&draft.plan);
            let plan = plan::read(Form::CouncilPlan, &value);
            let plan = plan.map_err(|_| Fault::internal("a covered plan has lost its form"))?;
            let label = format!("Plan {}", at + 1);
            entries.push(Entry { label, seat: draft.seat, name, value, plan });
        }
        let labels = entries.iter().map(|it| Labelled {
            label: it.label.clone(),
            seat: it.seat,
            name: it.name.clone(),
        });
        let labels = labels.collect();
        let plans: Vec<(String, Value)> =
            entries.iter().map(|it| (it.label.clone(), it.value.clone())).collect();
        let input = prompt::judge_input(&self.task, &plans);
        if let Some(problem) = Form::JudgeInput.problems(&input).first() {
            return Err(Fault::internal(format!("the judge's input: {problem}")));
        }
        let sealed = Sealed { seed: self.terms.seed, labels, redactions: veil.covered(), input };
        if self.floor.past().sealed.is_none() {
            self.floor.append(What::LabelsSealed(Box::new(sealed.clone()))).await?;
        }
        Ok((entries, sealed))
    }

    /// What people call their agents.
    fn chosen_names(&self) -> Vec<String> {
        self.task.agents.planners.iter().filter_map(|it| it.name.clone()).collect()
    }

    /// Everything an agent of this run is called.
    fn names(&self) -> Vec<String> {
        let seats = self.floor.seats().iter();
        let own = seats.flat_map(|seat| [seat.name.clone(), seat.model.id().to_string()]);
        let agents = &self.task.agents;
        let given = agents.planners.iter().chain(&agents.judge);
        let given = given.flat_map(|it| {
            let all = [&it.name, &it.kind, &it.cli, &it.type_name, &it.model];
            all.into_iter().flatten().chain(&it.fallback_models).cloned()
        });
        own.chain(given).chain(self.terms.names.iter().cloned()).collect()
    }

    async fn settle(
        &self,
        valid: &[usize],
        sealed: &Sealed,
        decision: Decision,
        warnings: Vec<Warning>,
    ) -> Result<()> {
        if self.floor.past().is_settled {
            return Ok(());
        }
        let planners = self.planners();
        let is_valid = |seat: &&Seat| (seat.name.clone(), valid.contains(&seat.index));
        let plans_valid = planners.iter().map(is_valid).collect();
        let judge_valid = !decision.judgement.fallback;
        let validation = Validation { task_spec_valid: true, plans_valid, judge_valid };
        let Decision { body, judgement, used } = decision;
        let plan = merge::finish(body, &sealed.redactions, used, validation, &warnings)?;
        let whole: Final = serde_json::from_value(plan.clone()).map_err(Fault::internal)?;
        let judgement = judging::in_plain_words(&judgement, &sealed.redactions)?;
        let places: Vec<Place> = judgement.scores.iter().map(|it| place(it, &judgement)).collect();
        let is_demo = self.floor.opening.seats.iter().any(|seat| seat.demo);
        let remarks = Remarks {
            missing_steps: &judgement.missing_steps,
            improvements: &judgement.improvements,
        };
        let markdown = markdown(&self.task.task, &whole, &places, &remarks, is_demo);
        self.floor.append(What::PlanSettled(Box::new(Settled { plan, markdown }))).await
    }
}

/// While the planners think, what comes after them is made ready; on a thread, since their answers
/// may come at any time. What is not ready by then is made when it is needed.
async fn prepare() -> Infallible {
    tokio::time::sleep(PREPARE_AFTER).await;
    let ready = || {
        schema::prepare();
        anonymise::prepare();
    };
    // Where it broke, it is made when it is needed, and breaks there.
    let _ = tokio::task::spawn_blocking(ready).await;
    std::future::pending().await
}

fn place(scored: &Scored, judgement: &Judgement) -> Place {
    Place {
        label: scored.label.clone(),
        name: scored.name.clone(),
        score: scored.score,
        is_selected: scored.label == judgement.selected,
        strengths: scored.strengths.clone(),
        weaknesses: scored.weaknesses.clone(),
    }
}
