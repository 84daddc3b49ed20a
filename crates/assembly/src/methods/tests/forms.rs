//! Weak voices: forms that come back as they were sent, and talk around what was asked.

use super::*;
use crate::event::{Event, Outcome, Parts, Synthesis, What};
use crate::methods::brief::NOT_STATED;
use althing_testkit::Step;
use expect_test::expect;

/// A line of the form that a prompt asks for.
#[derive(Clone)]
struct Asked {
    label: String,
    what: String,
}

/// The form of a real prompt.
fn form_of(call: &Call) -> Vec<Asked> {
    let form = call.heard.plain.split("labels in capitals:\n").nth(1).unwrap_or_default();
    let line = |(label, what): (&str, &str)| Asked { label: label.into(), what: what.into() };
    form.lines().filter_map(|line| line.split_once(": ")).map(line).collect()
}

/// Ways to repeat a line.
const DRESSES: [fn(&Asked) -> String; 8] = [
    |it| format!("{}: {}\n", it.label, it.what),
    |it| format!("{}: {} ", it.label, it.what),
    |it| format!("**{}:** {}.\n\n", it.label, it.what),
    |it| format!("- **{}**: *{}*\n", it.label, it.what),
    |it| format!("## {}\n\n{}\n\n", it.label, it.what),
    |it| format!("{}: [{}]\n", it.label, it.what),
    |it| format!("{}: \"{}\"\n", it.label, it.what.to_uppercase()),
    |it| format!("{}: {}\n", it.label, first_part(&it.what)),
];

/// The words before the first mark, where they are more than one or two.
fn first_part(what: &str) -> &str {
    let part = what.split([':', ';', ',']).next().unwrap_or(what);
    if part.split(' ').count() > 2 { part } else { what }
}

/// The parts of all speeches, as they were read.
fn parts(events: &[Event]) -> Vec<Parts> {
    let said = events.iter().filter_map(|event| match &event.what {
        What::TurnEnded { outcome: Outcome::Said(said), .. } => Some(said.parts.clone()),
        _ => None,
    });
    said.collect()
}

/// A table at which forms come back in this dress.
fn echoing(method: &Method, dress: fn(&Asked) -> String) -> Table {
    table(method.name, 4).script(move |call| {
        let form: String = form_of(call).iter().map(dress).collect();
        vec![Step::SayText(if form.is_empty() { voice(call) } else { form })]
    })
}

#[track_caller]
fn check_nothing_stated(parts: &Parts, what: &str) {
    match parts {
        Parts::Plain => {}
        Parts::Critique { agreements, disagreements, missing } => {
            assert_eq!([agreements, disagreements, missing], ["", "", ""], "{what}");
        }
        Parts::Position { position, confidence } => {
            assert_eq!((position.as_str(), *confidence), ("", None), "{what}");
        }
        Parts::Estimate { estimate, unchanged, confidence } => {
            assert_eq!((estimate.as_str(), unchanged, confidence), ("", &false, &None), "{what}");
        }
        Parts::Synthesis(it) => check_empty_synthesis(it, what),
    }
}

#[track_caller]
fn check_empty_synthesis(it: &Synthesis, what: &str) {
    assert_eq!((&it.consensus, it.agreed.as_str()), (&None, ""), "{what}");
    assert_eq!([&it.synthesis, &it.differences], [NOT_STATED, NOT_STATED], "{what}");
    assert_eq!(it.confidences, [], "{what}");
    let ours: Vec<&str> = it.more.iter().map(|more| more.name.as_str()).collect();
    assert!(ours.iter().all(|name| ["Statistics", "Speakers"].contains(name)), "{what}: {ours:?}");
}

#[tokio::test(start_paused = true)]
async fn a_form_that_comes_back_states_nothing() {
    for method in ALL {
        for (at, dress) in DRESSES.into_iter().enumerate() {
            let what = format!("{} in dress {at}", method.name);
            let table = echoing(method, dress);
            let events = table.hold().await;
            assert_eq!(last_line(&events), "=> completed", "{what}");
            parts(&events).iter().for_each(|parts| check_nothing_stated(parts, &what));
            let last = table.stage.calls().last().map(|call| crate::prompt::hear(&call.ask).plain);
            let told = last.unwrap_or_default();
            for count in ["Mean scores", "Figures:", "of 100 on average", " picks and "] {
                assert!(!told.contains(count), "{what}: {told}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_that_comes_back_and_is_then_filled_in_counts() {
    for method in ALL {
        let clean = parts(&table(method.name, 4).hold().await);
        for dress in DRESSES {
            let table = table(method.name, 4).script(move |call| {
                let form: String = form_of(call).iter().map(dress).collect();
                vec![Step::SayText(format!("{form}\n\n{}", voice(call)).trim().to_string())]
            });
            assert_eq!(parts(&table.hold().await), clean, "{}", method.name);
        }
    }
}

/// Every label that the method's prompts ask for, once, in order.
async fn labels_of(method: &Method) -> Vec<String> {
    let table = table(method.name, 4);
    table.hold().await;
    let mut labels: Vec<String> = Vec::new();
    for label in table.stage.calls().iter().flat_map(|call| crate::prompt::hear(&call.ask).labels) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// A run in which only the line of `label` comes back as it was sent.
async fn hold_with_echo(method: &Method, label: &str, dress: fn(&Asked) -> String) -> Vec<Event> {
    let label = label.to_string();
    let table = table(method.name, 4).script(move |call| {
        let echoed = form_of(call).into_iter().find(|line| line.label == label);
        let mut heard = crate::prompt::hear(call.ask);
        heard.labels.retain(|other| *other != label);
        let rest = side(voice(&Call { heard, ..*call }), call);
        let echo = echoed.map(|line| dress(&line)).unwrap_or_default();
        vec![Step::SayText(format!("{echo}\n{rest}").trim().to_string())]
    });
    table.hold().await
}

/// A verdict that the form has, where it asks for a side.
fn side(said: String, call: &Call) -> String {
    match call.heard.plain.contains("FOR or AGAINST") {
        true => said.replace("CONSENSUS: YES", "CONSENSUS: FOR"),
        false => said,
    }
}

/// What a run states, piece by piece.
fn pieces(events: &[Event]) -> Vec<String> {
    let parts = parts(events);
    let count = |test: fn(&Parts) -> bool| parts.iter().filter(|parts| test(parts)).count();
    let critiques = parts.iter().filter_map(|parts| match parts {
        Parts::Critique { agreements, disagreements, missing } => {
            Some([agreements, disagreements, missing].map(|text| !text.is_empty()))
        }
        _ => None,
    });
    let critiques: Vec<[bool; 3]> = critiques.collect();
    let in_critiques = |at: usize| critiques.iter().filter(|critique| critique[at]).count();
    let it = synthesis(events).unwrap();
    let more = |name: &str| {
        let found = it.more.iter().find(|more| more.name == name);
        found.map_or("none", |more| more.text.as_str()).replace('\n', " / ")
    };
    vec![
        format!(
            "positions {}",
            count(|it| matches!(it, Parts::Position { position, .. } if !position.is_empty()))
        ),
        format!(
            "estimates {}",
            count(|it| matches!(it, Parts::Estimate { estimate, .. } if !estimate.is_empty()))
        ),
        format!("agreements {}", in_critiques(0)),
        format!("disagreements {}", in_critiques(1)),
        format!("missing {}", in_critiques(2)),
        format!("sure {}", it.confidences.len()),
        format!("unstated {}", it.unstated.len()),
        format!("consensus {}", it.consensus.as_deref().unwrap_or("none")),
        format!("agreed {}", !it.agreed.is_empty()),
        format!("synthesis {}", it.synthesis.replace('\n', " / ")),
        format!("differences {}", it.differences != NOT_STATED),
        format!("Evolution {}", more("Evolution") != "none"),
        format!("Failed {}", more("Failed") != "none"),
        format!("When to choose differently {}", more("When to choose differently") != "none"),
        format!("Statistics {}", more("Statistics")),
        format!("Votes {}", more("Votes")),
        format!("Scores {}", more("Scores")),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_label_that_comes_back_states_nothing_of_its_own() {
    let mut lines = String::new();
    for method in ALL {
        let clean = pieces(&hold_with_echo(method, "", DRESSES[0]).await);
        for label in labels_of(method).await {
            let mut first: Option<String> = None;
            for dress in DRESSES {
                let events = hold_with_echo(method, &label, dress).await;
                let changed = pieces(&events).into_iter().filter(|piece| !clean.contains(piece));
                let changed = changed.collect::<Vec<_>>().join("; ");
                let first = first.get_or_insert_with(|| changed.clone());
                assert_eq!(*first, changed, "{} {label}", method.name);
            }
            lines += &format!("{} {label}: {}\n", method.name, first.unwrap_or_default());
        }
    }
    expect![[r#"
        standard AGREEMENTS: agreements 0
        standard DISAGREEMENTS: disagreements 0
        standard MISSING: missing 0
        standard POSITION: positions 0
        standard CONFIDENCE: sure 0; unstated 4
        standard CONSENSUS: consensus none
        standard AGREED: agreed false
        standard SYNTHESIS: synthesis (not stated)
        standard DIFFERENCES: differences false
        standard EVOLUTION: Evolution false
        oxford CONSENSUS: consensus none
        oxford AGREED: agreed false
        oxford SYNTHESIS: synthesis (not stated)
        oxford DIFFERENCES: differences false
        oxford EVOLUTION: Evolution false
        advocate SURVIVED: agreed false
        advocate FAILED: Failed false
        advocate UNRESOLVED: differences false
        advocate VERDICT: consensus none; synthesis (not stated)
        socratic APORIA: consensus none
        socratic AGREED: agreed false
        socratic SYNTHESIS: synthesis (not stated)
        socratic OPEN QUESTIONS: differences false
        socratic EVOLUTION: Evolution false
        delphi ESTIMATE: estimates 8
        delphi CONFIDENCE: sure 0; unstated 4; Statistics 4 of 4 panelists have given an estimate. Confidence: HIGH 0, MEDIUM 0, LOW 0. Figures: lowest 8, median 8, highest 8.
        delphi ASSUMPTIONS: 
        delphi REASONING: 
        delphi REVISED ESTIMATE: estimates 4; Statistics 4 of 4 panelists have given an estimate. Confidence: HIGH 4, MEDIUM 0, LOW 0, 80 of 100 on average. Figures: lowest 0, median 0, highest 0.
        delphi CONVERGENCE: consensus none
        delphi AGREED: agreed false
        delphi SYNTHESIS: synthesis (not stated)
        delphi DIFFERENCES: differences false
        delphi EVOLUTION: Evolution false
        brainstorm PICK 1: Votes 2. ada's second idea ada read 0 (ada): 4 picks, 12 points / 3. bob's first idea (bob): 4 picks, 8 points
        brainstorm PICK 2: Votes 1. ada's first idea (ada): 4 picks, 12 points / 3. bob's first idea (bob): 4 picks, 8 points
        brainstorm PICK 3: synthesis IDEA 1: idea 1 by ada who read 5 /  / IDEA 2: idea 2 by ada who read 5 /  / IDEA 3: idea 3 by ada who read 5; Votes 1. ada's first idea (ada): 4 picks, 12 points / 2. ada's second idea ada read 0 (ada): 4 picks, 8 points
        brainstorm IDEA 1: consensus none; synthesis (not stated)
        brainstorm IDEA 2: consensus 1 SELECTED; synthesis IDEA 1: idea 1 by ada who read 6
        brainstorm IDEA 3: consensus 2 SELECTED; synthesis IDEA 1: idea 1 by ada who read 6 /  / IDEA 2: idea 2 by ada who read 6
        brainstorm IDEA 4: 
        brainstorm IDEA 5: 
        brainstorm ALTERNATIVES: differences false
        tradeoff ALTERNATIVE A: Scores 1. Plan B: 8.0 of 10 / 2. Plan C: 6.0 of 10 / Criteria: Cost 1, Cost 2, Cost 3, Cost 4, Cost 5, Cost 6. Tables read: 4.
        tradeoff ALTERNATIVE B: Scores 1. Plan A: 8.0 of 10 / 2. Plan C: 6.0 of 10 / Criteria: Cost 1, Cost 2, Cost 3, Cost 4, Cost 5, Cost 6. Tables read: 4.
        tradeoff ALTERNATIVE C: Scores 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / Criteria: Cost 1, Cost 2, Cost 3, Cost 4, Cost 5, Cost 6. Tables read: 4.
        tradeoff ALTERNATIVE D: 
        tradeoff CRITERION 1: Scores 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / 3. Plan C: 4.0 of 10 / Criteria: Cost 2, Cost 3, Cost 4, Cost 5, Cost 6. Tables read: 4.
        tradeoff CRITERION 2: Scores 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / 3. Plan C: 4.0 of 10 / Criteria: Cost 1, Cost 3, Cost 4, Cost 5, Cost 6. Tables read: 4.
        tradeoff CRITERION 3: Scores 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / 3. Plan C: 4.0 of 10 / Criteria: Cost 1, Cost 2, Cost 4, Cost 5, Cost 6. Tables read: 4.
        tradeoff CRITERION 4: Scores 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / 3. Plan C: 4.0 of 10 / Criteria: Cost 1, Cost 2, Cost 3, Cost 5, Cost 6. Tables read: 4.
        tradeoff CRITERION 5: Scores 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / 3. Plan C: 4.0 of 10 / Criteria: Cost 1, Cost 2, Cost 3, Cost 4, Cost 6. Tables read: 4.
        tradeoff CRITERION 6: Scores 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / 3. Plan C: 4.0 of 10 / Criteria: Cost 1, Cost 2, Cost 3, Cost 4, Cost 5. Tables read: 4.
        tradeoff SCORES: Scores none
        tradeoff REASONING: 
        tradeoff ALIGNMENT: consensus none
        tradeoff RECOMMENDATION: synthesis analysis by ada who read 6
        tradeoff AGREED: agreed false
        tradeoff TRADEOFFS: differences false
        tradeoff ANALYSIS: synthesis RECOMMENDATION: recommendation by ada who read 6
        tradeoff OTHERWISE: When to choose differently false
    "#]].assert_eq(&lines);
}

/// What voices say that talk around a label.
fn talk(label: &str) -> &'static str {
    match label {
        "CONSENSUS" | "APORIA" | "CONVERGENCE" | "ALIGNMENT" => {
            "There is no consensus stated here, and much to be said for both sides."
        }
        "CONFIDENCE" => "I have no confidence; the risk is high.",
        "ESTIMATE" | "REVISED ESTIMATE" => "None",
        "SCORES" => "I cannot score 2 plans on 3 criteria from 1-10.",
        _ if label.starts_with("PICK") => "None of the 2 ideas is for 1 of us.",
        _ => "None",
    }
}

#[tokio::test(start_paused = true)]
async fn talk_around_a_form_states_nothing() {
    for method in ALL {
        let table = table(method.name, 4).script(|call| {
            let lines = call.heard.labels.iter().map(|label| format!("{label}: {}\n", talk(label)));
            let form: String = lines.collect();
            vec![Step::SayText(if form.is_empty() { voice(call) } else { form })]
        });
        let events = table.hold().await;
        let it = synthesis(&events).unwrap();
        assert_eq!((&it.consensus, it.confidences.len()), (&None, 0), "{}", method.name);
        assert_eq!(it.synthesis, NOT_STATED, "{}", method.name);
        let counted = it.more.iter().find(|more| ["Votes", "Scores"].contains(&more.name.as_str()));
        assert_eq!(counted, None, "{}", method.name);
        let estimates = parts(&events).into_iter().filter_map(|parts| match parts {
            Parts::Estimate { estimate, .. } => Some(estimate),
            _ => None,
        });
        assert!(estimates.into_iter().all(|estimate| estimate.is_empty()), "{}", method.name);
    }
}
