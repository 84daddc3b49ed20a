//! Workers that die, hang, flood or are not there: the model is told, and the run goes on.

use super::kit::{calls, configure, with_odd};
use crate::harness::Home;
use althing_chat::Called;
use althing_testkit::{Options, Upstream};
use serde_json::json;

/// The model calls `function` and then `note`, each within `timeout`; what came of both.
fn check(function: &'static str, timeout: u32) -> Option<(Home, Vec<Called>)> {
    let upstream = Upstream::start(Options::default().call(move |seen| match seen.results() {
        0 => Some((function.to_string(), json!({}))),
        1 => Some(("odd_note".to_string(), json!({"text": "still here"}))),
        _ => None,
    }));
    let home = Home::with(&upstream);
    with_odd(&home, timeout)?;
    let done = home.run(&["ask", "Well?", "--models", "openai:ada", "--json"]);
    let calls = calls(&done.ends(0).events());
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!((calls[1].result.as_str(), calls[1].failed), ("noted still here", false));
    home.is_left();
    Some((home, calls))
}

#[test]
fn one_that_dies_says_how_and_is_started_again() {
    let Some((home, calls)) = check("odd_die", 20) else { return };
    assert!(calls[0].failed && calls[0].result.contains("exit status: 7"), "{calls:?}");
    assert!(calls[0].result.contains("these are my last words"), "{calls:?}");
    let logs = home.run(&["workers", "logs", "odd"]);
    logs.ends(0).says("these are my last words");
    // As it was printed.
    logs.says(&format!("    printed and not flushed{}\n", " and so on".repeat(60)));
}

#[test]
fn one_that_hangs_is_given_up_and_started_again() {
    let Some((_, calls)) = check("odd_hang", 2) else { return };
    assert!(calls[0].failed && calls[0].result.contains("no answer within 2 s"), "{calls:?}");
}

#[test]
fn one_that_floods_is_cut() {
    let Some((home, calls)) = check("odd_flood", 60) else { return };
    // As much as the window of a model that nobody knows holds beside an answer.
    assert!(calls[0].result.ends_with(" of 1000000 bytes]"), "{calls:?}");
    assert!((2_000..16_500).contains(&calls[0].result.len()), "{}", calls[0].result.len());
    let folder = home.data().join("workers");
    let sizes = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().metadata().unwrap().len());
    let bytes: u64 = sizes.sum();
    assert!((1_000_000..2_200_000).contains(&bytes), "{bytes}");
    let last = home.run(&["workers", "logs", "odd", "-n", "9"]);
    let is_flood = |line: &str| line.contains(" out ") && line.contains("xxxx");
    assert!(last.ends(0).out.lines().any(is_flood), "{last:?}");
}

#[test]
fn one_that_is_not_there_keeps_nobody_from_talking() {
    let upstream = crate::harness::upstream();
    let home = Home::with(&upstream);
    configure(&home, "[workers.gone]\nrun = './gone.py'\n[workers.bad]\nrun = 5\n");
    let done = home.run(&["ask", "Well?", "--models", "openai:ada"]);
    done.ends(0).warns("worker 'gone': cannot start the worker").warns("workers.bad.run in ");
    assert!(upstream.requests().iter().all(|seen| seen.body.get("tools").is_none()));
    home.run(&["workers", "list"]).ends(18).says("cannot start the worker");
}
