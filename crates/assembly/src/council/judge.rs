//! Whether a verdict can be used: its labels are those that were given, and its plan holds together.

use super::extract::{Extracted, extract};
use super::plan::{self, Verdict, loose_ends};
use super::schema::{Form, Problem};

/// A verdict, and what is wrong with it that does not make it useless.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub verdict: Verdict,
    /// Dependencies that lead nowhere: worth one more try, but no reason to lose the verdict.
    pub flaws: Vec<Problem>,
    /// What had to be mended to read it.
    pub repairs: Vec<String>,
}

/// The verdict in `text` on the plans with these labels, or why it cannot be used.
pub fn read(text: &str, labels: &[String], prompt: &str) -> Result<Judged, Vec<Problem>> {
    let Extracted { value, repairs } = extract(text, Form::JudgeOutput, prompt)?;
    let mut verdict: Verdict = plan::read(Form::JudgeOutput, &value)?;
    let problems = mend_labels(&mut verdict, labels);
    if !problems.is_empty() {
        return Err(problems);
    }
    let flaw = |what: String| Problem::new("$.merged_plan.phases", what);
    let flaws = loose_ends(&verdict.merged_plan.phases).into_iter().map(flaw).collect();
    Ok(Judged { verdict, flaws, repairs })
}

/// Every label once and no other. `plan 2` is written `Plan 2` everywhere.
fn mend_labels(verdict: &mut Verdict, labels: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let known = |text: &str| labels.iter().find(|it| it.eq_ignore_ascii_case(text.trim()));
    for (at, score) in verdict.scores.iter_mut().enumerate() {
        match known(&score.label) {
            Some(label) => score.label.clone_from(label),
            None => {
                let what =
                    format!("'{}' is no label; there are {}", score.label, labels.join(", "));
                problems.push(Problem::new(format!("$.scores[{at}].label"), what));
            }
        }
    }
    for label in labels {
        let times = verdict.scores.iter().filter(|score| score.label == *label).count();
        if times != 1 {
            let what = format!("'{label}' has {times} scores; every plan has exactly one");
            problems.push(Problem::new("$.scores", what));
        }
    }
    match known(&verdict.selected_plan) {
        Some(label) => verdict.selected_plan.clone_from(label),
        None => {
            let what = format!("'{}' is no label", verdict.selected_plan);
            problems.push(Problem::new("$.selected_plan", what));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::tests::kit;
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), want: &[&str]) {
        let labels = ["Plan 1".to_string(), "Plan 2".to_string()];
        let mut verdict = kit::verdict(&["Plan 1", "Plan 2"], "Plan 2");
        change(&mut verdict);
        let told = |problems: Vec<Problem>| -> Vec<String> {
            problems.iter().map(Problem::to_string).collect()
        };
        match read(&verdict.to_string(), &labels, "") {
            Ok(judged) => assert_eq!(told(judged.flaws), want),
            Err(problems) => assert_eq!(told(problems), want),
        }
    }

    #[test]
    fn labels_are_checked_both_ways() {
        check(|_| (), &[]);
        check(|it| it["selected_plan"] = json!(" plan 1"), &[]);
        check(
            |it| it["scores"][1]["label"] = json!("Plan 3"),
            &[
                "$.scores[1].label: 'Plan 3' is no label; there are Plan 1, Plan 2",
                "$.scores: 'Plan 2' has 0 scores; every plan has exactly one",
            ],
        );
        check(
            |it| it["scores"][1]["label"] = json!("Plan 1"),
            &[
                "$.scores: 'Plan 1' has 2 scores; every plan has exactly one",
                "$.scores: 'Plan 2' has 0 scores; every plan has exactly one",
            ],
        );
        check(
            |it| it["selected_plan"] = json!("the first"),
            &["$.selected_plan: 'the first' is no label"],
        );
    }

    #[test]
    fn loose_ends_are_flaws_and_not_the_end() {
        check(
            |it| it["merged_plan"]["phases"][0]["tasks"][0]["dependencies"] = json!(["the moon"]),
            &["$.merged_plan.phases: 'Do it' depends on 'the moon', which is no task"],
        );
    }
}
