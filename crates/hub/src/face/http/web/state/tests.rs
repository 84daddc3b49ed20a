use super::*;
use serde_json::from_value;

/// A run with two planners and a judge, as its log has it.
fn opening() -> Value {
    json!({ "type": "run_started", "method": "council", "question": "Build \u{202e}it",
        "seats": [{ "model": "a:x", "name": "Ada" }, { "model": "b:y", "name": "Bob", "demo": true },
            { "model": "c:z", "name": "Cyd" }],
        "turns": 0, "synthesizers": [], "synthesizer_mode": "first" })
}

fn phase(number: u32) -> Value {
    json!({ "type": "phase_started", "phase": number, "total": 3, "name": "x", "participants": [] })
}

fn turn(kind: &str, number: u32, name: &str, role: &str) -> Value {
    json!({ "type": kind, "turn": number, "phase": 1, "seat": 0, "nth": 0, "model": "m",
        "name": name, "speech": "message", "role": role, "parallel": true })
}

/// The turn of an attempt after the first.
fn again(number: u32, nth: u32, name: &str, role: &str) -> Value {
    let mut turn = turn("turn_started", number, name, role);
    turn["nth"] = json!(nth);
    turn
}

fn said(number: u32, name: &str, role: &str, text: &str) -> Value {
    let mut ended = turn("turn_ended", number, name, role);
    let said = json!({ "text": text, "parts": { "is": "plain" }, "stop": "end", "cost_usd": 0.25,
        "took_ms": 1 });
    ended["outcome"] = json!({ "said": said });
    ended
}

fn failed(number: u32, name: &str, role: &str, kind: &str) -> Value {
    let mut ended = turn("turn_ended", number, name, role);
    ended["outcome"] = json!({ "failed": { "kind": kind, "message": "why" } });
    ended
}

fn checked(name: &str, role: &str, valid: bool, again: Option<&str>) -> Value {
    let errors: &[&str] = if valid { &[] } else { &["/phases: missing"] };
    json!({ "type": "answer_checked", "turn": 0, "seat": 0, "name": name, "role": role,
        "attempt": 1, "valid": valid, "summary": "short", "errors": errors, "again": again })
}

fn end(ending: Value) -> Value {
    let totals = json!({ "calls": 1, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.5,
        "uncounted": 0, "unpriced": 0 });
    json!({ "type": "run_ended", "ending": ending, "totals": totals })
}

fn event(seq: u64, mut what: Value) -> Event {
    let head = [("seq", json!(seq)), ("run", json!("r1")), ("at_ms", json!(1000 * seq))];
    for (key, value) in head {
        what[key] = value;
    }
    from_value(what.clone()).unwrap_or_else(|e| panic!("{e}: {what}"))
}

/// The state after these events, and what changed with the last.
fn after(events: &[Value]) -> (State, Vec<Change>) {
    let (mut state, mut changes) = (State::default(), vec![]);
    for (seq, what) in std::iter::once(opening()).chain(events.iter().cloned()).enumerate() {
        changes = state.take(&event(seq as u64, what));
    }
    (state, changes)
}

#[test]
fn every_field_is_there_before_there_is_a_run() {
    let state = json!(State::default());
    assert_eq!(state["phase"], "idle");
    let texts = ["/run_id", "/task_brief", "/final_plan", "/judge/summary", "/judge/id"];
    let times = ["/timestamps/started_at", "/timestamps/updated_at", "/timestamps/completed_at"];
    for path in texts.iter().chain(&times) {
        assert_eq!(state.pointer(path), Some(&json!("")), "{path}");
    }
    let found = ["/missing_steps", "/contradictions", "/improvements"];
    for path in
        ["/planners", "/errors", "/judge/errors", "/scores", "/warnings"].iter().chain(&found)
    {
        assert_eq!(state.pointer(path), Some(&json!([])), "{path}");
    }
    assert_eq!(state["judge"]["status"], "pending");
    assert!(!state.to_string().contains("null"));
}

#[test]
fn a_run_begins_with_everybody_waiting() {
    let (state, changes) = after(&[]);
    assert_eq!(changes, [Change::Phase]);
    assert_eq!((state.run_id.as_str(), state.phase), ("r1", Phase::Starting));
    assert_eq!(state.task_brief, "Build \\u{202e}it");
    assert!(state.demo);
    let names: Vec<&str> = state.planners.iter().map(|member| member.id.as_str()).collect();
    assert_eq!((names, state.judge.id.as_str()), (vec!["Ada", "Bob"], "Cyd"));
    assert_eq!(state.timestamps.started_at, "1970-01-01T00:00:00.000Z");
    assert_eq!(state.timestamps.completed_at, "");
}

#[test]
fn phases_by_their_names() {
    for (number, name) in [(1, "planning"), (2, "judging"), (3, "finalizing")] {
        let (state, changes) = after(&[phase(number)]);
        assert_eq!((json!(state.phase), changes), (json!(name), vec![Change::Phase]));
    }
    let failure = json!({ "failed": { "kind": "too_few", "message": "no plan" } });
    for (ending, name, errors) in [
        (json!("completed"), "complete", json!([])),
        (json!("cancelled"), "cancelled", json!([])),
        (failure, "failed", json!(["no plan"])),
    ] {
        let (state, _) = after(&[phase(1), end(ending)]);
        assert_eq!((json!(state.phase), json!(state.errors)), (json!(name), errors));
        assert_eq!(state.timestamps.completed_at, "1970-01-01T00:00:02.000Z");
        assert_eq!(state.cost_usd, 0.5);
    }
}

#[test]
fn a_planner_from_start_to_end() {
    let start = |number| turn("turn_started", number, "Ada", PLANNER);
    #[track_caller]
    fn check(events: &[Value], status: &str, attempt: u32) {
        let (state, changes) = after(events);
        assert_eq!(
            (json!(state.planners[0].status), state.planners[0].attempt),
            (json!(status), attempt)
        );
        assert!(changes.contains(&Change::Planner(0)), "{changes:?}");
        assert_eq!(json!(state.planners[1].status), "pending");
    }
    check(&[start(0)], "running", 1);
    check(
        &[start(0), said(0, "Ada", PLANNER, "no"), checked("Ada", PLANNER, true, None)],
        "complete",
        1,
    );
    let bad =
        [start(0), said(0, "Ada", PLANNER, "no"), checked("Ada", PLANNER, false, Some("stricter"))];
    check(&bad, "needs-fix", 1);
    let second = again(1, 1, "Ada", PLANNER);
    check(&[&bad[..], std::slice::from_ref(&second)].concat(), "retrying", 2);
    let resumed = json!({ "type": "run_resumed", "kept": 0, "max_cost_usd": null });
    check(&[start(0), resumed.clone()], "pending", 1);
    check(&[start(0), resumed.clone(), start(1)], "running", 1);
    let second_again = again(2, 1, "Ada", PLANNER);
    check(&[&bad[..], &[second, resumed, second_again]].concat(), "retrying", 2);
    let lost =
        [start(0), failed(0, "Ada", PLANNER, "timed_out"), checked("Ada", PLANNER, false, None)];
    check(&lost, "failed", 1);
    check(&[start(0), failed(0, "Ada", PLANNER, "cancelled")], "cancelled", 1);
}

#[test]
fn what_comes_in_is_counted_and_not_shown() {
    let delta = |text: &str| json!({ "type": "turn_delta", "turn": 4, "text": text });
    let start = turn("turn_started", 4, "Bob", PLANNER);
    let (state, changes) = after(&[start, delta("ééé"), delta("<b>")]);
    assert_eq!((state.planners[1].chars, changes), (6, vec![Change::Planner(1)]));
    assert_eq!(state.planners[1].last_activity, "1970-01-01T00:00:03.000Z");
    assert!(!state.message(Change::Planner(1)).to_string().contains("<b>"));
}

#[test]
fn what_was_left_out_or_cut_off_is_remarked() {
    let note = |note: Value| json!({ "type": "turn_noted", "turn": 0, "note": note });
    let fitted = note(json!({ "fitted": { "model": "a:x", "transcript": "t", "dropped": 2,
        "cut": { "dropped": 2, "until": 0, "chars": 0 }, "shortened": 0, "words": 80,
        "window": 900 } }));
    let mut cut = said(0, "Ada", PLANNER, "tea tea");
    cut["outcome"]["said"]["cut"] = json!("looping");
    let all = [turn("turn_started", 0, "Ada", PLANNER), fitted, cut];
    let (state, changes) = after(&all);
    assert_eq!(changes, [Change::Planner(0)]);
    let left_out = "from here on its prompts lack 80 words of what was said, to fit its window of \
                    900 tokens: 2 speeches left out";
    assert_eq!(state.planners[0].remarks, [left_out, "cut off: it repeated itself"]);
    let message = state.message(Change::Planner(0));
    assert_eq!(message["payload"]["planner"]["remarks"][1], "cut off: it repeated itself");
    // The next attempt begins without them.
    let (state, _) = after(&[&all[..], &[again(1, 1, "Ada", PLANNER)]].concat());
    assert_eq!(json!(state.planners[0].remarks), json!([]));
}

#[test]
fn the_judge_the_scores_and_the_plan() {
    let judged = json!({ "type": "plans_judged", "fallback": false, "selected": "Plan 2",
        "analysis": "second is better", "scores": [
            { "label": "Plan 1", "seat": 1, "name": "Bob", "score": 4.5, "rationale": "thin",
                "weaknesses": ["no tests"] },
            { "label": "Plan 2", "seat": 0, "name": "Ada", "score": 8.0, "rationale": "sound",
                "strengths": ["short"] }], "missing_steps": ["a backup"] });
    let sealed = json!({ "type": "labels_sealed", "seed": 1, "labels": [
        { "label": "Plan 1", "seat": 1, "name": "Bob" }, { "label": "Plan 2", "seat": 0, "name": "Ada" }] });
    let start = turn("turn_started", 2, "Cyd", JUDGE);
    let (state, changes) = after(&[sealed, start, judged]);
    assert_eq!(changes, [Change::Judge]);
    assert_eq!(state.planners[0].label, "Plan 2");
    let message = state.message(Change::Judge);
    assert_eq!(message["type"], "judge_update");
    assert_eq!(message["payload"]["run_id"], "r1");
    assert_eq!(message["payload"]["judge"]["summary"], "second is better");
    assert_eq!(message["payload"]["scores"][1]["selected"], true);
    assert_eq!(message["payload"]["scores"][1]["strengths"], json!(["short"]));
    assert_eq!(message["payload"]["scores"][0]["weaknesses"], json!(["no tests"]));
    assert_eq!(message["payload"]["missing_steps"], json!(["a backup"]));
    let warned = json!({ "type": "warned", "code": "demo", "message": "scripted" });
    let settled = json!({ "type": "plan_settled", "plan": {}, "markdown": "# Plan\u{7}\n" });
    let (state, changes) = after(&[warned, settled]);
    assert_eq!(changes, [Change::Plan]);
    let message = state.message(Change::Plan);
    assert_eq!(message["payload"]["final_plan"], "# Plan\\u{7}\n");
    assert_eq!(message["payload"]["errors"], json!([]));
    assert_eq!(message["payload"]["timestamp"], "1970-01-01T00:00:02.000Z");
    assert_eq!(message["payload"]["warnings"][0]["code"], "demo");
    assert_eq!(message["payload"]["warnings"][0]["title"], "Demo voices");
}

#[test]
fn whoever_was_still_working_goes_with_the_run() {
    let start = turn("turn_started", 0, "Ada", PLANNER);
    let (state, _) = after(&[start.clone(), end(json!("cancelled"))]);
    let all = state.planners.iter().chain([&state.judge]);
    assert!(all.map(|member| member.status).all(|status| status == Status::Cancelled));
    let (mut state, _) = after(&[start]);
    assert!(state.stopped() && !state.stopped(), "said once");
    assert_eq!(state.errors, ["the run stopped before its end"]);
    assert_eq!(state.resume, "althing resume r1");
    let resumed = json!({ "type": "run_resumed", "kept": 0, "max_cost_usd": null });
    state.take(&event(9, resumed.clone()));
    assert_eq!((state.errors.len(), state.planners[0].status), (0, Status::Pending));
    assert_eq!(state.resume, "");
    let judge = turn("turn_started", 1, "Cyd", JUDGE);
    let done = checked("Ada", PLANNER, true, None);
    let first = [turn("turn_started", 0, "Ada", PLANNER), done, judge, end(json!("cancelled"))];
    let statuses = |state: &State| {
        let all = state.planners.iter().chain([&state.judge]);
        all.map(|member| member.status).collect::<Vec<_>>()
    };
    use Status::{Cancelled, Complete, Pending};
    let (state, _) = after(&first);
    assert_eq!(statuses(&state), [Complete, Cancelled, Cancelled]);
    let (state, _) = after(&[&first[..], std::slice::from_ref(&resumed)].concat());
    assert_eq!(statuses(&state), [Complete, Pending, Pending]);
    // Bob was let go, and is not asked by the run that goes on.
    let bob = [turn("turn_started", 5, "Bob", PLANNER), failed(5, "Bob", PLANNER, "cancelled")];
    let judged = [checked("Cyd", JUDGE, true, None), end(json!("completed"))];
    let (state, _) = after(&[&first[..2], &bob, &[resumed], &judged].concat());
    assert_eq!(statuses(&state), [Complete, Cancelled, Complete]);
}

#[test]
fn a_run_without_a_plan_says_where_it_stopped_and_how_it_goes_on() {
    #[track_caller]
    fn check(ending: Value, reached: &str, resume: &str) {
        let (state, changes) = after(&[phase(1), phase(2), end(ending)]);
        assert_eq!((json!(state.reached), state.resume.as_str()), (json!(reached), resume));
        assert!(changes.contains(&Change::Phase));
        assert_eq!(state.message(Change::Phase)["payload"]["resume"], resume);
        assert_eq!(state.message(Change::Phase)["payload"]["reached"], reached);
    }
    let failed = |kind: &str| json!({ "failed": { "kind": kind, "message": "why" } });
    check(json!("completed"), "judging", "");
    check(json!("cancelled"), "judging", "althing resume r1");
    check(failed("upstream"), "judging", "althing resume r1 --retry-failed");
    check(failed("cost_limit"), "judging", "althing resume r1 --max-cost USD");
    check(failed("internal"), "judging", "");
}
