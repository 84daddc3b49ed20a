//! Discussions of a frontend are runs like any other.

use super::backend::Backend;
use crate::harness::{Home, THREE, upstream};
use althing_testkit::upstream::Route;
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Models that answer once and then think until they are freed.
pub fn until_freed() -> (Upstream, Arc<AtomicBool>) {
    let is_freed = Arc::new(AtomicBool::new(false));
    let may_answer = is_freed.clone();
    let upstream = Upstream::start(Options::default().mishap(move |seen| {
        let is_stuck = matches!(seen.route, Route::Chat(_)) && seen.nth > 1;
        (is_stuck && !may_answer.load(Ordering::Relaxed)).then_some("hang")
    }));
    (upstream, is_freed)
}

#[test]
fn it_is_in_the_history_and_can_be_shown_and_exported() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let mut backend = Backend::start(&home);
    let run = backend.discuss("Is rain <b>wet</b>?");
    for phase in 2..=5 {
        assert_eq!(backend.event("phase_complete")["next_phase"], phase);
        assert_eq!(backend.call("resume_discussion", json!({})), json!({"status": "resumed"}));
    }
    let synthesis = backend.event("synthesis");
    assert_eq!(backend.answer(&run)["result"], json!({"status": "completed"}));
    backend.leave().ends(0);
    let words = synthesis["synthesis"].as_str().unwrap();
    home.run(&["history"]).ends(0).says("standard").says("Is rain");
    home.run(&["show", "last"]).ends(0).says(words).says("Consensus");
    for format in ["md", "json", "html", "txt"] {
        home.run(&["export", "last", "--format", format]).ends(0).says(words);
    }
    home.run(&["resume", "last"]).ends(2).warns("is complete");
    let events = home.events("last");
    assert!(events.iter().enumerate().all(|(at, event)| event.seq == at as u64));
}

#[test]
fn a_cancelled_one_breaks_its_calls_off_tells_so_in_order_and_goes_on_by_hand() {
    let (upstream, is_freed) = until_freed();
    let home = Home::with(&upstream).set("QUORUM_PAUSE_TIMEOUT", "0");
    let mut backend = Backend::start(&home);
    let run = backend.discuss("Hello?");
    upstream.wait_for_sync(|seen| seen.iter().filter(|seen| seen.nth == 2).count() == 3);
    let cancel = backend.ask("cancel_discussion", json!({}));
    let mut told = Vec::new();
    while told.last() != Some(&cancel) {
        let message = backend.next();
        told.push(message.get("id").unwrap_or(&message["method"]).clone());
    }
    told.drain(..told.len() - 3);
    assert_eq!(told, [json!("discussion_cancelled"), run, cancel]);
    let seconds =
        |seen: &[Seen]| seen.iter().filter(|seen| seen.nth == 2 && seen.aborted()).count();
    upstream.wait_for_sync(|seen| seconds(seen) == 3);
    is_freed.store(true, Ordering::Relaxed);
    // The place is free again, and both are runs of their own.
    let again = backend.discuss("And now?");
    assert_eq!(backend.answer(&again)["result"], json!({"status": "completed"}));
    backend.leave().ends(0);
    home.run(&["history"]).ends(0).says("cancelled").says("done, ");
    let runs = home.run(&["history", "--json"]).out;
    let first: Value = serde_json::from_str(runs.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&first["question"], &first["standing"]), (&json!("Hello?"), &json!("cancelled")));
    let first = first["id"].as_str().unwrap();
    home.run(&["resume", first]).ends(0).says("Consensus");
}

#[test]
fn a_pause_lasts_as_long_as_the_environment_says() {
    let upstream = upstream();
    for (seconds, paused) in [("0", false), ("1", true)] {
        let home = Home::with(&upstream).set("QUORUM_PAUSE_TIMEOUT", seconds);
        let mut backend = Backend::start(&home);
        let ids: Vec<&str> = THREE.split(',').collect();
        let options = json!({"method": "advocate"});
        let params = json!({"question": "Hello?", "model_ids": ids, "options": options});
        let run = backend.ask("run_discussion", params);
        assert_eq!(backend.answer(&run)["result"], json!({"status": "completed"}));
        let rest = backend.leave().out;
        let events = |name: &str| rest.matches(&format!("\"method\":\"{name}\"")).count();
        assert_eq!(events("phase_complete"), 2, "{rest}");
        assert_eq!(events("pause_timeout"), if paused { 2 } else { 0 }, "{rest}");
        assert_eq!(rest.contains("\"timeout_seconds\":1"), paused, "{rest}");
    }
}
