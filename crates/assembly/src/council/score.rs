//! The score that stands in for a judge: from the plan alone, the same on every machine, and blind
//! to labels and to the order in which plans come.

use super::plan::{Plan, Task, loose_ends, tasks};
use super::words::{hash, share, telling, texts};
use serde_json::Value;
use std::collections::HashSet;

/// A constraint counts as met where this share of its words appears in tasks.
const MET_SHARE: f64 = 0.5;

/// Points of one plan; together 0 to 10.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Points {
    /// 2 for being a valid plan at all.
    pub valid: f64,
    /// 2 for the share of constraints whose words appear in tasks and criteria.
    pub constraints: f64,
    /// 2 for the share of tasks with steps and criteria that can be tested.
    pub tasks: f64,
    /// 2 for risks, edge cases, tests and rollback, half a point each.
    pub sections: f64,
    /// 1 for dependencies that resolve and run in no circle.
    pub order: f64,
    /// 1 for being no longer than the middle one; less the longer it is.
    pub brevity: f64,
}

impl Points {
    pub fn total(&self) -> f64 {
        let sum = self.valid + self.constraints + self.tasks + self.sections + self.order;
        // Two decimals: a difference behind them is none.
        ((sum + self.brevity) * 100.0).round() / 100.0
    }
}

/// The points of each plan, in the order given.
pub fn score(plans: &[Plan], constraints: &[String]) -> Vec<Points> {
    let mut lengths: Vec<usize> = plans.iter().map(length).collect();
    let own = lengths.clone();
    lengths.sort_unstable();
    let middle = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    plans.iter().zip(own).map(|(plan, length)| points(plan, constraints, length, middle)).collect()
}

/// The best of `plans`: most points; where two have the same, the content decides, never the label.
pub fn best(plans: &[Plan], points: &[Points]) -> Option<usize> {
    let rank = |at: &usize| {
        let content = serde_json::to_string(&plans[*at]).unwrap_or_default();
        ((points[*at].total() * 100.0) as i64, std::cmp::Reverse((hash(&content), content)))
    };
    (0..plans.len()).max_by_key(rank)
}

fn points(plan: &Plan, constraints: &[String], length: usize, middle: usize) -> Points {
    let covered = task_words(plan);
    let met = constraints.iter().filter(|it| share(it, &covered) >= MET_SHARE).count();
    let all: Vec<&Task> = tasks(&plan.phases).map(|(_, task)| task).collect();
    let good = all.iter().filter(|task| is_testable(task)).count();
    let sections = [&plan.risks, &plan.edge_cases, &plan.tests, &plan.rollback];
    let over = length as f64 / middle.max(1) as f64 - 1.0;
    Points {
        valid: 2.0,
        constraints: 2.0 * part(met, constraints.len()),
        tasks: 2.0 * part(good, all.len()),
        sections: 0.5 * sections.iter().filter(|it| !it.is_empty()).count() as f64,
        order: if loose_ends(&plan.phases).is_empty() { 1.0 } else { 0.0 },
        brevity: (1.0 - over.max(0.0)).clamp(0.0, 1.0),
    }
}

/// `some` of `all`; everything where there is nothing.
fn part(some: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { some as f64 / all as f64 }
}

fn is_testable(task: &Task) -> bool {
    let is_said = |texts: &[String]| texts.iter().any(|text| !text.trim().is_empty());
    is_said(&task.steps) && is_said(&task.acceptance_criteria)
}

fn task_words(plan: &Plan) -> HashSet<String> {
    let value = serde_json::to_value(&plan.phases).unwrap_or(Value::Null);
    let mut all = Vec::new();
    texts(&value, &mut all);
    all.into_iter().flat_map(|text| telling(text).into_iter()).collect()
}

fn length(plan: &Plan) -> usize {
    serde_json::to_string(plan).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use super::super::tests::kit;
    use super::*;
    use serde_json::json;

    fn plan(change: impl FnOnce(&mut Value)) -> Plan {
        let mut value = kit::plan("Move the data");
        change(&mut value);
        serde_json::from_value(value).unwrap()
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), constraints: &[&str], want: [f64; 6]) {
        let constraints: Vec<String> = constraints.iter().map(|it| it.to_string()).collect();
        let it = score(&[plan(change)], &constraints)[0];
        let got = [it.valid, it.constraints, it.tasks, it.sections, it.order, it.brevity];
        assert_eq!(got, want);
        assert!((0.0..=10.0).contains(&it.total()));
    }

    #[test]
    fn every_part_of_the_score() {
        check(|_| (), &[], [2.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        check(|_| (), &["no downtime whatsoever"], [2.0, 0.0, 2.0, 2.0, 1.0, 1.0]);
        let meets = |it: &mut Value| {
            it["phases"][0]["tasks"][0]["acceptance_criteria"] = json!(["There is no downtime"]);
        };
        check(meets, &["no downtime", "written in Klingon"], [2.0, 1.0, 2.0, 2.0, 1.0, 1.0]);
        let vague = |it: &mut Value| {
            it["phases"][0]["tasks"][0]["acceptance_criteria"] = json!([]);
        };
        check(vague, &[], [2.0, 2.0, 0.0, 2.0, 1.0, 1.0]);
        let bare = |it: &mut Value| {
            it["rollback"] = json!([]);
            it["risks"] = json!([]);
        };
        check(bare, &[], [2.0, 2.0, 2.0, 1.0, 1.0, 1.0]);
        let lost = |it: &mut Value| {
            it["phases"][0]["tasks"][0]["dependencies"] = json!(["the moon"]);
        };
        check(lost, &[], [2.0, 2.0, 2.0, 2.0, 0.0, 1.0]);
    }

    #[test]
    fn the_longer_costs_and_the_middle_does_not() {
        let of = |times: usize| plan(|it| it["summary"] = json!("word ".repeat(times)));
        let plans = [of(10), of(100), of(1000)];
        let points = score(&plans, &[]);
        assert_eq!((points[0].brevity, points[1].brevity), (1.0, 1.0));
        assert!(points[2].brevity < 0.5, "{points:?}");
    }

    #[test]
    fn order_never_changes_the_verdict() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..50 {
            let mut plans: Vec<Plan> = (0..random.usize(1..=16))
                .map(|_| {
                    let (n, rollback) = (random.usize(0..4), random.bool());
                    plan(|it| {
                        it["summary"] = json!(format!("variant {n}"));
                        if !rollback {
                            it["rollback"] = json!([]);
                        }
                    })
                })
                .collect();
            let verdict = |plans: &[Plan]| {
                plans[best(plans, &score(plans, &["variant".into()])).unwrap()].clone()
            };
            let before = verdict(&plans);
            random.shuffle(&mut plans);
            assert_eq!(before, verdict(&plans), "seed {seed}");
        }
    }
}
