//! Answers in, the plan or the complaint out.

use super::super::tests::kit;
use super::*;
use serde_json::json;

const PROMPT: &str = "Write a plan as one JSON object and nothing else";

#[track_caller]
fn finds(text: &str, want: &Value) {
    assert_eq!(extract(text, Form::CouncilPlan, PROMPT).as_ref(), Ok(want));
}

#[track_caller]
fn complains(text: &str, want: &[&str]) {
    let problems = extract(text, Form::CouncilPlan, PROMPT).unwrap_err();
    let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
    assert_eq!(problems, want);
}

#[test]
fn a_plan_is_found_however_it_is_wrapped() {
    let plan = kit::plan("Ship it");
    let pretty = serde_json::to_string_pretty(&plan).unwrap();
    finds(&plan.to_string(), &plan);
    finds(&format!("\u{feff}  {pretty}\n"), &plan);
    finds(&format!("Here you are:\n```json\n{pretty}\n```\nGood luck {{really}}!"), &plan);
    finds(&format!("```{plan}```"), &plan);
    finds(&format!("\u{1b}[32m{plan}\u{1b}[0m\u{1b}]0;title\u{7}"), &plan);
    finds(&json!({ "result": plan, "usage": { "tokens": 3 } }).to_string(), &plan);
    finds(&json!([{ "type": "text" }, { "council_plan": plan }]).to_string(), &plan);
    finds(&format!("{{not json}} [1, 2] {{\"a\": 1}} then {plan} and more }}"), &plan);
    finds(&format!("```json\n{pretty}"), &plan);
}

#[test]
fn the_largest_that_fits_is_taken_and_the_schema_is_the_arbiter() {
    let (small, mut large) = (kit::plan("s"), kit::plan("the larger plan by far"));
    large["risks"] = json!(["one", "two"]);
    finds(&format!("draft: {small}\nfinal: {large}"), &large);
    finds(&format!("final: {large}\nother: {small}"), &large);
    let bigger_but_wrong = json!({ "summary": "x".repeat(5000) });
    finds(&format!("{bigger_but_wrong} {small}"), &small);
}

#[test]
fn what_is_wrong_is_told_of_the_nearest() {
    complains("I would rather not.", &["$: there is no JSON object in the answer"]);
    complains("", &["$: there is no JSON object in the answer"]);
    let mut plan = kit::plan("x");
    plan["phases"][0]["tasks"][0]["complexity"] = json!(12);
    complains(
        &format!("{{\"far\": \"off\"}} {plan}"),
        &["$.phases[0].tasks[0].complexity: 12 is greater than the maximum of 10"],
    );
    let cut = kit::plan("x").to_string();
    let problems = extract(&cut[..cut.len() - 40], Form::CouncilPlan, PROMPT).unwrap_err();
    assert_eq!(problems[0].what, "the JSON breaks off before its end");
}

#[test]
fn templates_echoes_and_empty_sections_are_no_plans() {
    let mut plan = kit::plan("<what will be done>");
    complains(&plan.to_string(), &["$.summary: '<what will be done>' is a place to be filled in"]);
    plan = kit::plan("Return Vec<String> from it");
    finds(&plan.to_string(), &plan);
    plan["phases"][0]["tasks"][0]["steps"] = json!(["  "]);
    complains(&plan.to_string(), &["$.phases[0].tasks[0].steps[0]: it is empty"]);
    let brief = "The service must move from one database to the other without any downtime at all \
                 and the old one has to be kept for a month in case something goes wrong later";
    let task = json!({
        "title": brief, "description": brief, "steps": [brief], "inputs": [], "outputs": [],
        "dependencies": [], "acceptance_criteria": [], "complexity": 1
    });
    let echo = json!({
        "summary": brief, "phases": [{ "name": brief, "goal": brief, "tasks": [task] }],
        "risks": [], "edge_cases": [], "tests": [], "assumptions": []
    });
    let problems = extract(&echo.to_string(), Form::CouncilPlan, brief).unwrap_err();
    assert_eq!(problems[0].what, "it repeats the request instead of answering it");
}

#[test]
fn floods_are_read_in_a_bounded_number_of_steps() {
    /// To read on from every opening of such a flood to its end would take hours.
    const BYTES: usize = 300_000;
    let plan = kit::plan("x");
    for flood in ["{", "[", "{\"a\":", "[1,", "{\"a\":\"{", "[{} ", "{\"", "`"] {
        let flood = flood.repeat(BYTES / flood.len());
        let scanned = scan(&flood, &mut vec![]);
        assert!(scanned.tries <= 2 * STARTS_HALF_MAX, "{} tries", scanned.tries);
        let open_ends = scanned.open_ends;
        assert!(open_ends <= 2 * (OPEN_ENDS_MAX + 1), "{open_ends} looks at all the rest");
        // Not found behind a flood of openings, but it ends; a fence is found all the same.
        assert!(extract(&flood, Form::CouncilPlan, PROMPT).is_err());
        let fenced = format!("{flood}\n```json\n{plan}\n```");
        if !flood.contains('`') && !flood.contains('"') {
            finds(&fenced, &plan);
        }
    }
}

#[test]
fn a_plan_is_found_before_and_behind_a_flood_of_values() {
    let plan = kit::plan("x");
    for flood in ["{\"log\": [1, {\"x\": 2}]} {[ {\"\n", "{ [ {", "[[]] {} \n"] {
        let flood = flood.repeat(20_000);
        finds(&format!("{plan}\n{flood}"), &plan);
        finds(&format!("{flood}\n{plan}"), &plan);
    }
}

#[test]
fn a_refusal_is_told_from_a_bad_answer() {
    for (text, want) in [
        ("I’m sorry, but I can't help with that.", true),
        ("I cannot assist with planning this.", true),
        ("Sure! Here is the plan in words.", false),
        ("{\"note\": \"I cannot\"}", false),
        ("", false),
    ] {
        assert_eq!(is_refusal(text), want, "{text}");
    }
}

#[test]
fn every_cut_of_a_plan_is_an_error_and_no_panic() {
    let text = format!("é {}", kit::plan("naïve 東京"));
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        assert!(extract(&text[..end], Form::CouncilPlan, PROMPT).is_err(), "cut at {end}");
    }
}
