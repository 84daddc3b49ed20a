//! A plan and a verdict by a scripted voice: whole in form, and honest about knowing nothing.

use crate::council::plan::{Body, Phase, Plan, Score, Task, Verdict};
use crate::council::prompt::{PLAN_FORM, VERDICT_FORM};
use crate::council::score;
use crate::prompt::{Heard, hear};
use althing_chat::Ask;
use althing_stdx::text::one_line;

/// Characters of the task that are repeated.
const TOPIC_CHARS: usize = 120;

/// What a voice looks at first, by its stance: what it calls its way, its first step and its worry.
const WAYS: [(&str, &str, &str); 3] = [
    ("the smallest thing that works", "Build the smallest part that can be shown", "too little"),
    ("what could go wrong", "List what must not break and how to notice it", "too slow"),
    ("what else there is", "Compare two other ways before the first is taken", "too wide"),
];

/// The answer to a prompt of the council; none to any other.
pub(super) fn speak(ask: &Ask, stance: usize) -> Option<String> {
    let heard = hear(ask);
    if heard.plain.contains(&format!("Write a {PLAN_FORM}:")) {
        return serde_json::to_string_pretty(&plan(&heard, stance)).ok();
    }
    if heard.plain.contains(&format!("Write a {VERDICT_FORM}:")) {
        return serde_json::to_string_pretty(&verdict(&heard)?).ok();
    }
    None
}

fn plan(heard: &Heard, stance: usize) -> Plan {
    let (way, first, worry) = WAYS[stance % WAYS.len()];
    let task = heard.question.lines().next().unwrap_or_default();
    let topic = one_line(task.trim_start_matches("Task: "), TOPIC_CHARS);
    Plan {
        summary: format!(
            "A scripted demo plan for “{topic}”, looking at {way} first. No model has thought about it."
        ),
        phases: vec![
            phase(
                "Understand",
                "Everybody knows what done means",
                [
                    step("Write down what done means", "Agree on it with whoever asked", &[]),
                    step(first, "One short session, written down", &["Write down what done means"]),
                ],
            ),
            phase(
                "Do",
                "It is done and can be undone",
                [
                    step("Make the change in small steps", "Keep each step working", &[first]),
                    step(
                        "Check it and hand it over",
                        "Run every check twice",
                        &["Make the change in small steps"],
                    ),
                ],
            ),
        ],
        risks: vec![
            format!("Self-critique: this way may be {worry}"),
            "Self-critique: a scripted voice knows nothing of the task".into(),
        ],
        edge_cases: vec!["The task turns out to be two tasks".into()],
        tests: vec!["Whoever asked can see what was asked for".into()],
        assumptions: vec!["There is somebody to ask".into()],
        rollback: vec!["Undo the last small step".into()],
        open_questions: vec![],
    }
}

fn phase(name: &str, goal: &str, tasks: [Task; 2]) -> Phase {
    Phase { name: name.into(), goal: goal.into(), tasks: tasks.into() }
}

fn step(title: &str, how: &str, after: &[&str]) -> Task {
    Task {
        title: title.into(),
        description: format!("{title}, so that the next step stands on something."),
        steps: vec![how.into(), "Say when it is done".into()],
        inputs: vec![],
        outputs: vec!["A note of what was done".into()],
        dependencies: after.iter().map(|it| it.to_string()).collect(),
        acceptance_criteria: vec!["Somebody else can tell that it is done".into()],
        complexity: 2,
        locations: vec![],
        estimated_tokens: None,
    }
}

/// The plan that counts best stands; nothing is compared that a script could not count.
fn verdict(heard: &Heard) -> Option<Verdict> {
    let read = |(label, text): &(String, String)| {
        Some((label.clone(), serde_json::from_str::<Plan>(text).ok()?))
    };
    let (labels, plans): (Vec<String>, Vec<Plan>) = heard.quotes.iter().filter_map(read).unzip();
    let points = score::score(&plans, &[]);
    let best = score::best(&plans, &points)?;
    let scores = labels.iter().zip(&points).map(|(label, points)| Score {
        label: label.clone(),
        score: points.total(),
        rationale: "Counted by a script: form, tests, risks and length.".into(),
        strengths: vec![],
        weaknesses: vec!["A scripted voice wrote it".into()],
    });
    let merged = plans[best].clone().into_body();
    Some(Verdict {
        scores: scores.collect(),
        comparative_analysis: "A scripted demo voice counted sections and compared nothing else."
            .into(),
        missing_steps: vec![],
        contradictions: vec![],
        improvements: vec![],
        selected_plan: labels[best].clone(),
        merged_plan: Body { open_questions: vec![], ..merged },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::council::extract::extract;
    use crate::council::prompt::{self, How, Repository, Setting};
    use crate::council::schema::Form;
    use crate::council::{judge, task};

    #[test]
    fn every_voice_plans_and_judges_in_form() {
        let task = task::read(&serde_json::json!({ "task": "Move the shop to a new database" }));
        let task = task.unwrap();
        let own = prompt::own_words(&task);
        let setting = Setting { task: &task, language: None, mark: "bcdfgh" };
        let nothing = Repository::default();
        let ask = prompt::planner(&setting, &nothing, None, &How::Plain).ask_whole();
        let plans: Vec<_> = (0..3)
            .map(|stance| extract(&speak(&ask, stance).unwrap(), Form::CouncilPlan, &own).unwrap())
            .map(|found| found.value)
            .collect();
        assert!(plans.iter().all(|plan| plan["summary"].as_str().unwrap().contains("demo")));
        let plans: Vec<_> =
            plans.into_iter().enumerate().map(|(n, it)| (format!("Plan {}", n + 1), it)).collect();
        let ask = prompt::judge(&setting, &plans, &How::Plain).ask_whole();
        let labels: Vec<String> = plans.iter().map(|(label, _)| label.clone()).collect();
        let judged = judge::read(&speak(&ask, 0).unwrap(), &labels, &own).unwrap();
        assert_eq!(judged.flaws, []);
        assert_eq!(speak(&Ask::new("", "What is new?"), 0), None);
    }
}
