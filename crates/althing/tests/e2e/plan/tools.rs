//! Planners that are models use the tools of workers, as in a discussion.

use super::{JUDGE, PLANNERS, final_plan, plan, says};
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
