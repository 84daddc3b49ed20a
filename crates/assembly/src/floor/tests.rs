//! Time, money and mishaps on the floor itself.

mod budget;
mod limits;

use super::*;
use crate::event::{CONCLUDED_EARLY, Ending, Event, Totals};
use crate::methods::ALL;
use crate::methods::tests::kit::{self, Record, Table, ending, render, synthesis, voice};
use crate::run;
use althing_chat::Stop;
use althing_testkit::Step;
use expect_test::{Expect, expect};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::sleep;

/// Brainstorm with two seats: three phases all at once and a synthesis.
fn table() -> Table {
    kit::table("brainstorm", 2)
}

/// The log without what was said: only what `keep` tells of an event.
fn told(events: &[Event], keep: impl Fn(&What) -> Option<String>) -> String {
    let lines = events
        .iter()
        .filter_map(|event| keep(&event.what).map(|line| format!("{} ms: {line}\n", event.at_ms)));
    lines.collect()
}

fn pauses(what: &What) -> Option<String> {
    match what {
        What::PauseStarted { phase, timeout_ms } => Some(format!("pause {phase}, {timeout_ms} ms")),
        What::PauseEnded { phase, timed_out: true } => Some(format!("{phase} timed out")),
        What::PauseEnded { phase, timed_out: false } => Some(format!("{phase} went on")),
        What::RunEnded { ending, .. } => Some(format!("{ending:?}")),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_by_itself_or_by_the_person_and_an_early_answer_counts() {
    let mut table = table().script(|call| vec![Step::Wait(1), Step::SayText(voice(call))]);
    table.opening.pause_ms = Some(5000);
    let resume = async {
        table.resume.notify_one();
        sleep(Duration::from_secs(9)).await;
        table.resume.notify_one();
    };
    let (events, ()) = tokio::join!(table.hold(), resume);
    expect![[r#"
        1000 ms: pause 2, 5000 ms
        1000 ms: 2 went on
        2000 ms: pause 3, 5000 ms
        7000 ms: 3 timed out
        8000 ms: pause 4, 5000 ms
        9000 ms: 4 went on
        10000 ms: Completed
    "#]]
    .assert_eq(&told(&events, pauses));
}

#[tokio::test(start_paused = true)]
async fn no_pause_where_none_is_wanted() {
    for none in [None, Some(0)] {
        let mut table = table();
        table.opening.pause_ms = none;
        assert_eq!(told(&table.hold().await, pauses), "0 ms: Completed\n");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_in_a_call_and_resumed() {
    for method in ALL {
        let slow = |call: &kit::Call| vec![Step::Wait(1), Step::SayText(voice(call))];
        let table = kit::table(method.name, 4).script(slow);
        let events = table.held(&[], false, sleep(Duration::from_millis(1500))).await;
        assert_eq!(ending(&events), &Ending::Cancelled);
        assert!(table.stage.calls().iter().any(|call| call.dropped()), "the call is dropped");
        let whole = table.hold().await;
        let resumed = table.resumed(&events).await;
        assert_eq!(ending(&resumed), &Ending::Completed);
        assert_eq!(synthesis(&resumed), synthesis(&whole), "{}", method.name);
        let log = render(&resumed);
        assert!(log.contains("=> cancelled\n-- resumed with "), "{log}");
        assert!(log.contains(" interrupted\n"), "{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_in_a_pause_and_resumed() {
    for method in ALL {
        let mut table = kit::table(method.name, 4);
        table.opening.pause_ms = Some(60_000);
        let events = table.held(&[], false, sleep(Duration::from_secs(90))).await;
        let log = told(&events, pauses);
        assert!(log.ends_with("60000 ms: pause 3, 60000 ms\n90000 ms: Cancelled\n"), "{log}");
        let resumed = table.resumed(&events).await;
        assert_eq!(ending(&resumed), &Ending::Completed);
        assert!(!render(&resumed).contains("interrupted"), "no turn was open");
        assert_eq!(told(&resumed, pauses).matches("pause 2").count(), 1, "it is not held again");
    }
}

/// One voice plays `steps` first, with ten seconds for a turn; the log of its first turn.
async fn check_turn(steps: Vec<Step>, want: Expect) {
    let mut table = table().script(move |call| match (call.seat, call.nth) {
        (0, 0) => steps.clone(),
        _ => vec![Step::SayText(voice(call))],
    });
    table.rules.turn_max = Duration::from_secs(10);
    let first = |what: &What| match what {
        What::TurnNoted { turn: 0, note } => Some(format!("{note:?}")),
        What::TurnDelta { turn: 0, text, reasoning } => {
            let text = if text.len() > 40 { format!("{} bytes", text.len()) } else { text.clone() };
            Some(format!("{}{text:?}", if *reasoning { "thinks " } else { "" }))
        }
        What::TurnEnded { by: Turn { turn: 0, .. }, outcome } => Some(match outcome {
            Outcome::Said(said) => {
                format!("{:?} with {} bytes in {} ms", said.stop, said.text.len(), said.took_ms)
            }
            Outcome::Failed(failure) => format!("{}: {}", failure.kind, failure.message),
        }),
        _ => None,
    };
    want.assert_eq(&told(&table.hold().await, first));
}

#[tokio::test(start_paused = true)]
async fn a_hung_turn_is_cut_off_and_waiting_in_line_does_not_count() {
    check_turn(
        vec![Step::Say("I "), Step::Hang],
        expect![[r#"
            0 ms: "I "
            10000 ms: Length with 1 bytes in 10000 ms
        "#]],
    )
    .await;
    check_turn(
        vec![Step::Queue, Step::Wait(500), Step::Start, Step::Wait(9), Step::Say("at last")],
        expect![[r#"
            0 ms: Queued
            500000 ms: Started
            509000 ms: "at last"
            509000 ms: End with 7 bytes in 509000 ms
        "#]],
    )
    .await;
    check_turn(
        vec![Step::Queue, Step::Wait(500), Step::Start, Step::Hang],
        expect![[r#"
        0 ms: Queued
        500000 ms: Started
        510000 ms: timed_out: no answer within 10 s (turn_seconds_max)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_never_stood_in_line_started_with_the_turn() {
    check_turn(
        vec![Step::Start, Step::Say("yes")],
        expect![[r#"
            0 ms: "yes"
            0 ms: End with 3 bytes in 0 ms
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn first_words_at_once_then_in_batches() {
    let words = ["one ", "two ", "three ", "four ", "five "];
    let steps = words.into_iter().flat_map(|word| [Step::Say(word), Step::WaitMs(20)]);
    check_turn(
        steps.collect(),
        expect![[r#"
            0 ms: "one "
            50 ms: "two three "
            100 ms: "four five "
            100 ms: End with 23 bytes in 100 ms
        "#]],
    )
    .await;
    check_turn(
        vec![Step::Think("hm "), Step::Think("so "), Step::Say("yes"), Step::Retry, Step::Say("!")],
        expect![[r#"
            0 ms: thinks "hm "
            0 ms: thinks "so "
            0 ms: "yes"
            0 ms: Retrying(Retry { attempt: 1, wait_ms: 100, kind: RateLimited, message: "wait" })
            100 ms: "!"
            100 ms: End with 4 bytes in 100 ms
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_made_for_a_model_are_told_and_no_part_of_its_words() {
    check_turn(
        vec![Step::Say("So: "), Step::Called("add", r#"{"a":1}"#, "3"), Step::Say("three")],
        expect![[r#"
            0 ms: "So: "
            0 ms: Called(Called { call: ToolCall { id: "call", name: "add", arguments: "{\"a\":1}", signature: None }, result: "3", failed: false, took_ms: 1, kept: false })
            0 ms: "three"
            0 ms: End with 9 bytes in 0 ms
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_made_before_the_stop_is_handed_to_the_turn_that_is_asked_again() {
    let table = kit::table("answer", 1).script(|call| match call.nth {
        0 => vec![Step::Called("add", "{}", "3"), Step::Hang],
        _ => vec![Step::Say("three")],
    });
    let stopped = table.held(&[], false, sleep(Duration::from_secs(1))).await;
    let resumed = table.resumed(&stopped).await;
    assert_eq!(ending(&resumed), &Ending::Completed);
    let made: Vec<usize> = table.stage.calls().iter().map(|call| call.ask.made.len()).collect();
    assert_eq!(made, [0, 1]);
    // Once more: what was only kept is known from when it was made.
    let kept = Past::read(&resumed[..resumed.len() - 2], false);
    assert_eq!(kept.calls(crate::past::Place { phase: 1, seat: 0, nth: 0 }).len(), 1);
    assert!(
        Past::read(&resumed, false)
            .calls(crate::past::Place { phase: 1, seat: 0, nth: 0 })
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn each_round_of_calls_sets_money_aside() {
    let rounds = |count: usize| {
        let steps = (0..count).flat_map(|_| [Step::Called("add", "{}", "3"), Step::Say("so ")]);
        let steps: Vec<Step> = steps.collect();
        let mut table = kit::table("answer", 1).script(move |_| steps.clone());
        (table.price, table.opening.max_cost_usd) = (kit::flat_price(1.0), Some(3.5));
        table
    };
    assert_eq!(ending(&rounds(2).hold().await), &Ending::Completed);
    let events = rounds(3).hold().await;
    let Ending::Failed(failure) = ending(&events) else { panic!("it ends at the limit") };
    assert_eq!(failure.kind, Kind::CostLimit);
}

#[tokio::test(start_paused = true)]
async fn the_cost_limit_stops_before_the_call_that_would_break_it() {
    for method in ALL {
        let whole = kit::table(method.name, 4);
        let clean = whole.hold().await;
        for calls in 0..whole.stage.calls().len() {
            let mut limited = kit::table(method.name, 4);
            limited.price = kit::flat_price(1.0);
            limited.opening.max_cost_usd = Some(calls as f64 + 0.5);
            let events = limited.hold().await;
            let Ending::Failed(failure) = ending(&events) else { panic!("it ends at the limit") };
            assert_eq!(failure.kind, Kind::CostLimit, "{} after {calls}", method.name);
            assert_eq!(limited.stage.calls().len(), calls, "{}", method.name);
            assert!(limited.stage.calls().iter().all(|call| !call.dropped()), "all are heard out");

            limited.opening.max_cost_usd = Some(1000.0);
            let resumed = limited.resumed(&events).await;
            assert_eq!(synthesis(&resumed), synthesis(&clean), "{} after {calls}", method.name);
            assert_eq!(limited.stage.calls().len(), whole.stage.calls().len(), "none twice");
        }
    }
}

/// Where nobody resumes a run, what was paid for comes to a conclusion, within the limit.
#[tokio::test(start_paused = true)]
async fn a_run_that_concludes_at_its_limit_keeps_money_for_that() {
    for method in ALL {
        let whole = kit::table(method.name, 4);
        whole.hold().await;
        for calls in 0..whole.stage.calls().len() {
            let mut limited = kit::table(method.name, 4);
            limited.price = kit::flat_price(1.0);
            limited.opening.max_cost_usd = Some(calls as f64 + 0.5);
            limited.opening.concludes_at_limit = true;
            let events = limited.hold().await;
            let what = format!("{} after {calls}: {}", method.name, render(&events));
            if calls < 2 {
                let Ending::Failed(failure) = ending(&events) else { panic!("{what}") };
                assert_eq!(failure.kind, Kind::CostLimit, "{what}");
                assert_eq!(limited.stage.calls().len(), 0, "{what}");
                continue;
            }
            assert_eq!(ending(&events), &Ending::Completed, "{what}");
            assert_eq!(limited.stage.calls().len(), calls, "{what}");
            let more = synthesis(&events).unwrap().more;
            let why = more.iter().find(|more| more.name == CONCLUDED_EARLY);
            assert!(why.is_some_and(|it| it.text.contains("ALTHING_MAX_COST")), "{what}");
        }
    }
}

/// A limit of 0 is one: what is free is still asked.
#[tokio::test(start_paused = true)]
async fn a_limit_of_nothing_pays_for_nothing() {
    let mut table = table();
    (table.price, table.opening.concludes_at_limit) = (kit::flat_price(0.25), true);
    table.opening.max_cost_usd = Some(0.0);
    let events = table.hold().await;
    assert!(matches!(ending(&events), Ending::Failed(it) if it.kind == Kind::CostLimit));
    assert_eq!(table.stage.calls().len(), 0);
    table.price = kit::flat_price(0.0);
    assert_eq!(ending(&table.hold().await), &Ending::Completed);
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_told_with_its_numbers() {
    let mut table = table();
    table.price = kit::flat_price(1.0);
    table.opening.max_cost_usd = Some(2.5);
    let log = render(&table.hold().await);
    let want = "=> cost_limit: stopped at the cost limit: $2.0000 spent or under way, the next call \
                may cost $1.0000, and max_cost_usd (ALTHING_MAX_COST, --max-cost) is $2.50\n";
    assert!(log.ends_with(want), "{log}");
}

#[tokio::test(start_paused = true)]
async fn totals_count_what_is_known() {
    let mut table = table().script(|call| match call.seat {
        0 => vec![Step::UsageOf(100, 20), Step::SayText(voice(call))],
        _ => vec![Step::SayText(voice(call))],
    });
    table.price = kit::flat_price(0.5);
    let totals = |events: &[Event]| match &events.last().unwrap().what {
        What::RunEnded { totals, .. } => *totals,
        other => panic!("{other:?}"),
    };
    let events = table.hold().await;
    let sum = totals(&events);
    assert_eq!((sum.calls, sum.input_tokens, sum.output_tokens), (7, 400, 80));
    assert_eq!((sum.uncounted, sum.unpriced, sum.cost_usd), (3, 0, 3.5));
    assert_eq!(totals(&table.resumed(&events[..events.len() / 2]).await), sum, "resumed or not");
    table.price = None;
    assert_eq!(totals(&table.hold().await).unpriced, 7);
}

/// What came before a turn broke off is paid for; a call that was refused is not.
#[tokio::test(start_paused = true)]
async fn a_turn_that_breaks_off_costs_and_a_refused_one_does_not() {
    let counted = [Step::UsageOf(7, 9), Step::Fail(Kind::Overloaded, "down")];
    for (steps, cost_usd, uncounted) in [
        (vec![Step::Say("half "), Step::Cut], Some(0.5), 1),
        (vec![Step::Think("hm"), Step::Fail(Kind::Overloaded, "down")], Some(0.5), 1),
        (counted.to_vec(), Some(0.5), 0),
        (vec![Step::Fail(Kind::RateLimited, "later")], None, 0),
    ] {
        let mut table = table().script(move |call| match call.seat {
            1 => steps.clone(),
            _ => vec![Step::SayText(voice(call))],
        });
        table.price = kit::flat_price(0.5);
        let events = table.hold().await;
        let failed = events.iter().find_map(|event| match &event.what {
            What::TurnEnded { outcome: outcome @ Outcome::Failed(_), .. } => Some(outcome.clone()),
            _ => None,
        });
        let mut totals = Totals::default();
        totals.add(&failed.clone().unwrap());
        assert_eq!(totals.uncounted, uncounted);
        let Some(Outcome::Failed(failure)) = failed else { panic!() };
        assert_eq!(failure.cost_usd, cost_usd);
    }
}

/// A log that breaks after so many events.
struct Breaking(Record, AtomicUsize);

impl Log for Breaking {
    fn append(&self, what: What) -> BoxFuture<'_, Result<()>> {
        match self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => self.0.append(what),
            Err(_) => Box::pin(async { Err(Fault::internal("the disk is full")) }),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_written_ends_the_run_and_loses_nothing() {
    let table = table();
    let whole = table.hold().await;
    for room in 0..whole.len() {
        let record = Record::new(&[]);
        let log = Arc::new(Breaking(record.clone(), AtomicUsize::new(room)));
        let floor = table.floor(Past::none(), log);
        let held = run::hold(&floor, std::future::pending()).await;
        assert_eq!(held.unwrap_err().message, "the disk is full");
        let resumed = table.resumed(&record.events()).await;
        assert_eq!(synthesis(&resumed), synthesis(&whole), "after {room}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_tool_calls_counts_only_where_tools_were_offered() {
    let tool = althing_chat::Tool {
        name: "look".into(),
        description: String::new(),
        parameters: serde_json::json!({}),
    };
    let mut table = table().script(|_| vec![Step::Call("look", "{}")]);
    assert!(matches!(ending(&table.hold().await), Ending::Failed(_)));
    table.opening.tools = vec![tool];
    let events = table.hold().await;
    let calls = events.iter().filter(|event| match &event.what {
        What::TurnEnded { outcome: Outcome::Said(said), .. } => {
            said.tool_calls.len() == 1 && said.stop == Stop::ToolCalls
        }
        _ => false,
    });
    assert_eq!(calls.count(), 7);
    let offered = table.stage.calls().iter().filter(|call| call.ask.tools.len() == 1).count();
    assert_eq!(offered, 7);
}
