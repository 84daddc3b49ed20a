//! Every rule of the course: who is asked again, how, and what comes of it.

use super::kit::{good, plan, render, say, settled, table, task, verdict};
use crate::council::Terms;
use crate::council::schema::Form;
use crate::methods::tests::kit::{Call, Table, flat_price};
use althing_chat::Stop;
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
    check(
        same,
        |_| None,
        expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: The plan of number 0
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]],
    )
    .await;
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
    check(same, script, expect![[r#"
        0 ada is asked
        0 ada is not valid: $: "phases" is a required property; $: "risks" is a required property; $: "edge_cases" is a required property; $: "tests" is a required property; $: "assumptions" is a required property => Stricter
        0 ada is asked
        0 ada is valid at attempt 2: mended
        0 bob is asked
        50000 bob is valid at attempt 1: slow
        Plan 1 is ada, Plan 2 is bob
        50000 cyd is asked
        50000 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_goes_in_circles_is_cut_and_asked_for_again() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("ada", 0) => {
            let circle = "you are asked to meet the challenges, ".repeat(900);
            Some(vec![Say("{\"summary\": \""), SayText(circle), Say("\"}")])
        }
        _ => None,
    };
    check(
        same,
        script,
        expect![[r#"
        0 ada is asked
        0 ada fails, upstream: it said the same again and again
        0 ada is not valid: it said the same again and again => Same
        0 ada is asked
        0 ada is valid at attempt 2: The plan of number 0
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn three_invalid_answers_are_the_end_of_a_planner_and_not_of_the_run() {
    let script = |call: &Call| (call.name == "ada").then(|| vec![Say("no JSON here")]);
    check(
        same,
        script,
        expect![[r#"
        0 ada is asked
        0 ada is not valid: $: there is no JSON object in the answer => Stricter
        0 ada is asked
        0 ada is not valid: $: there is no JSON object in the answer => Stricter
        0 ada is asked
        0 ada is not valid: $: there is no JSON object in the answer => lost
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        ! planner_failed: ada: its answer is no valid one ($: there is no JSON object in the answer)
        Plan 1 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_is_told_as_that() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("ada", 0) => {
            let long = format!("{{\"summary\": \"a{}", " long".repeat(1000));
            Some(vec![SayText(long), End(Stop::Length)])
        }
        // A plan that is whole is one, whatever was cut beside it.
        ("ada", 1) => Some([say(plan("short")), vec![End(Stop::Length)]].concat()),
        _ => None,
    };
    check(same, script, expect![[r#"
        0 ada is asked
        0 ada is not valid: $: the answer is longer than its limit; 4 KB of it were heard; $: the JSON breaks off before its end => Stricter
        0 ada is asked
        0 ada is valid at attempt 2: short
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_has_no_limit_that_a_provider_could_refuse() {
    let table = Table { window: 200_000, ..table(2, same) };
    let table = table.script(|call| match (call.name, call.nth) {
        ("ada", 0) => vec![Say("no plan")],
        _ => good(call),
    });
    table.hold().await;
    let calls = table.stage.calls();
    let of_ada: Vec<_> = calls.iter().filter(|call| call.seat == "test:ada-1").collect();
    assert_eq!(of_ada.len(), 2);
    assert!(calls.iter().all(|call| call.ask.max_tokens.is_none()));
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
    check(
        notes,
        script,
        expect![[r#"
        0 ada is asked
        0 ada fails, refused: the model declined to answer
        0 ada is not valid: the model declined to answer => Reduced
        0 ada is asked
        0 ada is not valid: the model declined to answer => lost
        0 bob is asked
        0 bob fails, refused: the model said nothing
        0 bob is not valid: the model said nothing => Reduced
        0 bob is asked
        0 bob is valid at attempt 2: The plan of number 1
        ! planner_failed: ada: the model declined to answer
        Plan 1 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_tried_again_within_what_is_left() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("ada", _) => Some(vec![Say("{"), Hang]),
        ("bob", 0) => Some(vec![Hang]),
        _ => None,
    };
    // Two thirds of 120 s are for the planners: one attempt of 60 s, and one of 20 s.
    check(
        |terms| terms.budget_ms = 120_000,
        script,
        expect![[r#"
        0 ada is asked
        0 bob is asked
        60000 ada fails, timed_out: no answer within 60 s
        60000 ada is not valid: no answer within 60 s => Same
        60000 ada is asked
        60000 bob fails, timed_out: no answer within 60 s
        60000 bob is not valid: no answer within 60 s => Same
        60000 bob is asked
        60000 bob is valid at attempt 2: The plan of number 1
        80000 ada fails, timed_out: the time budget of the run is used up
        80000 ada is not valid: the time budget of the run is used up => lost
        ! planner_failed: ada: the time budget of the run is used up
        Plan 1 is bob
        80000 cyd is asked
        80000 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_plan_within_the_budget_is_said_so() {
    check(|terms| terms.budget_ms = 60_000, |_| Some(vec![Hang]), expect![[r#"
        0 ada is asked
        0 bob is asked
        40000 ada fails, timed_out: the time budget of the run is used up
        40000 ada is not valid: the time budget of the run is used up => lost
        40000 bob fails, timed_out: the time budget of the run is used up
        40000 bob is not valid: the time budget of the run is used up => lost
        => timed_out: no planner gave a valid plan (ada: the time budget of the run is used up; bob: the time budget of the run is used up)
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_and_an_empty_account_are_not_tried_again() {
    let script = |call: &Call| match call.name {
        "ada" => Some(vec![Fail(Kind::BadKey, "bad key")]),
        "bob" => Some(vec![Fail(Kind::NoCredit, "no credit")]),
        _ => None,
    };
    check(
        same,
        script,
        expect![[r#"
        0 ada is asked
        0 ada fails, bad_key: bad key
        0 ada is not valid: bad key => lost
        0 bob is asked
        0 bob fails, no_credit: no credit
        0 bob is not valid: no credit => lost
        => too_few: no planner gave a valid plan (ada: bad key; bob: no credit)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_tried_again_in_the_same_words() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("ada", 0) => Some(vec![Say("{"), Cut]),
        ("bob", 0 | 1) => Some(vec![Fail(Kind::Overloaded, "busy")]),
        _ => None,
    };
    check(
        same,
        script,
        expect![[r#"
        0 ada is asked
        0 ada fails, network: the answer broke off
        0 ada is not valid: the answer broke off => Same
        0 ada is asked
        0 ada is valid at attempt 2: The plan of number 0
        0 bob is asked
        0 bob fails, overloaded: busy
        0 bob is not valid: busy => Same
        0 bob is asked
        0 bob fails, overloaded: busy
        0 bob is not valid: busy => Same
        0 bob is asked
        0 bob is valid at attempt 3: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_first_plans_to_finish_are_judged_and_the_rest_are_let_go() {
    let script =
        |call: &Call| (call.name == "ada").then(|| [vec![Wait(30)], say(plan("late"))].concat());
    check(
        |terms| terms.plans_max = 1,
        script,
        expect![[r#"
        0 ada is asked
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        0 ada fails, cancelled: enough plans were finished before this one
        0 ada is not valid: enough plans were finished before this one => lost
        ! plan_left_out: ada was not among the first 1 to finish
        Plan 1 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]],
    )
    .await;
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
    check(same, script, expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: The plan of number 0
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is not valid: $.scores[1].label: 'Plan 9' is no label; there are Plan 1, Plan 2; $.scores: 'Plan 2' has 0 scores; every plan has exactly one => Stricter
        0 cyd is asked
        60000 cyd fails, timed_out: no answer within 60 s
        60000 cyd is not valid: no answer within 60 s => Same
        60000 cyd is asked
        60000 cyd is valid at attempt 3: Plan 1 is selected
        the judge selects Plan 1
        => "The best of all"
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_verdict_with_a_loose_end_is_mended_or_taken() {
    let script = |call: &Call| {
        let mut verdict = verdict(&["Plan 1", "Plan 2"], "Plan 1");
        verdict["merged_plan"]["phases"][0]["tasks"] = json!([task("Do it", &["the moon"])]);
        (call.name == "cyd").then(|| say(verdict))
    };
    check(same, script, expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: The plan of number 0
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is not valid: $.merged_plan.phases: 'Do it' depends on 'the moon', which is no task => Stricter
        0 cyd is asked
        0 cyd is valid at attempt 2: Plan 1 is selected
        ! dependency_unresolved: 'Do it' depends on 'the moon', which is no task
        the judge selects Plan 1
        => "The best of all"
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_verdict_with_a_loose_end_counts_where_no_better_one_comes() {
    let script = |call: &Call| match (call.name, call.nth) {
        ("cyd", 0) => {
            let mut verdict = verdict(&["Plan 1", "Plan 2"], "Plan 1");
            verdict["merged_plan"]["phases"][0]["tasks"] = json!([task("Do it", &["the moon"])]);
            Some(say(verdict))
        }
        ("cyd", _) => Some(vec![Say("Plan 1, I think")]),
        _ => None,
    };
    check(same, script, expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: The plan of number 0
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is not valid: $.merged_plan.phases: 'Do it' depends on 'the moon', which is no task => Stricter
        0 cyd is asked
        0 cyd is not valid: $: there is no JSON object in the answer => Stricter
        0 cyd is asked
        0 cyd is valid at attempt 3: Plan 1 is selected, by attempt 1; the last one was no better: its answer is no valid one ($: there is no JSON object in the answer)
        ! dependency_unresolved: 'Do it' depends on 'the moon', which is no task
        the judge selects Plan 1
        => "The best of all"
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_judge_who_fails_is_replaced_by_the_score() {
    let script = |call: &Call| match call.name {
        "cyd" => Some(vec![Fail(Kind::BadKey, "bad key")]),
        "ada" => {
            let mut plan = plan("short of sections");
            for section in ["rollback", "edge_cases", "risks"] {
                plan[section] = json!([]);
            }
            Some(say(plan))
        }
        _ => {
            let mut plan = plan("The plan of number 1");
            plan["phases"][0]["tasks"] = json!([task("Do it", &["the moon"])]);
            Some(say(plan))
        }
    };
    check(same, script, expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: short of sections
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd fails, bad_key: bad key
        0 cyd is not valid: bad key => lost
        ! judge_fallback: the judge gave no valid verdict (bad key); the best-scored plan stands as it is
        ! dependency_unresolved: 'Do it' depends on 'the moon', which is no task
        the score selects Plan 2
        => "The plan of number 1"
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_fallback_a_judge_who_fails_ends_the_run() {
    let script = |call: &Call| (call.name == "cyd").then(|| vec![Say("Plan 1, I think")]);
    check(|terms| terms.fallback = false, script, expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: The plan of number 0
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is not valid: $: there is no JSON object in the answer => Stricter
        0 cyd is asked
        0 cyd is not valid: $: there is no JSON object in the answer => Stricter
        0 cyd is asked
        0 cyd is not valid: $: there is no JSON object in the answer => lost
        => upstream: the judge gave no valid verdict: its answer is no valid one ($: there is no JSON object in the answer)
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn the_judge_sees_no_names_and_the_person_sees_them_all() {
    let script = |call: &Call| match call.name {
        "ada" | "bob" => {
            let path = "/home/ada/shop/src/db.rs";
            let text = format!(
                "As {}-1, edit {path} with GPT-5 of Acme or Zebra on google maps, in \
                 /net/shop/src, not /folk/eve; fill in [path-1]",
                call.name
            );
            Some(say(plan(&text)))
        }
        "cyd" => {
            let read = call.heard.quotes.iter().map(|(_, text)| text.as_str()).collect::<String>();
            for leak in ["ada", "bob", "GPT", "Acme", "Zebra", "/home", "/net", "/folk"] {
                assert!(!read.contains(leak), "{leak} in {read}");
            }
            assert!(read.contains("google maps"));
            let mut verdict = verdict(&["Plan 1", "Plan 2"], "Plan 2");
            verdict["merged_plan"]["overview"] = json!("First [path-4], then [path-1]");
            Some(say(verdict))
        }
        _ => None,
    };
    let named = |terms: &mut Terms| {
        terms.names = vec!["acme:big-1".into()];
        terms.task["agents"] = json!({ "judge": { "kind": "zebra" } });
        terms.task["repo_context"] = json!({ "root": "/net/shop" });
        terms.folders = vec!["/folk/eve".into()];
    };
    check(named, script, expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: As ada-1, edit /home/ada/shop/src/db.rs with GPT-5 of Acme or Zebra on google maps, in /net/shop/src, not /folk/eve; fill in [path-1]
        0 bob is asked
        0 bob is valid at attempt 1: As bob-1, edit /home/ada/shop/src/db.rs with GPT-5 of Acme or Zebra on google maps, in /net/shop/src, not /folk/eve; fill in [path-1]
        Plan 1 is ada, Plan 2 is bob
        0 cyd is asked
        0 cyd is valid at attempt 1: Plan 2 is selected
        the judge selects Plan 2
        => "First /home/ada/shop/src/db.rs, then [path-1]"
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_cost_limit_ends_the_run_and_it_can_go_on() {
    let mut table = table(2, same).script(good);
    table.price = flat_price(0.4);
    table.opening.max_cost_usd = Some(1.0);
    let events = table.hold().await;
    expect![[r#"
        0 ada is asked
        0 ada is valid at attempt 1: The plan of number 0
        0 bob is asked
        0 bob is valid at attempt 1: The plan of number 1
        Plan 1 is ada, Plan 2 is bob
        => cost_limit: stopped at the cost limit: $0.8000 spent or under way, the next call may cost $0.4000, and max_cost_usd (ALTHING_MAX_COST, --max-cost) is $1.00
    "#]].assert_eq(&render(&events));
    table.opening.max_cost_usd = Some(5.0);
    let events = table.resumed(&events).await;
    assert!(settled(&events).is_some());
    assert_eq!(table.stage.calls().len(), 3, "no plan is paid for twice");
}
