//! The final plan for a person to read. The texts are a model's: each stays on its own line, and
//! makes no link, image or tag.

use super::merge::Warning;
use super::plan::{Body, Final, Task};
use althing_stdx::text::{one_line, printable};

/// Characters of the title; the task may be pages long.
const TITLE_CHARS: usize = 120;
/// Characters of one item.
const ITEM_CHARS: usize = 8_000;

/// How a plan was placed, for the table at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub label: String,
    pub name: String,
    pub score: f64,
    pub is_selected: bool,
    pub strengths: Vec<String>,
    pub weaknesses: Vec<String>,
}

/// What the judge said of all plans together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Remarks<'a> {
    pub missing_steps: &'a [String],
    pub improvements: &'a [String],
}

/// The plan as Markdown.
pub fn markdown(
    task: &str,
    plan: &Final,
    places: &[Place],
    remarks: &Remarks,
    is_demo: bool,
) -> String {
    let mut out = format!("# Plan: {}\n", item(&one_line(task, TITLE_CHARS)));
    if is_demo {
        out.push_str("\n_Scripted demo voices wrote this; they know nothing of the task._\n");
    }
    body(&mut out, &plan.final_plan);
    origin(&mut out, plan, places);
    section(&mut out, "Missing in the plans that were compared", remarks.missing_steps);
    section(&mut out, "What the merge improved", remarks.improvements);
    let warnings: Vec<String> = plan.metadata.warnings.iter().map(|it| in_words(it)).collect();
    section(&mut out, "Warnings", &warnings);
    out
}

/// `code: message` for people.
fn in_words(warning: &str) -> String {
    let told = warning.split_once(": ");
    told.map_or(warning.to_string(), |(code, message)| {
        format!("{}: {message}", Warning::title_of(code))
    })
}

fn body(out: &mut String, body: &Body) {
    out.push_str(&format!("\n## Overview\n\n{}\n\n## Phases\n", item(&body.overview)));
    for (at, phase) in body.phases.iter().enumerate() {
        let (number, name) = (at + 1, item(&phase.name));
        out.push_str(&format!("\n### {number}. {name}\n\n{}\n", item(&phase.goal)));
        for (nth, task) in phase.tasks.iter().enumerate() {
            one_task(out, &format!("{number}.{}", nth + 1), task);
        }
    }
    section(out, "Testing", &body.testing);
    section(out, "Risks", &body.risks);
    section(out, "Rollback", &body.rollback);
    section(out, "Edge cases", &body.edge_cases);
    section(out, "Open questions", &body.open_questions);
}

fn one_task(out: &mut String, number: &str, task: &Task) {
    let (title, about) = (item(&task.title), item(&task.description));
    out.push_str(&format!(
        "\n#### {number} {title}\n\n{about} (complexity {})\n\n",
        task.complexity
    ));
    for (at, step) in task.steps.iter().enumerate() {
        out.push_str(&format!("{}. {}\n", at + 1, item(step)));
    }
    let lists = [
        ("Depends on", &task.dependencies),
        ("Needs", &task.inputs),
        ("Leaves", &task.outputs),
        ("Where", &task.locations),
        ("Done when", &task.acceptance_criteria),
    ];
    let mut is_first = true;
    for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
        let gap = if is_first { "\n" } else { "" };
        is_first = false;
        let items: Vec<String> = items.iter().map(|it| item(it)).collect();
        out.push_str(&format!("{gap}- {name}: {}\n", items.join("; ")));
    }
}

fn section(out: &mut String, name: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    out.push_str(&format!("\n## {name}\n\n"));
    items.iter().for_each(|it| out.push_str(&format!("- {}\n", item(it))));
}

/// Where the plan comes from: the plans that were compared, and what to know about it.
fn origin(out: &mut String, plan: &Final, places: &[Place]) {
    out.push_str("\n## How it came about\n\n");
    for place in places {
        let mark = if place.is_selected { ", selected" } else { "" };
        let (label, name) = (item(&place.label), item(&place.name));
        out.push_str(&format!("- {label} by {name}: {:.1} of 10{mark}\n", place.score));
        for (side, items) in [("for it", &place.strengths), ("against it", &place.weaknesses)] {
            items.iter().for_each(|it| out.push_str(&format!("  - {side}: {}\n", item(it))));
        }
    }
    for (name, is_valid) in &plan.metadata.validation.plans_valid {
        if !is_valid {
            out.push_str(&format!("- no plan of {} was compared\n", item(name)));
        }
    }
}

/// One line of a model's text. Inside `code` nothing has a meaning; outside, what would make a link
/// or a tag is escaped.
fn item(text: &str) -> String {
    let text = one_line(&printable(text), ITEM_CHARS);
    let is_balanced = text.matches('`').count().is_multiple_of(2);
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    for c in text.chars() {
        match c {
            '`' if is_balanced => in_code = !in_code,
            '[' | '<' | '\\' if !in_code => out.push('\\'),
            '`' => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Metadata, Plan, Validation};
    use super::super::tests::kit;
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_plan_reads_like_one() {
        let mut plan = kit::plan("Move <script>alert(1)</script> with `Vec<u8>`\n# evil heading");
        plan["phases"][0]["tasks"][0]["dependencies"] = serde_json::json!(["[x](http://evil)"]);
        let plan: Plan = serde_json::from_value(plan).unwrap();
        let validation = Validation {
            task_spec_valid: true,
            plans_valid: [("ada".to_string(), true), ("bob".to_string(), false)].into(),
            judge_valid: true,
        };
        let warnings = vec!["planner_failed: bob: it refused".to_string()];
        let metadata = Metadata { used_plans: vec!["ada".into()], validation, warnings };
        let plan = Final { final_plan: plan.into_body(), metadata };
        let place = Place {
            label: "Plan 1".into(),
            name: "ada".into(),
            score: 7.25,
            is_selected: true,
            strengths: vec!["It is short".into()],
            weaknesses: vec!["No <tests>".into()],
        };
        let missing = ["A backup".to_string()];
        let remarks = Remarks { missing_steps: &missing, improvements: &[] };
        expect![[r#"
            # Plan: Move it

            _Scripted demo voices wrote this; they know nothing of the task._

            ## Overview

            Move \<script>alert(1)\</script> with `Vec<u8>` # evil heading

            ## Phases

            ### 1. Work

            Everything is done

            #### 1.1 Do it

            Because it is needed (complexity 3)

            1. Begin
            2. End

            - Depends on: \[x](http://evil)
            - Leaves: A result
            - Done when: It is done

            ## Testing

            - Try it

            ## Risks

            - It may take long

            ## Rollback

            - Undo it

            ## Edge cases

            - Nothing to do

            ## How it came about

            - Plan 1 by ada: 7.2 of 10, selected
              - for it: It is short
              - against it: No \<tests>
            - no plan of bob was compared

            ## Missing in the plans that were compared

            - A backup

            ## Warnings

            - A planner failed: bob: it refused
        "#]]
        .assert_eq(&markdown("Move\nit", &plan, &[place], &remarks, true));
    }
}
