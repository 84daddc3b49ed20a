//! From a verdict, or from the best-scored plan, to the final plan: names and paths put back,
//! contradictions settled or asked, serious risks kept.

use super::anonymise::{Redaction, restore};
use super::plan::{self, Body, Final, Metadata, Plan, Validation, Verdict};
use super::schema::Form;
use super::words::{share, telling};
use althing_stdx::{Fault, Result};
use serde_json::Value;

/// From this score on every risk that a plan names is kept.
const HIGH_SCORE: f64 = 8.0;
/// Words that mark a risk as serious, whoever wrote it.
const SERIOUS: &[&str] = &["high", "critical", "severe", "serious", "major"];
/// A risk is still there where this share of its words stands together in one of the merged ones.
const SAME_SHARE: f64 = 0.5;
/// Risks put back; more are only counted.
const RESTORED_MAX: usize = 10;

/// Something the person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// In one word, for programs.
    pub code: &'static str,
    pub message: String,
}

/// What the codes of warnings say, in words.
const TITLES: &[(&str, &str)] = &[
    ("planner_failed", "A planner failed"),
    ("plan_left_out", "A plan came too late"),
    ("judge_fallback", "No judge decided"),
    ("judge_wrote_a_plan", "The judge may have written a plan too"),
    ("contradiction_open", "A contradiction is open"),
    ("risk_restored", "A risk was put back"),
    ("dependency_unresolved", "A dependency leads nowhere"),
    ("files_left_out", "Files did not go along"),
    ("field_ignored", "A field was ignored"),
    ("answer_mended", "An answer was mended"),
    ("lineup", "Who takes part"),
    ("demo", "Demo voices"),
];

impl Warning {
    pub fn new(code: &'static str, message: impl Into<String>) -> Warning {
        Warning { code, message: message.into() }
    }

    /// As people read it.
    pub fn title_of(code: &str) -> &'static str {
        TITLES.iter().find(|(known, _)| *known == code).map_or("Note", |(_, title)| title)
    }

    /// As it stands in `metadata.warnings`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.code, self.message)
    }
}

/// The judge's plan, mended, and what had to be mended. `plans` are labels and anonymous plans.
pub fn of_verdict(verdict: &Verdict, plans: &[(String, Plan)]) -> (Body, Vec<Warning>) {
    let mut body = verdict.merged_plan.clone();
    let mut warnings = Vec::new();
    let open = verdict.contradictions.iter().filter(|it| !is_settled(it));
    for contradiction in open {
        let is_there = body.open_questions.iter().any(|it| is_same(contradiction, it));
        if !is_there {
            body.open_questions.push(format!("Contradiction: {contradiction}"));
            let message = format!("the judge left it open: {contradiction}");
            warnings.push(Warning::new("contradiction_open", message));
        }
    }
    keep_risks(&mut body, verdict, plans, &mut warnings);
    warnings.extend(loose_ends(&body));
    (body, warnings)
}

/// The dependencies of a plan that lead nowhere, whoever wrote it.
pub fn loose_ends(body: &Body) -> impl Iterator<Item = Warning> {
    let loose = plan::loose_ends(&body.phases).into_iter();
    loose.map(|it| Warning::new("dependency_unresolved", it))
}

/// `… (settled: how)`, as the judge is asked to write it: in brackets, or behind the end of what
/// came before. What is `unsettled:` or `not settled:` is open.
fn is_settled(contradiction: &str) -> bool {
    let text = contradiction.to_lowercase();
    text.match_indices("settled").any(|(at, word)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let is_in_brackets = before.ends_with(['(', '[']);
        let is_word = before.is_empty() || before.ends_with(char::is_whitespace);
        let is_new = !before.trim_end().ends_with(char::is_alphanumeric);
        is_in_brackets || (is_word && is_new && after.starts_with(':'))
    })
}

/// Puts back what the merge dropped: risks that are marked as serious, and all of a plan that the
/// judge rated high.
fn keep_risks(
    body: &mut Body,
    verdict: &Verdict,
    plans: &[(String, Plan)],
    warnings: &mut Vec<Warning>,
) {
    let mut dropped: Vec<&String> = Vec::new();
    for (label, plan) in plans {
        let score = verdict.scores.iter().find(|score| score.label == *label);
        let is_high = score.is_some_and(|score| score.score >= HIGH_SCORE);
        for risk in plan.risks.iter().filter(|risk| is_high || is_serious(risk)) {
            let known = body.risks.iter().chain(dropped.iter().copied());
            if !known.clone().any(|it| is_same(risk, it)) {
                dropped.push(risk);
            }
        }
    }
    let count = dropped.len();
    let back: Vec<String> = dropped.into_iter().take(RESTORED_MAX).cloned().collect();
    for risk in &back {
        warnings.push(Warning::new("risk_restored", format!("the merge had dropped: {risk}")));
    }
    if count > back.len() {
        let message = format!("{} more dropped risks are not repeated", count - back.len());
        warnings.push(Warning::new("risk_restored", message));
    }
    body.risks.extend(back);
}

fn is_serious(risk: &str) -> bool {
    // Where a risk is rated it begins or ends so: `High: …`, `… (severity: critical)`.
    let words: Vec<String> = super::words::words(risk).collect();
    let edges = words.iter().take(2).chain(words.iter().rev().take(2));
    edges.into_iter().any(|word| SERIOUS.contains(&word.as_str()))
}

/// Whether two texts say the same, as far as their words tell.
fn is_same(text: &str, other: &str) -> bool {
    share(text, &telling(other)) >= SAME_SHARE
}

/// The final plan as JSON, in its form, with everything put back that was covered.
pub fn finish(
    body: Body,
    covered: &[Redaction],
    used_plans: Vec<String>,
    validation: Validation,
    warnings: &[Warning],
) -> Result<Value> {
    let warnings = warnings.iter().map(Warning::line).collect();
    let metadata = Metadata { used_plans, validation, warnings };
    let plan = Final { final_plan: body, metadata };
    let mut value = serde_json::to_value(plan).map_err(Fault::internal)?;
    restore(&mut value, covered);
    match Form::FinalPlan.problems(&value).first() {
        None => Ok(value),
        Some(problem) => Err(Fault::internal(format!("the final plan: {problem}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::kit;
    use super::*;
    use serde_json::json;

    fn plan(risks: &[&str]) -> Plan {
        let mut plan = kit::plan("x");
        plan["risks"] = json!(risks);
        serde_json::from_value(plan).unwrap()
    }

    /// What comes of a verdict with these scores, contradictions and risks.
    #[track_caller]
    fn check(
        scores: [f64; 2],
        contradictions: &[&str],
        merged_risks: &[&str],
        want_risks: &[&str],
        want_open: &[&str],
    ) {
        let mut verdict = kit::verdict(&["Plan 1", "Plan 2"], "Plan 1");
        verdict["scores"][0]["score"] = json!(scores[0]);
        verdict["scores"][1]["score"] = json!(scores[1]);
        verdict["contradictions"] = json!(contradictions);
        verdict["merged_plan"]["risks"] = json!(merged_risks);
        let verdict: Verdict = serde_json::from_value(verdict).unwrap();
        let plans = [
            ("Plan 1".to_string(), plan(&["Data loss while copying tables"])),
            ("Plan 2".to_string(), plan(&["Critical: the backup is unreadable", "Slow queries"])),
        ];
        let (body, warnings) = of_verdict(&verdict, &plans);
        assert_eq!(body.risks, want_risks);
        assert_eq!(body.open_questions, want_open);
        let mended = want_risks.len() - merged_risks.len() + want_open.len();
        assert_eq!(warnings.len(), mended, "{warnings:?}");
    }

    #[test]
    fn serious_risks_come_back_and_others_do_not() {
        let backup = "Critical: the backup is unreadable";
        check([5.0, 5.0], &[], &["Backup may be unreadable"], &["Backup may be unreadable"], &[]);
        check([5.0, 5.0], &[], &["Cost"], &["Cost", backup], &[]);
        let loss = "Data loss while copying tables";
        check([9.0, 5.0], &[], &["Cost"], &["Cost", loss, backup], &[]);
        check([9.0, 9.0], &[], &[], &[loss, backup, "Slow queries"], &[]);
    }

    #[test]
    fn contradictions_are_settled_or_asked() {
        let kept = ["Critical: the backup is unreadable"];
        let open = ["Plan 1 drops the table, Plan 2 keeps it"];
        check(
            [5.0; 2],
            &open,
            &kept,
            &kept,
            &["Contradiction: Plan 1 drops the table, Plan 2 keeps it"],
        );
        for how in
            [" (settled: it is kept)", " [Settled by Plan 2]", "; settled: keep", " - settled: no"]
        {
            check([5.0; 2], &[&format!("{}{how}", open[0])], &kept, &kept, &[]);
        }
        for how in
            [" (unsettled: why?)", "; not settled: why?", " (not settled: why?)", ", un-settled:"]
        {
            let left = format!("{}{how}", open[0]);
            let asked = format!("Contradiction: {left}");
            check([5.0; 2], &[&left], &kept, &kept, &[&asked]);
        }
    }

    #[test]
    fn a_contradiction_that_is_asked_already_is_not_asked_twice() {
        let mut verdict = kit::verdict(&["Plan 1"], "Plan 1");
        verdict["contradictions"] = json!(["Plan 1 drops the table, Plan 2 keeps it"]);
        verdict["merged_plan"]["open_questions"] = json!(["Is the table dropped, as Plan 1 says?"]);
        let verdict: Verdict = serde_json::from_value(verdict).unwrap();
        let (body, warnings) = of_verdict(&verdict, &[]);
        assert_eq!(body.open_questions, verdict.merged_plan.open_questions);
        assert_eq!(warnings, []);
    }

    #[test]
    fn a_final_plan_has_its_form_and_its_words_back() {
        let body = plan(&[]).into_body();
        let body = Body { overview: "edit [path-1]".into(), ..body };
        let covered = [Redaction { mark: "[path-1]".into(), text: "/tmp/x".into() }];
        let plans_valid = [("ada".to_string(), true)].into();
        let validation = Validation { task_spec_valid: true, plans_valid, judge_valid: false };
        let warnings = [Warning::new("judge_fallback", "nobody judged")];
        let value = finish(body, &covered, vec!["ada".into()], validation, &warnings).unwrap();
        assert_eq!(value["final_plan"]["overview"], "edit /tmp/x");
        assert_eq!(value["metadata"]["warnings"][0], "judge_fallback: nobody judged");
    }
}
