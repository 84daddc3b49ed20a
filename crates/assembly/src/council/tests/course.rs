//! Every rule of the course: who is asked again, how, and what comes of it.

use super::kit::{good, plan, render, say, settled, table, task, verdict};
use crate::council::Terms;
use crate::council::schema::Form;
use crate::methods::tests::kit::Call;
use althing_stdx::Kind;
use althing_testkit::Step::{self, *};
use expect_test::{Expect, expect};
use serde_json::json;

/// Two planners and a judge by this script; none: as [`good`] does.
async fn check(
    change: impl FnOnce(&mut Terms),
    script: impl Fn(&Call) -> Option<Vec<Step>> + Send + Sync + 'static,
    want: Expect,
) {
    let table = table(2, change);
    let table = table.script(move |call| script(call).unwrap_or_else(|| good(call)));
    let events = table.hold().await;
    want.assert_eq(&render(&events));
    if let Some(plan) = settled(&events) {
        assert_eq!(Form::FinalPlan.problems(&plan), []);
    }
}

fn same(_: &mut Terms) {}

#[tokio::test(start_paused = true)]
async fn a_good_run() {
    check(same, |_| None, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_answer_is_asked_again_at_once_with_its_errors() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("ada", 0) => Some(say(json!({ "summary": "only this" }))),
        ("ada", 1) => {
            assert!(call.heard.plain.contains("JSON only"), "{}", call.heard.plain);
            assert!(call.heard.plain.contains("\"phases\" is a required property"));
            Some(vec![Say("Sorry about that: "), SayText(plan("mended").to_string())])
        }
        ("bob", 0) => Some([vec![Wait(50)], say(plan("slow"))].concat()),
        _ => None,
    };
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn three_invalid_answers_are_the_end_of_a_planner_and_not_of_the_run() {
    let script = |call: &Call| (call.name == "ada").then(|| vec![Say("no JSON here")]);
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_and_an_empty_answer_are_asked_once_more_with_less() {
    let script = |call: &Call| {
        let is_reduced = !call.heard.question.contains("Notes:");
        match (call.name, call.nth) {
            ("ada", 0) => Some(vec![Say("so"), Refuse]),
            ("ada", _) => Some(vec![Say("I'm sorry, but I can't help with that.")]),
            ("bob", 0) => Some(vec![]),
            ("bob", 1) => {
                assert!(is_reduced, "{}", call.heard.question);
                None
            }
            _ => None,
        }
    };
    let notes = |terms: &mut Terms| terms.task["repo_context"] = json!({ "notes": "a lot" });
    check(notes, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_tried_again_within_what_is_left() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("ada", _) => Some(vec![Say("{"), Hang]),
        ("bob", 0) => Some(vec![Hang]),
        _ => None,
    };
    // Two thirds of 120 s are for the planners: one attempt of 60 s, and one of 20 s.
    check(|terms| terms.budget_ms = 120_000, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn no_plan_within_the_budget_is_said_so() {
    check(|terms| terms.budget_ms = 60_000, |_| Some(vec![Hang]), expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_and_an_empty_account_are_not_tried_again() {
    let script = |call: &Call| match call.name {
        "ada" => Some(vec![Fail(Kind::BadKey, "bad key")]),
        "bob" => Some(vec![Fail(Kind::NoCredit, "no credit")]),
        _ => None,
    };
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_tried_again_in_the_same_words() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("ada", 0) => Some(vec![Say("{"), Cut]),
        ("bob", 0 | 1) => Some(vec![Fail(Kind::Overloaded, "busy")]),
        _ => None,
    };
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn the_first_plans_to_finish_are_judged_and_the_rest_are_let_go() {
    let script = |call: &Call| {
        (call.name == "ada").then(|| [vec![Wait(30)], say(plan("late"))].concat())
    };
    check(|terms| terms.plans_max = 1, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_judge_is_asked_again_like_a_planner() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("cyd", 0) => Some(say(verdict(&["Plan 1", "Plan 9"], "Plan 1"))),
        ("cyd", 1) => {
            assert!(call.heard.plain.contains("'Plan 9' is no label"), "{}", call.heard.plain);
            Some(vec![Hang])
        }
        _ => None,
    };
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_verdict_with_a_loose_end_is_mended_or_taken() {
    let script = |call: &Call| {
        let mut verdict = verdict(&["Plan 1", "Plan 2"], "Plan 1");
        verdict["merged_plan"]["phases"][0]["tasks"] = json!([task("Do it", &["the moon"])]);
        (call.name == "cyd").then(|| say(verdict))
    };
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_judge_who_fails_is_replaced_by_the_score() {
    let script = |call: &Call| match call.name {
        "cyd" => Some(vec![Fail(Kind::BadKey, "bad key")]),
        "ada" => {
            let mut plan = plan("short of sections");
            plan["rollback"] = json!([]);
            Some(say(plan))
        }
        _ => None,
    };
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_fallback_a_judge_who_fails_ends_the_run() {
    let script = |call: &Call| (call.name == "cyd").then(|| vec![Say("Plan 1, I think")]);
    check(|terms| terms.fallback = false, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn the_judge_sees_no_names_and_the_person_sees_them_all() {
    let script = |call: &Call| match call.name {
        "ada" | "bob" => {
            let path = "/home/ada/shop/src/db.rs";
            let text = format!("As {}-1, edit {path} with GPT-5 on google maps", call.name);
            Some(say(plan(&text)))
        }
        "cyd" => {
            let read = call.heard.quotes.iter().map(|(_, text)| text.as_str()).collect::<String>();
            for leak in ["ada", "bob", "GPT", "/home"] {
                assert!(!read.contains(leak), "{leak} in {read}");
            }
            assert!(read.contains("google maps"));
            let mut verdict = verdict(&["Plan 1", "Plan 2"], "Plan 2");
            verdict["merged_plan"]["overview"] = json!("First [path-1], then the rest");
            Some(say(verdict))
        }
        _ => None,
    };
    check(same, script, expect![[""]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_cost_limit_ends_the_run_and_it_can_go_on() {
    let mut table = table(2, same).script(good);
    table.price = Some(0.4);
    table.opening.max_cost_usd = Some(1.0);
    let events = table.hold().await;
    expect![[""]].assert_eq(&render(&events));
    table.opening.max_cost_usd = Some(5.0);
    let events = table.resumed(&events).await;
    assert!(settled(&events).is_some());
    assert_eq!(table.stage.calls().len(), 3, "no plan is paid for twice");
}
