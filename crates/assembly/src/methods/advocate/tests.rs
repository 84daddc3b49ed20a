use super::*;
use crate::methods::tests::kit::{is_synthesis, render, table, voice};
use althing_testkit::Step;

#[test]
fn an_examination_is_complete_wherever_a_reply_states_it() {
    for (reply, want) in [
        ("EXAMINATION COMPLETE", true),
        ("examination complete.", true),
        ("**Examination Complete**", true),
        ("I have heard enough.\n\nEXAMINATION COMPLETE: no further questions", true),
        ("“EXAMINATION COMPLETE”", true),
        ("All that matters is answered, so EXAMINATION COMPLETE.", true),
        ("I thank you. EXAMINATION COMPLETE, and nothing is left to ask.", true),
        ("What would sink it? You answered that; EXAMINATION COMPLETE", true),
        ("I am far from writing EXAMINATION COMPLETE if you do not answer.", false),
        ("Until I write EXAMINATION COMPLETE, go on.", false),
        ("This is not EXAMINATION COMPLETE.", false),
        ("The examination is not yet complete.", false),
        ("EXAMINATION COMPLETE would be premature: why tea?", false),
        ("You say EXAMINATION COMPLETE, but why tea?", false),
        ("> EXAMINATION COMPLETE", false),
        ("Is the examination complete?", false),
        ("EXAMINATION COMPLÈTE", false),
        ("", false),
    ] {
        assert_eq!(is_complete(reply), want, "{reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_defender_who_is_let_go_is_not_asked_again() {
    let table = table("advocate", 4).script(|call| {
        let lets_go = call.seat == 3 && call.heard.plain.contains("You examine DEFENDER 2");
        vec![Step::SayText(if lets_go { COMPLETE.into() } else { voice(call) })]
    });
    let log = render(&table.hold().await);
    assert_eq!(log.matches("bob DEFENDER").count(), 1, "only its position: {log}");
    assert_eq!(log.matches("ADVOCATE: EXAMINATION COMPLETE").count(), 1, "{log}");
    assert_eq!(log.matches("ada DEFENDER").count(), 3, "{log}");
}

/// Whoever examined gives the verdict, however the synthesizer is chosen.
#[tokio::test(start_paused = true)]
async fn the_advocate_gives_the_verdict() {
    let mut table = table("advocate", 4);
    table.opening.synthesizers = vec![1, 2, 3, 0];
    let log = render(&table.hold().await);
    assert!(log.contains("dan synthesis: PARTIAL"), "{log}");
    let silent = table.script(|call| match is_synthesis(call) && call.seat == 3 {
        true => vec![Step::Refuse],
        false => vec![Step::SayText(voice(call))],
    });
    let log = render(&silent.hold().await);
    assert!(log.contains("bob synthesis: PARTIAL"), "{log}");
}

#[test]
fn verdicts_as_models_write_them() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        let read = read(text);
        let more: Vec<String> = read.more.into_iter().map(|more| more.text).collect();
        let fields = [
            read.consensus.unwrap_or("-".into()),
            read.agreed,
            more.join(", "),
            read.differences,
            read.synthesis,
        ];
        assert_eq!(fields.join(" | "), want, "\n{text}");
    }
    const OPEN: &str = NOTHING_OPEN;
    check("SURVIVED: s\nFAILED: f\nUNRESOLVED: u\nVERDICT: v", "PARTIAL | s | f | u | v");
    check(
        "**Verdict:** v\n\n**Survived:** none\n\n**Failed:** f\n\n**Unresolved:** None",
        &format!("PARTIAL |  | f | {OPEN} | v"),
    );
    check("Nothing holds.", "- |  |  | (not stated) | Nothing holds.");
    check("SURVIVED: s\nVERDICT:", "- | s |  | (not stated) | (not stated)");
    check("VERDICT: None\nUNRESOLVED:", "- |  |  | (not stated) | (not stated)");
    check(
        "## FAILED\nf\n## VERDICT\nv\nVERDICT: NO",
        "PARTIAL |  | f | (not stated) | v\nVERDICT: NO",
    );
}
