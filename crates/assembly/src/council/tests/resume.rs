//! A council that stops after any of its events comes to the same plan, and pays for no plan twice.

use super::kit::{good, plan, say, settled, table};
use crate::event::{Event, Outcome, What};
use crate::methods::tests::kit::{Call, Table};
use crate::past::Place;
use althing_testkit::Step::{self, *};
use std::collections::HashSet;

/// Nothing but the prompt decides what is said, so that asking again gives the same.
fn steady(call: &Call) -> Vec<Step> {
    let is_first = !call.heard.plain.contains("could not be used");
    match call.name {
        "ada" => [vec![WaitMs(300)], say(plan("The plan of Claude in /tmp/x"))].concat(),
        "bob" if is_first => vec![Say("Let me think about it.")],
        "bob" => [vec![WaitMs(100)], say(plan("Bob's second thoughts"))].concat(),
        "cyd" => vec![Say("I cannot do that.")],
        _ => good(call),
    }
}

fn council() -> Table {
    table(3, |_| ()).script(steady)
}

#[track_caller]
fn check_whole(events: &[Event], what: &str) {
    let mut places = HashSet::new();
    let mut checked = HashSet::new();
    for event in events {
        match &event.what {
            What::TurnEnded { by, .. } => {
                assert!(places.insert(Place::from(by)), "{what}: {by:?} is asked again");
            }
            What::AnswerChecked(it) => assert!(checked.insert(it.turn), "{what}: told twice"),
            _ => {}
        }
    }
    let once = |is: fn(&What) -> bool| events.iter().filter(|event| is(&event.what)).count();
    assert_eq!(once(|it| matches!(it, What::LabelsSealed(_))), 1, "{what}");
    assert_eq!(once(|it| matches!(it, What::PlanSettled(_))), 1, "{what}");
}

#[tokio::test(start_paused = true)]
async fn after_every_event_it_goes_on_to_the_same_plan() {
    let whole = council().hold().await;
    let want = settled(&whole).unwrap();
    for cut in 1..whole.len() {
        let table = council();
        let events = table.resumed(&whole[..cut]).await;
        assert_eq!(settled(&events), Some(want.clone()), "cut after {cut} events");
        check_whole(&events, &format!("cut after {cut} events"));
        let ended = whole[..cut].iter().filter(|it| matches!(it.what, What::TurnEnded { .. }));
        let asked = table.stage.calls().len();
        assert_eq!(asked + ended.count(), turns(&whole), "cut after {cut} events");
    }
}

fn turns(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event.what, What::TurnEnded { .. })).count()
}

#[tokio::test(start_paused = true)]
async fn stopped_again_and_again_it_still_comes_to_the_same_plan() {
    let want = settled(&council().hold().await);
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..10 {
        let mut events = council().hold().await;
        for _ in 0..4 {
            events.truncate(random.usize(1..events.len()));
            events = council().resumed(&events).await;
        }
        assert_eq!(settled(&events), want, "seed {seed}, round {round}");
        check_whole(&events, &format!("seed {seed}, round {round}"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_to_finish_stay_the_first() {
    // ada is slower than bob and cyd, who make the two that are judged.
    let of_two = || {
        table(3, |terms| terms.plans_max = 2).script(|call| match call.name {
            "ada" => [vec![WaitMs(300)], good(call)].concat(),
            _ => good(call),
        })
    };
    let whole = of_two().hold().await;
    let want = settled(&whole).unwrap();
    assert_eq!(want["metadata"]["used_plans"].as_array().unwrap().len(), 2);
    let ends: Vec<usize> =
        (0..whole.len()).filter(|at| matches!(whole[*at].what, What::TurnEnded { .. })).collect();
    for cut in ends[1] + 1..whole.len() {
        let events = of_two().resumed(&whole[..cut]).await;
        assert_eq!(settled(&events), Some(want.clone()), "cut after {cut} events");
    }
}

#[tokio::test(start_paused = true)]
async fn seeded_runs_are_the_same_to_the_bit_and_other_seeds_shuffle() {
    let plan = |seed: i64| async move {
        let events = table(4, |terms| terms.seed = seed).script(steady).hold().await;
        let labels = events.iter().find_map(|event| match &event.what {
            What::LabelsSealed(it) => Some(it.labels.clone()),
            _ => None,
        });
        (settled(&events), labels.unwrap())
    };
    let mut orders = HashSet::new();
    for seed in 0..12 {
        let first = plan(seed).await;
        assert_eq!(first, plan(seed).await, "seed {seed}");
        orders.insert(first.1.iter().map(|it| it.seat).collect::<Vec<_>>());
    }
    assert!(orders.len() > 4, "labels must not follow the order of the planners: {orders:?}");
}

#[tokio::test(start_paused = true)]
async fn who_failed_is_asked_again_only_when_told_to() {
    let refusing = || table(1, |_| ()).script(|_| vec![Say("I cannot.")]);
    let failed = refusing().hold().await;
    assert_eq!(settled(&failed), None);
    let again = table(1, |_| ()).script(good);
    let events = again.resumed(&failed).await;
    assert_eq!((settled(&events), again.stage.calls().len()), (None, 0));
    let events = again.held(&failed, true, std::future::pending()).await;
    assert!(settled(&events).is_some());
    let kept = table(2, |terms| terms.fallback = false).script(|call| match call.name {
        "cyd" => vec![Say("no")],
        _ => good(call),
    });
    let failed = kept.hold().await;
    let again = table(2, |terms| terms.fallback = false).script(good);
    let events = again.held(&failed, true, std::future::pending()).await;
    assert!(settled(&events).is_some());
    assert_eq!(again.stage.calls().len(), 1, "only the judge");
}

#[tokio::test(start_paused = true)]
async fn cancelled_it_drops_every_call_and_goes_on_later() {
    let table = council();
    let stop = tokio::time::sleep(std::time::Duration::from_millis(200));
    let events = table.held(&[], false, stop).await;
    assert!(table.stage.calls().iter().any(|call| call.dropped()));
    let is_said =
        |event: &&Event| matches!(&event.what, What::TurnEnded { outcome: Outcome::Said(_), .. });
    assert!(events.iter().filter(is_said).count() > 0);
    let want = settled(&council().hold().await);
    assert_eq!(settled(&council().resumed(&events).await), want);
}
