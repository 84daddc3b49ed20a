//! Answers in, the plan or the complaint out.

use super::super::tests::kit;
use super::search::{Found, OPEN_ENDS_MAX, STARTS_HALF_MAX, scan};
use super::*;
use serde_json::json;

const PROMPT: &str = "Write a plan as one JSON object and nothing else";

#[track_caller]
fn finds(text: &str, want: &Value) {
    let found = extract(text, Form::CouncilPlan, PROMPT).map(|found| found.value);
    assert_eq!(found.as_ref(), Ok(want));
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
    let bare = json!({ "summary": "x", "phases": plan["phases"], "risks": [], "notes": "y" });
    let problems = extract(&bare.to_string(), Form::CouncilPlan, PROMPT).unwrap_err();
    assert!(problems.iter().any(|it| it.what.contains("'notes' was unexpected")), "{problems:?}");
    assert!(problems.iter().any(|it| it.what.contains("\"tests\" is a required")), "{problems:?}");
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
        let scanned = scan(&flood, &mut Found::default());
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

/// The answer of a model whose JSON is broken: what is told is the place, and no fields of a part.
#[test]
fn a_broken_answer_is_told_by_its_outermost_place() {
    let pretty = serde_json::to_string_pretty(&kit::plan("Ship it")).unwrap();
    let broken = pretty.replace("\"Ship it\"", "\"Ship \"it\" now\"");
    complains(
        &format!("Here you are:\n```json\n{broken}\n```"),
        &[
            "line 4, column 21: there must be ',' or '}' (a quote inside a text is written \\\"), not 'i'",
        ],
    );
    let broken = pretty.replace("\"complexity\": 3", "\"complexity\": three");
    let line = 1 + broken.lines().position(|line| line.contains("three")).unwrap();
    let column = 1 + broken.lines().nth(line - 1).unwrap().find("three").unwrap();
    let told = format!("line {line}, column {column}: there must be a value, not 't'");
    complains(&broken, &[&told]);
    complains(
        &format!("{{\"note\": \"a plan follows\"}}\n{broken}"),
        &[&told.replacen(&format!("line {line}"), &format!("line {}", line + 1), 1)],
    );
}

#[test]
fn what_can_only_mean_one_thing_is_mended_and_told() {
    #[track_caller]
    fn check(text: &str, want: &Value, repairs: &[&str]) {
        let found = extract(text, Form::CouncilPlan, PROMPT).unwrap();
        assert_eq!(
            (&found.value, found.repairs),
            (want, repairs.iter().map(|it| it.to_string()).collect())
        );
    }
    let plan = kit::plan("Ship it");
    let text = plan.to_string();
    check(&text, &plan, &[]);
    let comma = format!("Sure:\n{},}}", &text[..text.len() - 1]);
    let column = text.chars().count();
    check(&comma, &plan, &[&format!("line 2, column {column}: the comma before '}}' is left out")]);
    let comment = text.replacen('{', "{ // the plan\n", 1);
    check(&comment, &plan, &["line 1, column 3: a comment is left out"]);
    let raw = text.replacen("Ship it", "Ship\nit", 1);
    let want = kit::plan("Ship\nit");
    check(&raw, &want, &["line 1, column 17: a line break inside a text is escaped"]);
    let half = text.replacen("Ship it", "Ship \\ud83d", 1);
    let want = kit::plan("Ship \u{fffd}");
    check(&half, &want, &["line 1, column 18: half of a surrogate pair is replaced by U+FFFD"]);
}

#[test]
fn a_draft_in_the_thoughts_never_beats_the_answer() {
    let mut draft = kit::plan("a long draft of a plan that was only thought about");
    draft["risks"] = json!(["one", "two", "three"]);
    let answer = kit::plan("s");
    for (open, close) in [
        ("<think>", "</think>"),
        ("<thinking>\n", "</thinking>"),
        ("", "</think>"),
        ("◁think▷", "◁/think▷"),
        ("<|channel|>analysis<|message|>", "<|end|><|channel|>final<|message|>"),
    ] {
        finds(&format!("{open}Maybe {draft} or not{close}\n{answer}"), &answer);
        complains(
            &format!("{open}Maybe {draft} or not{close}\nI would rather not."),
            &["$: the JSON stands in the thoughts only; the answer comes behind them"],
        );
        let mut wrong = answer.clone();
        wrong["phases"][0]["tasks"][0]["complexity"] = json!(12);
        complains(
            &format!("{open}{draft}{close}{wrong}"),
            &["$.phases[0].tasks[0].complexity: 12 is greater than the maximum of 10"],
        );
    }
    // A thought that nobody ended, and a plan about such tags.
    finds(&format!("<think>{answer}"), &answer);
    finds(&format!("<think>{draft} No, better:\n{answer}"), &answer);
    let about = kit::plan("Strip <think> and </think> from answers");
    finds(&format!("Here: {about} Done."), &about);
}
