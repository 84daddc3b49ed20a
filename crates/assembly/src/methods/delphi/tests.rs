use super::*;
use crate::methods::tests::kit::{render, synthesis, table, voice};
use althing_testkit::Step;

/// A later round of one who held `10 weeks` with HIGH 80; estimate and confidence.
#[track_caller]
fn check(text: &str, want: &str) {
    let before = Before { estimate: "10 weeks".into(), confidence: parse::confidence("HIGH 80") };
    let Parts::Estimate { estimate, unchanged, confidence } =
        read(text, Round::Later(Some(&before)))
    else {
        panic!("an estimate is an estimate")
    };
    let same = if unchanged { "same " } else { "" };
    assert_eq!(format!("{same}{estimate} | {}", brief::in_words(confidence)), want, "\n{text}");
}

#[test]
fn estimates_as_models_write_them() {
    check("REVISED ESTIMATE: 12 weeks\nCONFIDENCE: LOW 20", "12 weeks | LOW (20)");
    check("**Revised Estimate:** 12 weeks\n**Confidence:** medium", "12 weeks | MEDIUM (60)");
    check("confidence: high\nestimate: 12 weeks", "12 weeks | HIGH (85)");
    check("12 weeks.\n\nCONFIDENCE: LOW", "12 weeks. | LOW (30)");
    check("REVISED ESTIMATE: UNCHANGED\nCONFIDENCE: LOW", "same 10 weeks | LOW (30)");
    check("REVISED ESTIMATE: **Unchanged** (10 weeks)", "same 10 weeks | HIGH (80)");
    check("UNCHANGED\n\nCONFIDENCE: 90", "same 10 weeks | HIGH (90)");
    check("UNCHANGED: I see no reason to move.", "same 10 weeks | HIGH (80)");
    check(
        "REVISED ESTIMATE: 12 weeks; the rest is UNCHANGED\nCONFIDENCE: LOW",
        "12 weeks; the rest is UNCHANGED | LOW (30)",
    );
    check(
        "REVISED ESTIMATE: 12 weeks\nREASONING: Panelist A is UNCHANGED",
        "12 weeks | not stated",
    );
    check("My view is not unchanged: 12 weeks", "My view is not unchanged: 12 weeks | not stated");
    check("CONFIDENCE: HIGH 80\nREASONING: because", " | HIGH (80)");
    check("REVISED ESTIMATE:\nCONFIDENCE: HIGH, MEDIUM or LOW", " | not stated");
    check("REVISED ESTIMATE: None\nCONFIDENCE: LOW", " | LOW (30)");
    check("REVISED ESTIMATE: or the word UNCHANGED", " | not stated");
    check("slow and highly uncertain", "slow and highly uncertain | not stated");
}

#[test]
fn nothing_is_unchanged_where_nothing_was_before() {
    for round in [Round::First, Round::Later(None)] {
        let Parts::Estimate { estimate, unchanged, .. } = read("ESTIMATE: UNCHANGED", round) else {
            panic!("an estimate is an estimate")
        };
        assert_eq!((estimate.as_str(), unchanged), ("UNCHANGED", false));
    }
}

/// A panel of ten of which `same` change nothing in the second round.
async fn phases(same: usize, lost: usize) -> String {
    let table = table("delphi", 10).script(move |call| {
        let is_second = call.heard.plain.contains("the second round");
        vec![match call.seat {
            seat if is_second && seat < same => Step::Say("REVISED ESTIMATE: UNCHANGED"),
            seat if is_second && seat >= 10 - lost => Step::Refuse,
            _ => Step::SayText(voice(call)),
        }]
    });
    let log = render(&table.hold().await);
    let starts = log.lines().filter_map(|line| line.strip_prefix("== "));
    starts.map(|line| &line[..1]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_settled_panel_has_no_third_round() {
    for (same, lost, want) in [
        (10, 0, "124"),
        (7, 0, "124"),
        (6, 0, "1234"),
        (0, 0, "1234"),
        (6, 2, "124"),
        (0, 9, "1234"),
    ] {
        assert_eq!(phases(same, lost).await, want, "{same} unchanged, {lost} lost");
    }
}

#[tokio::test(start_paused = true)]
async fn who_lost_a_round_holds_the_estimate_before() {
    let table = table("delphi", 3).script(|call| match (call.seat, call.nth) {
        (1, 1) => vec![Step::Refuse],
        (2, 0) => vec![Step::Refuse],
        _ => vec![Step::SayText(voice(call))],
    });
    table.hold().await;
    let calls = table.stage.calls();
    let third = crate::prompt::hear(&calls[6].ask);
    let names: Vec<&str> = third.quotes.iter().map(|(name, _)| name.as_str()).collect();
    let sure = "confidence HIGH (80)";
    assert_eq!(names, ["A", "B", "A", "C"].map(|letter| format!("Panelist {letter}, {sure}")));
    assert!(third.quotes[1].1.contains("0 weeks"), "of the first round: {}", third.quotes[1].1);
    assert!(third.quotes[3].1.contains("2 weeks"), "of the second: {}", third.quotes[3].1);
    assert!(third.plain.contains("Figures: lowest 0, median 2, highest 2."), "{}", third.plain);
}

/// What the panel is told where only some state an estimate.
#[tokio::test(start_paused = true)]
async fn only_stated_estimates_are_counted() {
    let table = table("delphi", 4).script(|call| {
        vec![match (call.seat, call.nth) {
            (0, _) if !call.heard.labels.contains(&"SYNTHESIS".into()) => {
                Step::Say("CONFIDENCE: HIGH 80\nREASONING: 95 of 100 agree.")
            }
            (1, 0) => Step::Say("ESTIMATE: soon\nCONFIDENCE: LOW 20"),
            (1, 1) => Step::Say("REASONING: I have nothing to add in 5 weeks."),
            (2, 0) => Step::Say("ESTIMATE: 8 weeks"),
            (3, 0) => Step::Say("1. about 12 weeks"),
            (_, 1..) if call.heard.labels[0] == "REVISED ESTIMATE" => Step::Say("UNCHANGED"),
            _ => Step::SayText(voice(call)),
        }]
    });
    let events = table.hold().await;
    let calls = table.stage.calls();
    let told = crate::prompt::hear(&calls[4].ask);
    assert!(
        told.plain.contains(
            "3 of 4 panelists have given an estimate. Confidence: HIGH 1, MEDIUM 0, LOW 1, 50 of \
             100 on average. 2 figures: lowest 8, median 10, highest 12."
        ),
        "{}",
        told.plain
    );
    assert!(told.quotes[0].1.starts_with("(not stated)\n\nCONFIDENCE"), "{}", told.quotes[0].1);
    // Who states nothing later still holds what was stated before.
    let more = synthesis(&events).unwrap().more;
    let last = &more.iter().find(|more| more.name == "Statistics").unwrap().text;
    assert!(last.starts_with("3 of 4 panelists"), "{last}");
    assert!(last.ends_with("2 figures: lowest 8, median 10, highest 12."), "{last}");
}
