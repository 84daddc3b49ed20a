//! Who speaks at the same time, how long it takes, how many turns there are, who concludes.

use super::*;
use crate::event::{Ending, What};
use althing_testkit::Step;
use expect_test::expect;

/// Voices that take 1, 2, 3 s … by seat: a phase all at once takes as long as its slowest.
fn slow(call: &Call) -> Vec<Step> {
    vec![Step::Wait(call.seat as u64 + 1), Step::SayText(voice(call))]
}

#[tokio::test(start_paused = true)]
async fn parallel_phases_take_as_long_as_their_slowest_voice() {
    check_all(
        async |method| {
            let table = table(method.name, if method.even { 2 } else { 3 }).script(slow);
            let events = table.hold().await;
            let seconds = events.iter().filter_map(|event| match &event.what {
                What::PhaseStarted { .. } | What::RunEnded { .. } => {
                    Some((event.at_ms / 1000).to_string())
                }
                _ => None,
            });
            let seconds: Vec<String> = seconds.collect();
            format!("{} s, at most {} at once", seconds.join(" "), table.stage.peak())
        },
        expect![[r#"
            standard: 0 3 6 12 15 16 s, at most 3 at once
            oxford: 0 3 6 9 10 s, at most 1 at once
            advocate: 0 3 21 24 s, at most 1 at once
            socratic: 0 1 11 18 s, at most 1 at once
            delphi: 0 3 6 9 10 s, at most 3 at once
            brainstorm: 0 3 6 9 10 s, at most 3 at once
            tradeoff: 0 3 6 9 10 s, at most 3 at once
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn turns_set_the_length_of_the_free_part() {
    check_all(
        async |method| {
            let mut shown = Vec::new();
            for turns in [1, 7, 100] {
                let mut table = table(method.name, 4);
                table.opening.turns = turns;
                let events = table.hold().await;
                assert_eq!(ending(&events), &Ending::Completed);
                let calls = table.stage.calls().len();
                assert_eq!(calls, (method.calls)(4, turns as usize), "{}", method.name);
                shown.push(calls.to_string());
            }
            shown.join(", ")
        },
        expect![[r#"
            standard: 14, 20, 113
            oxford: 11, 11, 11
            advocate: 16, 18, 204
            socratic: 12, 12, 106
            delphi: 13, 13, 13
            brainstorm: 13, 13, 13
            tradeoff: 13, 13, 13
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn twenty_seats() {
    check_all(
        async |method| {
            let events = table(method.name, 20).hold().await;
            let synthesis = synthesis(&events).expect("it concludes");
            format!("{:?} after {}", ending(&events), synthesis.messages)
        },
        expect![[r#"
            standard: Completed after 80
            oxford: Completed after 42
            advocate: Completed after 95
            socratic: Completed after 41
            delphi: Completed after 60
            brainstorm: Completed after 60
            tradeoff: Completed after 60
        "#]],
    )
    .await;
}

/// Who wrote, or tried to write, the synthesis.
fn writers(events: &[crate::Event]) -> String {
    let writers = events.iter().filter_map(|event| match &event.what {
        What::TurnStarted(turn) if turn.speech == crate::event::Speech::Synthesis => {
            Some(turn.name.clone())
        }
        _ => None,
    });
    writers.collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn the_synthesis_order_holds_for_every_method() {
    for method in ALL {
        let mut table = table(method.name, 4);
        table.opening.synthesizers = vec![2, 0, 1, 3];
        // In advocate who examined comes first, whoever would be asked otherwise.
        let is_examined = method.name == "advocate";
        let first = if is_examined { "dan" } else { "cyd" };
        assert_eq!(writers(&table.hold().await), first, "{}", method.name);
        // Who fails to write is followed by the next, also where it is out for good by then.
        for kind in [althing_stdx::Kind::Overloaded, althing_stdx::Kind::NoCredit] {
            let events = table
                .clone()
                .script(move |call| match (call.seat, is_synthesis(call)) {
                    (2 | 0, true) => vec![Step::Fail(kind, "no")],
                    (3, true) if is_examined => vec![Step::Fail(kind, "no")],
                    _ => vec![Step::SayText(voice(call))],
                })
                .hold()
                .await;
            let order = if is_examined { "dan cyd ada bob" } else { "cyd ada bob" };
            assert_eq!(writers(&events), order, "{}", method.name);
            assert_eq!(ending(&events), &Ending::Completed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_can_conclude() {
    check_all(
        async |method| {
            let events = table(method.name, 4)
                .script(|call| match is_synthesis(call) {
                    true => vec![Step::Refuse],
                    false => vec![Step::SayText(voice(call))],
                })
                .hold()
                .await;
            last_line(&events)
        },
        expect![[r#"
            standard: => too_few: no model could write the synthesis (ada: the model declined to answer; bob: the model declined to answer; cyd: the model declined to answer; dan: the model declined to answer)
            oxford: => too_few: no model could write the synthesis (ada: the model declined to answer; bob: the model declined to answer; cyd: the model declined to answer; dan: the model declined to answer)
            advocate: => too_few: no model could write the synthesis (ada: the model declined to answer; bob: the model declined to answer; cyd: the model declined to answer; dan: the model declined to answer)
            socratic: => too_few: no model could write the synthesis (ada: the model declined to answer; bob: the model declined to answer; cyd: the model declined to answer; dan: the model declined to answer)
            delphi: => too_few: no model could write the synthesis (ada: the model declined to answer; bob: the model declined to answer; cyd: the model declined to answer; dan: the model declined to answer)
            brainstorm: => too_few: no model could write the synthesis (ada: the model declined to answer; bob: the model declined to answer; cyd: the model declined to answer; dan: the model declined to answer)
            tradeoff: => too_few: no model could write the synthesis (ada: the model declined to answer; bob: the model declined to answer; cyd: the model declined to answer; dan: the model declined to answer)
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn chosen_roles_are_kept() {
    for (name, roles, first) in [
        ("oxford", [("FOR", vec![3, 1]), ("AGAINST", vec![0, 2])], "dan FOR"),
        ("advocate", [("Advocate", vec![0]), ("Defenders", vec![1, 2, 3])], "bob DEFENDER"),
        ("socratic", [("Respondent", vec![2]), ("Questioners", vec![3, 1, 0])], "cyd RESPONDENT"),
    ] {
        let mut table = table(name, 4);
        table.opening.roles = roles.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
        crate::method(name).unwrap().check_roles(&table.opening.roles, 4).unwrap();
        let log = render(&table.hold().await);
        let line = log.lines().nth(1).unwrap();
        assert!(line.starts_with(first), "{name}: {line}");
        table.opening.roles.clear();
        let log = render(&table.hold().await);
        assert!(log.lines().nth(1).unwrap().starts_with("ada "), "{name}: the default roles");
    }
}
