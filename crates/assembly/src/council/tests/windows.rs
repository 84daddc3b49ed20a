//! Councils whose seats hold less than there is to read.

use super::kit::{good, plan, render, say, settled, table};
use crate::event::{Event, Fitted, Note, Quoted, What};
use crate::floor::check_windows;
use crate::methods::tests::kit::{Call, Record, Table};
use crate::past::Past;
use althing_chat::Ask;
use althing_stdx::Kind;
use serde_json::json;
use std::sync::Arc;

/// Two planners and a judge who hold so much, and two files of the repository.
fn small(window: u64, words: usize) -> Table {
    let mut table = Table { window, ..table(2, |_| ()) };
    let text = (0..words).map(|at| format!("let word{at} = {at};\n")).collect::<String>();
    table.opening.context =
        ["a.rs", "b.rs"].map(|name| Quoted { name: name.into(), text: text.clone() }).to_vec();
    table
}

fn fitted(events: &[Event]) -> Vec<Fitted> {
    let notes = events.iter().filter_map(|event| match &event.what {
        What::TurnNoted { note: Note::Fitted(fitted), .. } => Some(Fitted::clone(fitted)),
        _ => None,
    });
    notes.collect()
}

fn text(ask: &Ask) -> &str {
    &ask.messages[1].text
}

#[tokio::test(start_paused = true)]
async fn files_become_shorter_where_a_planner_holds_less() {
    let table = small(8_192, 2_000).script(good);
    let events = table.hold().await;
    assert!(settled(&events).is_some(), "{}", render(&events));
    let noted = fitted(&events);
    assert!(noted.iter().all(|it| it.transcript == "files" && it.words > 100), "{noted:?}");
    assert_eq!(noted.len(), 2, "both planners are models of their own");
    let call = &table.stage.calls()[0];
    assert!(text(&call.ask).contains(" words are left out here)"));
    assert!(text(&call.ask).contains(" b.rs]"), "both files are there in part");
}

#[tokio::test(start_paused = true)]
async fn all_plans_become_shorter_where_the_judge_holds_less() {
    let long = |call: &Call| match call.seat {
        2 => good(call),
        _ => say(plan(&"It is done step by step, and every step is tried. ".repeat(80))),
    };
    let table = small(6_000, 1).script(long);
    let events = table.hold().await;
    assert!(settled(&events).is_some(), "{}", render(&events));
    let noted = fitted(&events);
    assert_eq!((noted.len(), noted[0].dropped, noted[0].shortened), (1, 0, 2), "{noted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_no_window_holds_is_refused_before_the_first_call() {
    let check = |table: &Table| {
        let floor = table.floor(Past::none(), Arc::new(Record::new(&[])));
        check_windows(&floor.opening, floor.method, floor.seats())
    };
    check(&small(8_192, 5_000)).expect("files give way");
    let mut table = small(8_192, 1);
    let long = "Everything has to be moved without any loss. ".repeat(900);
    table.opening.council.as_mut().unwrap().task = json!({ "task": long });
    let fault = check(&table).unwrap_err();
    assert_eq!(fault.kind, Kind::ContextTooLong);
    assert!(fault.message.starts_with("ada needs "), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn prompts_of_all_planners_and_attempts_begin_alike() {
    let table = small(100_000, 50).script(|call| match (call.seat, call.nth) {
        (0, 0) => say(json!({ "summary": "only this" })),
        _ => good(call),
    });
    table.hold().await;
    let calls = table.stage.calls();
    let planners: Vec<&Ask> = calls.iter().map(|it| &it.ask).take(3).collect();
    for ask in &planners {
        let end = *planners[0].messages[1].cache_ends.last().expect("the files are cached");
        assert_eq!(ask.messages[0], planners[0].messages[0]);
        assert_eq!(text(ask)[..end], text(planners[0])[..end]);
    }
}
