//! Plans and verdicts for tests.

use super::super::{PLANNERS_MAX, Terms};
use crate::event::{Ending, Event, Outcome, What};
use crate::methods::tests::kit::{self as methods, Call, Table};
use althing_testkit::Step;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) fn task(title: &str, dependencies: &[&str]) -> Value {
    json!({
        "title": title, "description": "Because it is needed", "steps": ["Begin", "End"],
        "inputs": [], "outputs": ["A result"], "dependencies": dependencies,
        "acceptance_criteria": ["It is done"], "complexity": 3
    })
}

/// A whole plan with this summary.
pub(crate) fn plan(summary: &str) -> Value {
    json!({
        "summary": summary,
        "phases": [{ "name": "Work", "goal": "Everything is done", "tasks": [task("Do it", &[])] }],
        "risks": ["It may take long"], "edge_cases": ["Nothing to do"], "tests": ["Try it"],
        "assumptions": [], "rollback": ["Undo it"]
    })
}

/// A verdict with a score for each label.
pub(crate) fn verdict(labels: &[&str], selected: &str) -> Value {
    let score = |label: &&str| {
        json!({
            "label": label, "score": 6, "rationale": "Solid", "strengths": [], "weaknesses": []
        })
    };
    json!({
        "scores": labels.iter().map(score).collect::<Vec<Value>>(),
        "comparative_analysis": "They differ little", "missing_steps": [], "contradictions": [],
        "improvements": [], "selected_plan": selected,
        "merged_plan": {
            "overview": "The best of all", "testing": ["Try it"], "risks": ["It may take long"],
            "rollback": ["Undo it"], "edge_cases": [],
            "phases": [{ "name": "Work", "goal": "Done", "tasks": [task("Do it", &[])] }]
        }
    })
}

/// A council of so many planners and a judge behind them.
pub(super) fn table(planners: usize, change: impl FnOnce(&mut Terms)) -> Table {
    let mut table = methods::table("council", planners + 1);
    let mut terms = Terms {
        task: json!({ "task": "Move the shop", "constraints": ["no downtime"] }),
        seed: 7,
        attempt_ms: 60_000,
        budget_ms: 600_000,
        plans_max: PLANNERS_MAX,
        fallback: true,
        left_out: vec![],
        notes: vec![],
        names: vec![],
        folders: vec![],
    };
    change(&mut terms);
    table.opening.council = Some(Box::new(terms));
    table.rules.turn_max = Duration::from_secs(3600);
    table
}

/// What a voice does by itself: a planner plans, the judge prefers the first plan it reads.
pub(super) fn good(call: &Call) -> Vec<Step> {
    if call.heard.plain.contains("judge_output") {
        let labels: Vec<&str> = call.heard.quotes.iter().map(|(label, _)| label.as_str()).collect();
        return say(verdict(&labels, labels[0]));
    }
    say(plan(&format!("The plan of number {}", call.seat)))
}

pub(super) fn say(value: Value) -> Vec<Step> {
    vec![Step::SayText(value.to_string())]
}

/// The log of a council as lines.
pub(super) fn render(events: &[Event]) -> String {
    let line = |event: &Event| {
        let at = event.at_ms;
        Some(match &event.what {
            What::TurnStarted(turn) => format!("{at} {} is asked", turn.name),
            What::TurnEnded { by, outcome: Outcome::Failed(it) } => {
                format!("{at} {} fails, {}: {}", by.name, it.kind, it.message)
            }
            What::AnswerChecked(it) if it.valid => {
                format!("{at} {} is valid at attempt {}: {}", it.name, it.attempt, it.summary)
            }
            What::AnswerChecked(it) => {
                let next = it.again.map_or("lost".to_string(), |it| format!("{it:?}"));
                format!("{at} {} is not valid: {} => {next}", it.name, it.errors.join("; "))
            }
            What::LabelsSealed(it) => {
                let labels = it.labels.iter().map(|it| format!("{} is {}", it.label, it.name));
                labels.collect::<Vec<_>>().join(", ")
            }
            What::PlansJudged(it) => {
                let how = if it.fallback { "the score" } else { "the judge" };
                format!("{how} selects {}", it.selected)
            }
            What::PlanSettled(it) => format!("=> {}", it.plan["final_plan"]["overview"]),
            What::Warned { code, message } => format!("! {code}: {message}"),
            What::RunEnded { ending: Ending::Failed(it), .. } => {
                format!("=> {}: {}", it.kind, it.message)
            }
            What::RunEnded { ending: Ending::Cancelled, .. } => "=> cancelled".into(),
            _ => return None,
        })
    };
    events.iter().filter_map(line).map(|line| line + "\n").collect()
}

/// The final plan of a run.
pub(super) fn settled(events: &[Event]) -> Option<Value> {
    events.iter().find_map(|event| match &event.what {
        What::PlanSettled(it) => Some(it.plan.clone()),
        _ => None,
    })
}
