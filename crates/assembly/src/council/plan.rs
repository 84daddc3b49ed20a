//! Plans and verdicts as values, once their form is checked.

use super::schema::{Form, Problem};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One planner's plan: `council_plan`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub summary: String,
    pub phases: Vec<Phase>,
    pub risks: Vec<String>,
    pub edge_cases: Vec<String>,
    pub tests: Vec<String>,
    pub assumptions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rollback: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_questions: Vec<String>,
}

/// A plan as it leaves the council: `plan_body`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    pub overview: String,
    pub phases: Vec<Phase>,
    pub testing: Vec<String>,
    pub risks: Vec<String>,
    pub rollback: Vec<String>,
    pub edge_cases: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_questions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    pub goal: String,
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub title: String,
    pub description: String,
    pub steps: Vec<String>,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub dependencies: Vec<String>,
    pub acceptance_criteria: Vec<String>,
    /// 1 to 10.
    pub complexity: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_tokens: Option<u64>,
}

/// `judge_output`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub scores: Vec<Score>,
    pub comparative_analysis: String,
    pub missing_steps: Vec<String>,
    pub contradictions: Vec<String>,
    pub improvements: Vec<String>,
    /// A label.
    pub selected_plan: String,
    pub merged_plan: Body,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub label: String,
    /// 0 to 10.
    pub score: f64,
    pub rationale: String,
    pub strengths: Vec<String>,
    pub weaknesses: Vec<String>,
}

/// `final_plan`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Final {
    pub final_plan: Body,
    pub metadata: Metadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    pub used_plans: Vec<String>,
    pub validation: Validation,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    pub task_spec_valid: bool,
    /// By the planner's name.
    pub plans_valid: BTreeMap<String, bool>,
    pub judge_valid: bool,
}

/// A value of `form`, or what is wrong with it.
pub fn read<T: DeserializeOwned>(form: Form, value: &Value) -> Result<T, Vec<Problem>> {
    let problems = form.problems(value);
    if !problems.is_empty() {
        return Err(problems);
    }
    serde_json::from_value(whole(value)).map_err(|e| vec![Problem::new("$", e.to_string())])
}

/// The same with `5.0` as `5`: a schema takes both for an integer.
fn whole(value: &Value) -> Value {
    /// Beyond this a double is no exact integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(it) if number.is_f64() && it.fract() == 0.0 && it.abs() < EXACT => {
                Value::from(it as i64)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), whole(v))).collect(),
        _ => value.clone(),
    }
}

impl Plan {
    /// The plan in the form in which one leaves the council. What was assumed is asked.
    pub fn into_body(self) -> Body {
        let assumed = self.assumptions.into_iter().map(|it| format!("Assumed: {it}"));
        Body {
            overview: self.summary,
            phases: self.phases,
            testing: self.tests,
            risks: self.risks,
            rollback: self.rollback,
            edge_cases: self.edge_cases,
            open_questions: self.open_questions.into_iter().chain(assumed).collect(),
        }
    }
}

/// Every task of some phases, with the phase it is in.
pub fn tasks(phases: &[Phase]) -> impl Iterator<Item = (&Phase, &Task)> {
    phases.iter().flat_map(|phase| phase.tasks.iter().map(move |task| (phase, task)))
}

/// What is wrong with the dependencies of a plan: those that name nothing in it, and circles.
/// A dependency may name a task by its title, a phase by its name, or a task as `phase / task` or
/// by its place (`1.2`, `task 1.2`).
pub fn loose_ends(phases: &[Phase]) -> Vec<String> {
    let known = names(phases);
    let mut found = Vec::new();
    let mut edges: Vec<Vec<usize>> = Vec::new();
    let titles: Vec<&str> = tasks(phases).map(|(_, task)| task.title.as_str()).collect();
    for (_, task) in tasks(phases) {
        let mut on = Vec::new();
        for wanted in task.dependencies.iter().filter(|it| !says_none(it)) {
            match known.get(&plain(wanted)) {
                Some(meant) => on.extend(meant),
                None => {
                    found.push(format!("'{}' depends on '{wanted}', which is no task", task.title))
                }
            }
        }
        edges.push(on);
    }
    if let Some(at) = circle(&edges) {
        found.push(format!("'{}' depends on itself in the end", titles[at]));
    }
    found
}

/// Everything a dependency may say, and the tasks that it means then.
fn names(phases: &[Phase]) -> HashMap<String, Vec<usize>> {
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    let mut at = 0;
    for (p, phase) in phases.iter().enumerate() {
        let phase_name = plain(&phase.name);
        for (t, task) in phase.tasks.iter().enumerate() {
            let (title, place) = (plain(&task.title), format!("{} {}", p + 1, t + 1));
            let own = [
                format!("{phase_name} {title}"),
                format!("task {place} {title}"),
                format!("{place} {title}"),
                format!("task {place}"),
                place,
                title,
            ];
            let whole = [format!("phase {}", p + 1), phase_name.clone()];
            for name in own.into_iter().chain(whole).collect::<BTreeSet<String>>() {
                known.entry(name).or_default().push(at);
            }
            at += 1;
        }
    }
    known
}

/// Small letters and digits, words one space apart.
fn plain(text: &str) -> String {
    super::words::words(text).collect::<Vec<_>>().join(" ")
}

fn says_none(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    ["", "none", "n/a", "nothing", "-"].iter().any(|none| text.eq_ignore_ascii_case(none))
}

/// A node that can be reached from itself.
fn circle(edges: &[Vec<usize>]) -> Option<usize> {
    // Takes away what depends on nothing that is left; what stays for ever is in a circle.
    let mut waits: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (at, on) in edges.iter().enumerate() {
        on.iter().for_each(|other| back[*other].push(at));
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|at| waits[*at] == 0).collect();
    while let Some(done) = free.pop() {
        for at in &back[done] {
            waits[*at] -= 1;
            if waits[*at] == 0 {
                free.push(*at);
            }
        }
    }
    waits.iter().position(|left| *left > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::kit;
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(dependencies: &[(&str, &[&str])], want: &[&str]) {
        let tasks: Vec<Value> =
            dependencies.iter().map(|(title, on)| kit::task(title, on)).collect();
        let phases = json!([{ "name": "Build", "goal": "g", "tasks": tasks }]);
        let phases: Vec<Phase> = serde_json::from_value(phases).unwrap();
        assert_eq!(loose_ends(&phases), want);
    }

    #[test]
    fn dependencies_resolve_or_are_told() {
        check(&[("Schema", &[]), ("API", &["schema"])], &[]);
        check(&[("Schema", &[]), ("API", &["1.1", "Task 1.1: Schema", "Build: Schema"])], &[]);
        check(&[("API", &["None"])], &[]);
        check(&[("API", &["the moon"])], &["'API' depends on 'the moon', which is no task"]);
        check(&[("A", &["B"]), ("B", &["A"])], &["'A' depends on itself in the end"]);
        check(&[("A", &["A"])], &["'A' depends on itself in the end"]);
    }

    #[test]
    fn whole_numbers_may_be_written_as_fractions() {
        let mut plan = kit::plan("x");
        plan["phases"][0]["tasks"][0]["complexity"] = json!(5.0);
        let plan: Plan = read(Form::CouncilPlan, &plan).unwrap();
        assert_eq!(plan.phases[0].tasks[0].complexity, 5);
    }

    #[test]
    fn a_plan_becomes_a_body_that_fits_its_form() {
        let mut plan = kit::plan("Ship it");
        plan["assumptions"] = json!(["staging exists"]);
        let plan: Plan = read(Form::CouncilPlan, &plan).unwrap();
        let body = plan.into_body();
        assert_eq!(body.overview, "Ship it");
        assert_eq!(body.open_questions, ["Assumed: staging exists"]);
        let mut verdict = kit::verdict(&["Plan 1"], "Plan 1");
        verdict["merged_plan"] = serde_json::to_value(body).unwrap();
        assert_eq!(Form::JudgeOutput.problems(&verdict), []);
    }
}
