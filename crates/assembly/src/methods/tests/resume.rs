//! A run that stops after any of its events goes on as if it had not.

use super::*;
use crate::event::{Ending, Event, Outcome, Speech, What};
use crate::past::Place;
use althing_stdx::Kind;
use althing_testkit::Step;
use std::collections::{BTreeMap, HashSet};

/// A number that tells one prompt from another, whatever its mark.
fn digest(call: &Call) -> u32 {
    let heard = format!("{:?} {}", call.heard, call.name);
    heard
        .bytes()
        .fold(2_166_136_261, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619))
}

/// Says what tells exactly what it heard; nothing but the prompt decides.
fn telling(call: &Call) -> Vec<Step> {
    vec![Step::SayText(format!("{}\n({:x})", voice(call), digest(call)))]
}

/// As `telling`, but some turns fail, some for good; `salt` says which.
fn frail(call: &Call, salt: u32) -> Vec<Step> {
    match (digest(call) ^ salt) % 24 {
        0..4 => vec![Step::Fail(Kind::Overloaded, "busy")],
        4 => vec![Step::Fail(Kind::BadKey, "bad key")],
        _ => telling(call),
    }
}

/// All turns of a run in the method's order, without numbers and times.
fn course(events: &[Event]) -> Vec<String> {
    let mut turns: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::TurnEnded { by, outcome } => Some((by, outcome)),
            _ => None,
        })
        .collect();
    turns.sort_by_key(|(by, _)| (by.phase, if by.parallel { by.seat } else { 0 }));
    let show = |outcome: &Outcome| match outcome {
        Outcome::Said(said) => format!("{} {:?}", said.text, said.parts),
        Outcome::Failed(failure) => format!("{failure:?}"),
    };
    let lines = turns.into_iter().map(|(by, outcome)| {
        let place = (by.phase, by.seat, by.nth, by.speech, &by.role, &by.round);
        format!("{place:?} {}", show(outcome))
    });
    lines.collect()
}

fn phases(events: &[Event]) -> Vec<u32> {
    let starts = events.iter().filter_map(|event| match &event.what {
        What::PhaseStarted { phase, .. } => Some(*phase),
        _ => None,
    });
    starts.collect()
}

/// Every turn that began ended once or was interrupted once, and no place was held twice.
fn check_turns(events: &[Event], what: &str) {
    let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
    let mut places = HashSet::new();
    for event in events {
        match &event.what {
            What::TurnStarted(turn) => assert_eq!(ends.insert(turn.turn, 0), None, "{what}"),
            What::TurnInterrupted { turn } => *ends.get_mut(turn).expect(what) += 1,
            What::TurnEnded { by, .. } => {
                *ends.get_mut(&by.turn).expect(what) += 1;
                assert!(places.insert(Place::from(by)), "asked again: {what}");
            }
            _ => {}
        }
    }
    assert!(ends.values().all(|count| *count == 1), "{what}: {ends:?}");
    assert!(events.iter().enumerate().all(|(at, event)| event.seq == at as u64), "{what}");
}

fn check_same(whole: &[Event], resumed: &[Event], what: &str) {
    check_turns(resumed, what);
    assert_eq!(course(resumed), course(whole), "{what}");
    assert_eq!(phases(resumed), phases(whole), "{what}");
    assert_eq!(ending(resumed), ending(whole), "{what}");
    assert_eq!(synthesis(resumed), synthesis(whole), "{what}");
}

/// Cuts a run after every event and resumes it with fresh voices; cuts every third of those runs once
/// more, halfway.
async fn cut_everywhere(table: &Table) -> Vec<Event> {
    let whole = table.hold().await;
    check_turns(&whole, &table.opening.method);
    for cut in 0..=whole.len() {
        let what = format!("{} cut after {cut} of {}", table.opening.method, whole.len());
        let resumed = table.resumed(&whole[..cut]).await;
        check_same(&whole, &resumed, &what);
        if cut % 3 > 0 {
            continue;
        }
        let halfway = cut + (resumed.len() - cut) / 2;
        let again = table.resumed(&resumed[..halfway]).await;
        check_same(&whole, &again, &format!("{what}, and again after {halfway}"));
    }
    whole
}

#[tokio::test(start_paused = true)]
async fn after_every_event() {
    for method in ALL {
        let table = table(method.name, method.seats_min.next_multiple_of(2)).script(telling);
        let whole = cut_everywhere(&table).await;
        assert_eq!(ending(&whole), &Ending::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn after_every_event_with_pauses() {
    for method in ALL {
        let mut table = table(method.name, 4).script(telling);
        table.opening.turns = 1;
        table.opening.pause_ms = Some(1000);
        let whole = cut_everywhere(&table).await;
        let pauses = |events: &[Event]| {
            let is_end = |event: &&Event| matches!(event.what, What::PauseEnded { .. });
            events.iter().filter(is_end).count()
        };
        assert_eq!(pauses(&whole), phases(&whole).len() - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn after_every_event_where_turns_fail() {
    let mut failed = 0;
    for method in ALL {
        for salt in [0, 7] {
            let table = table(method.name, 4).script(move |call| frail(call, salt));
            let whole = cut_everywhere(&table).await;
            failed += course(&whole).iter().filter(|turn| turn.contains("Failure")).count();
        }
    }
    assert!(failed > 14, "only {failed} turns failed");
}

#[tokio::test(start_paused = true)]
async fn only_what_is_missing_is_asked() {
    for method in ALL {
        let table = table(method.name, 4);
        let whole = table.hold().await;
        let calls = table.stage.calls().len();
        let again = Table { stage: Default::default(), ..table.clone() };
        let events = again.resumed(&whole).await;
        assert_eq!(again.stage.calls(), [], "{}: everything was said", method.name);
        let kept = events.iter().find_map(|event| match event.what {
            What::RunResumed { kept, .. } => Some(kept as usize),
            _ => None,
        });
        assert_eq!(kept, Some(calls));
    }
}

#[tokio::test(start_paused = true)]
async fn failed_turns_are_asked_again_where_wanted() {
    for method in ALL {
        let broken = table(method.name, 4)
            .script(|_| vec![Step::Fail(Kind::NoCredit, "no money")])
            .hold()
            .await;
        assert!(matches!(ending(&broken), Ending::Failed(_)));
        let mended = table(method.name, 4).script(telling);
        let events = mended.held(&broken, true, std::future::pending()).await;
        assert_eq!(ending(&events), &Ending::Completed, "{}", method.name);
        let clean = course(&mended.hold().await);
        assert!(clean.iter().all(|turn| course(&events).contains(turn)), "{}", method.name);
        // Without the wish, what failed has failed.
        let events = mended.held(&broken, false, std::future::pending()).await;
        assert_eq!(ending(&events), ending(&broken));
    }
}

/// A role that fell to another seat and goes back: a question is not read as an answer.
#[tokio::test(start_paused = true)]
async fn a_turn_in_another_role_is_not_taken_for_this_one() {
    let fails_first = |call: &Call| match call.heard.quotes.is_empty() && call.seat == 0 {
        true => vec![Step::Fail(Kind::Overloaded, "busy")],
        false => telling(call),
    };
    let events = table("socratic", 2).script(fails_first).hold().await;
    assert!(render(&events).contains("bob RESPONDENT"));
    let is_last_phase = |event: &Event| matches!(event.what, What::PhaseStarted { phase: 3, .. });
    let cut = events.iter().position(is_last_phase).expect("it has a third phase");
    let mended = table("socratic", 2).script(telling);
    let again = mended.held(&events[..cut], true, std::future::pending()).await;
    for event in &again[cut..] {
        if let What::TurnEnded { by, .. } = &event.what {
            let role = if by.seat == 0 { "RESPONDENT" } else { "QUESTIONER" };
            let is_synthesis = by.speech == Speech::Synthesis;
            assert!(is_synthesis || by.role.as_deref() == Some(role), "{by:?}");
        }
    }
    let asked = mended.stage.calls().len();
    assert_eq!(asked, (crate::method("socratic").unwrap().calls)(2, 2), "all of them anew");
    assert_eq!(ending(&again), &Ending::Completed);
}
