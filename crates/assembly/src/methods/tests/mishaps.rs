//! Voices that fail, refuse, hang or say nothing, in every phase of every method.

use super::*;
use crate::event::{CONCLUDED_EARLY, Ending, Event, Outcome, What};
use althing_stdx::Kind;
use althing_testkit::Step;
use expect_test::expect;

/// What may happen to a turn.
fn mishaps() -> Vec<Vec<Step>> {
    vec![
        vec![Step::Fail(Kind::Overloaded, "BOOM at once")],
        vec![Step::Say("HALF an ans"), Step::Fail(Kind::Network, "BOOM halfway")],
        vec![Step::Say("I would rather not"), Step::Refuse],
        vec![Step::Say("  \n")],
        vec![Step::Think("hm")],
        vec![Step::Call("shell", "{}")],
        vec![Step::Think("HALF"), Step::Hang],
        vec![Step::Cut],
        vec![Step::Fail(Kind::BadKey, "BOOM for good")],
    ]
}

/// Says what `mishap` is where `seat` speaks for the `nth` time; all else goes well.
fn with_mishap(table: Table, seat: usize, nth: usize, mishap: Vec<Step>) -> Table {
    table.script(move |call| match (call.seat, call.nth) == (seat, nth) {
        true => mishap.clone(),
        false => vec![Step::SayText(voice(call))],
    })
}

fn failures(events: &[Event]) -> Vec<crate::event::Failure> {
    let ends = events.iter().filter_map(|event| match &event.what {
        What::TurnEnded { outcome: Outcome::Failed(failure), .. } => Some(failure.clone()),
        _ => None,
    });
    ends.collect()
}

#[tokio::test(start_paused = true)]
async fn a_lost_turn_is_not_a_lost_discussion() {
    for method in ALL {
        let clean = table(method.name, 4);
        clean.hold().await;
        for seat in 0..4 {
            let own = format!("test:{}-1", name(seat));
            let turns = clean.stage.calls().iter().filter(|call| call.seat == own).count();
            for nth in 0..turns {
                // Three each, so that the seats of a phase have all of them between them.
                for mishap in mishaps().into_iter().cycle().skip(seat + nth).step_by(3).take(3) {
                    lose_a_turn(method, seat, nth, mishap).await;
                }
            }
        }
    }
}

async fn lose_a_turn(method: &Method, seat: usize, nth: usize, mishap: Vec<Step>) {
    let what = format!("{}, seat {seat}, turn {nth}, {mishap:?}", method.name);
    let table = with_mishap(table(method.name, 4), seat, nth, mishap);
    let events = table.hold().await;
    assert_eq!(ending(&events), &Ending::Completed, "{what}");
    let [failure] = &failures(&events)[..] else { panic!("one turn is lost: {what}") };

    // Nobody hears of the failure, nor of what was half said.
    for call in table.stage.calls() {
        for message in &call.ask.messages {
            let heard = [&failure.message, "BOOM", "HALF", "rather not"];
            let leaked = heard.iter().find(|text| message.text.contains(*text));
            assert_eq!(leaked, None, "{what}: {}", message.text);
        }
    }
    let said = events
        .iter()
        .filter(|event| matches!(&event.what, What::TurnEnded { outcome: Outcome::Said(_), .. }));
    let synthesis = synthesis(&events).expect("it concludes");
    assert_eq!(synthesis.messages as usize, said.count() - 1, "{what}");

    let own = format!("test:{}-1", name(seat));
    let calls = table.stage.calls().iter().filter(|call| call.seat == own).count();
    if failure.kind.is_permanent() {
        assert_eq!(calls, nth + 1, "not asked again: {what}");
    }
}

/// Every voice fails in its own words.
async fn all_fail(method: &Method, kind: Kind) -> String {
    let fail = move |call: &Call| {
        vec![Step::FailWith(althing_stdx::Fault::new(kind, format!("no {}", call.name)))]
    };
    last_line(&table(method.name, 4).script(fail).hold().await)
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_each_reason_is_told() {
    check_all(async |method| all_fail(method, Kind::Overloaded).await, expect![[r#"
        standard: => too_few: standard needs 2 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        oxford: => too_few: oxford needs 2 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        advocate: => too_few: no model could write the synthesis (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        socratic: => too_few: socratic needs a thesis and no model gave one (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        delphi: => too_few: delphi needs 3 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        brainstorm: => too_few: brainstorm needs 2 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        tradeoff: => too_few: tradeoff needs 2 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_for_good_nobody_is_asked_in_vain() {
    check_all(async |method| all_fail(method, Kind::NoCredit).await, expect![[r#"
        standard: => too_few: standard needs 2 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        oxford: => too_few: no model could write the synthesis (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        advocate: => too_few: no model could write the synthesis (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        socratic: => too_few: no model could write the synthesis (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        delphi: => too_few: delphi needs 3 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        brainstorm: => too_few: brainstorm needs 2 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
        tradeoff: => too_few: tradeoff needs 2 living models and 0 are left (ada: no ada; bob: no bob; cyd: no cyd; dan: no dan)
    "#]]).await;
}

/// Everyone but the first is out from its second turn on.
#[tokio::test(start_paused = true)]
async fn whoever_is_left_concludes() {
    check_all(
        async |method| {
            let events = table(method.name, 4)
                .script(|call| match call.seat > 0 && call.nth > 0 {
                    true => vec![Step::Fail(Kind::NoCredit, "no money")],
                    false => vec![Step::SayText(voice(call))],
                })
                .hold()
                .await;
            let concluded = synthesis(&events).expect("it concludes");
            let why = concluded.more.iter().find(|more| more.name == CONCLUDED_EARLY);
            format!("{} {}", last_line(&events), why.map_or("", |why| &why.text))
        },
        expect![[r#"
            standard: => completed standard needs 2 living models and 1 is left (bob: no money; cyd: no money; dan: no money)
            oxford: => completed oxford needs a living speaker on each side and AGAINST has none left (bob: no money; cyd: no money; dan: no money)
            advocate: => completed advocate needs 3 living models and 2 are left (cyd: no money; dan: no money)
            socratic: => completed 
            delphi: => completed delphi needs 3 living models and 1 is left (bob: no money; cyd: no money; dan: no money)
            brainstorm: => completed brainstorm needs 2 living models and 1 is left (bob: no money; cyd: no money; dan: no money)
            tradeoff: => completed tradeoff needs 2 living models and 1 is left (bob: no money; cyd: no money; dan: no money)
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn two_misses_in_a_row_are_enough() {
    let table = table("standard", 3).script(|call| match call.seat {
        1 => vec![Step::Fail(Kind::Overloaded, "busy")],
        _ => vec![Step::SayText(voice(call))],
    });
    let events = table.hold().await;
    assert_eq!(ending(&events), &Ending::Completed);
    assert_eq!(failures(&events).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_respondent_is_out_and_another_takes_over() {
    let table = with_mishap(table("socratic", 3), 0, 2, vec![Step::Fail(Kind::BadKey, "bad")]);
    check(
        table,
        expect![[r#"
            == 1/3 Initial Thesis: ada bob cyd
            ada RESPONDENT: ada read 0
            -- 1 to 2
            == 2/3 Socratic Inquiry: ada bob cyd
            bob QUESTIONER: bob read 1
            ada RESPONDENT: ada read 2
            cyd QUESTIONER: cyd read 3
            ada RESPONDENT: FAILED bad_key: bad
            cyd QUESTIONER: cyd read 4
            bob RESPONDENT: bob read 5
            -- 2 to 3
            == 3/3 Aporia: bob cyd
            bob RESPONDENT: bob read 6
            cyd QUESTIONER: cyd read 6
            bob synthesis: YES after 8
               synthesis: synthesis by bob who read 8
               differences: open questions by bob who read 8
               agreed: agreed by bob who read 8
               Evolution: evolution by bob who read 8
               Speakers: RESPONDENT 1: ada / QUESTIONER 1: bob / QUESTIONER 2: cyd
               by one who debated
            => completed
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_respondent_has_no_thesis() {
    let table = with_mishap(table("socratic", 2), 0, 0, vec![Step::Refuse]);
    check(
        table,
        expect![[r#"
            == 1/3 Initial Thesis: ada bob
            ada RESPONDENT: FAILED refused: the model declined to answer
            bob RESPONDENT: bob read 0
            -- 1 to 2
            == 2/3 Socratic Inquiry: ada bob
            ada QUESTIONER: ada read 1
            bob RESPONDENT: bob read 2
            ada QUESTIONER: ada read 3
            bob RESPONDENT: bob read 4
            ada QUESTIONER: ada read 5
            bob RESPONDENT: bob read 6
            -- 2 to 3
            == 3/3 Aporia: ada bob
            bob RESPONDENT: bob read 7
            ada QUESTIONER: ada read 7
            ada synthesis: YES after 9
               synthesis: synthesis by ada who read 9
               differences: open questions by ada who read 9
               agreed: agreed by ada who read 9
               Evolution: evolution by ada who read 9
               Speakers: RESPONDENT 1: ada / QUESTIONER 1: bob
            => completed
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_advocate_is_out_and_a_defender_takes_over() {
    let table = with_mishap(table("advocate", 4), 3, 1, vec![Step::Fail(Kind::BadKey, "bad")]);
    check(
        table,
        expect![[r#"
            == 1/3 Initial Positions: ada bob cyd dan
            ada DEFENDER: ada read 0
            bob DEFENDER: bob read 0
            cyd DEFENDER: cyd read 0
            -- 1 to 2
            == 2/3 Cross-Examination: ada bob cyd dan
            dan ADVOCATE: dan read 3
            ada DEFENDER: ada read 2
            dan ADVOCATE: FAILED bad_key: bad
            ada ADVOCATE: ada read 5
            cyd DEFENDER: cyd read 4
            ada ADVOCATE: ada read 7
            bob DEFENDER: bob read 6
            ada ADVOCATE: ada read 9
            cyd DEFENDER: cyd read 8
            -- 2 to 3
            == 3/3 Verdict: ada bob cyd
            ada synthesis: PARTIAL after 11
               synthesis: verdict by ada who read 11
               differences: unresolved by ada who read 11
               agreed: survived by ada who read 11
               Failed: failed by ada who read 11
               Speakers: DEFENDER 1: ada / DEFENDER 2: bob / DEFENDER 3: cyd / ADVOCATE 1: dan
               by one who debated
            => completed
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_side_without_a_speaker_ends_the_debate_and_it_is_judged() {
    let table = table("oxford", 4).script(|call| match (call.seat % 2, call.nth) {
        (1, 1..) => vec![Step::Fail(Kind::NoCredit, "no money")],
        _ => vec![Step::SayText(voice(call))],
    });
    check(table, expect![[r#"
        == 1/4 Opening Statements: ada bob cyd dan
        ada FOR opening: ada read 0
        bob AGAINST opening: bob read 0
        cyd FOR opening: cyd read 0
        dan AGAINST opening: dan read 0
        -- 1 to 2
        == 2/4 Rebuttals: ada bob cyd dan
        ada FOR rebuttal: ada read 4
        bob AGAINST rebuttal: FAILED no_credit: no money
        cyd FOR rebuttal: cyd read 5
        dan AGAINST rebuttal: FAILED no_credit: no money
        -- 2 to 4
        == 4/4 Judgement: ada cyd
        ada synthesis: - after 6
           synthesis: synthesis by ada who read 6
           differences: differences by ada who read 6
           agreed: agreed by ada who read 6
           Evolution: evolution by ada who read 6
           Speakers: FOR 1: ada / AGAINST 1: bob / FOR 2: cyd / AGAINST 2: dan
           Concluded early: oxford needs a living speaker on each side and AGAINST has none left (bob: no money; dan: no money)
           by one who debated
        => completed
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn the_second_speaker_closes_for_the_first() {
    let table = with_mishap(table("oxford", 4), 0, 2, vec![Step::Refuse]);
    let log = render(&table.hold().await);
    assert!(log.contains("cyd FOR closing: "), "{log}");
}
