//! Workers at the table: planners that are models use their tools, as in a discussion, and a worker
//! may plan or judge itself.

use super::{JUDGE, PLANNERS, final_plan, folder, plan, says, task};
use crate::harness::Home;
use crate::workers::kit::{calls, with_calc};
use althing_testkit::{Options, Seen, Upstream};
use serde_json::json;

#[test]
fn a_planner_uses_a_python_tool() {
    let asks = |seen: &Seen| {
        let has_tools = seen.body.get("tools").is_some();
        let is_now = seen.model == "ada" && has_tools && seen.results() == 0;
        is_now.then(|| ("calc_add".to_string(), json!({ "a": 20, "b": 22 })))
    };
    let upstream = Upstream::start(Options::default().text(says).call(asks));
    let home = Home::with(&upstream);
    let Some(()) = with_calc(&home) else { return };
    plan(&home, &["--planners", PLANNERS, "--judge", JUDGE]).ends(0);
    let calls = calls(&home.events("last"));
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!((calls[0].result.as_str(), calls[0].failed), ("42", false));
    assert_eq!(final_plan(&home)["metadata"]["warnings"], json!([]));
    home.is_left();
}

#[test]
fn a_worker_plans_and_judges() {
    let upstream = Upstream::start(Options::default().text(says));
    let home = Home::with(&upstream);
    let Some(()) = with_calc(&home) else { return };
    let script = home.path().join("calc.py");
    let written = std::fs::read_to_string(&script).unwrap();
    let usual = "    yield \"You said: \"\n    yield messages[-1][\"content\"]\n";
    assert!(written.contains(usual), "{written}");
    let own = format!(
        "    name = 'verdict' if 'Write a judge_output:' in str(messages) else 'plan'\n    \
         yield open('{}/' + name + '.json').read()\n",
        home.path().display()
    );
    std::fs::write(&script, written.replace(usual, &own)).unwrap();
    let phases = json!([{ "name": "Work", "goal": "Done", "tasks": [task("Do it")] }]);
    let plan_made = json!({
        "summary": "The worker's plan", "phases": phases, "risks": ["It may break"],
        "edge_cases": [], "tests": ["Try it"], "assumptions": []
    });
    let score = |label: &str| {
        json!({
            "label": label, "score": 7, "rationale": "Good", "strengths": [], "weaknesses": []
        })
    };
    let verdict = json!({
        "scores": [score("Plan 1"), score("Plan 2")], "comparative_analysis": "Alike",
        "missing_steps": [], "contradictions": [], "improvements": [], "selected_plan": "Plan 1",
        "merged_plan": {
            "overview": "As the worker judges", "phases": phases, "testing": ["Try it"],
            "risks": ["It may break"], "rollback": [], "edge_cases": []
        }
    });
    for (name, value) in [("plan.json", plan_made), ("verdict.json", verdict)] {
        std::fs::write(home.path().join(name), value.to_string()).unwrap();
    }
    plan(&home, &["--planners", "worker:calc", "--judge", JUDGE]).ends(0);
    let plan_used = final_plan(&home);
    assert_eq!(plan_used["final_plan"]["overview"], "The worker's plan");
    assert_eq!(plan_used["metadata"]["warnings"], json!([]));
    std::fs::remove_dir_all(folder(&home)).unwrap();
    plan(&home, &["--planners", "openai:ada,openai:bob", "--judge", "worker:calc"]).ends(0);
    assert_eq!(final_plan(&home)["final_plan"]["overview"], "As the worker judges");
    home.is_left();
}
