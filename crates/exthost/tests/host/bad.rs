//! Extensions that misbehave, each beside a good one: the host goes on, the good one is not
//! delayed, memory stays bounded, and no process survives.

use crate::kit::{Bench, example};
use althing_exthost::{LINE_BYTES_MAX, State};

/// What the host may grow by while an extension floods it.
const GROWTH_BYTES_MAX: usize = 200 << 20;

fn beside(kind: &str) -> Bench {
    Bench::new(vec![example(&["misbehaving.py", kind]), example(&["editor.py"])])
}

/// The good one still does its work.
async fn good_one_works(bench: &Bench) {
    bench.host().edit(crate::kit::MESSAGE);
    bench.host().command("editor/fill").unwrap();
    bench.until_text("NK1||DOE").await;
}

/// It fails with this reason; the good one runs.
async fn check_fails(kind: &str, reason: &str) {
    let bench = beside(kind);
    bench.settled().await;
    if bench.state(0) == State::Running {
        bench.host().command(kind).unwrap();
    }
    bench.until("its failure", |bench| matches!(bench.state(0), State::Failed(_))).await;
    let State::Failed(found) = bench.state(0) else { unreachable!("it failed") };
    assert!(found.contains(reason), "{kind}: {found}");
    assert!(bench.host().command(kind).is_err(), "a dead extension has no command");
    good_one_works(&bench).await;
    bench.stop().await;
}

/// It is told of, or patches the message, and goes on.
async fn check_survives(kind: &str, logged: &[&str]) -> Bench {
    let bench = beside(kind);
    bench.settled().await;
    bench.host().command(kind).unwrap();
    good_one_works(&bench).await;
    for line in logged {
        bench.until_logged(0, line).await;
    }
    assert_eq!(bench.state(0), State::Running, "{kind}");
    bench
}

#[tokio::test]
async fn a_crash_in_initialize() {
    check_fails("crash-in-initialize", "it ended with exit code 3: cannot find my teeth").await;
}

/// The good one runs long before the other has failed.
#[tokio::test]
async fn no_answer_to_initialize() {
    let bench = beside("never-answers");
    bench.until("the good one", |bench| bench.state(1) == State::Running).await;
    assert_eq!(bench.state(0), State::Initializing, "they start side by side");
    good_one_works(&bench).await;
    bench.stop().await;
    check_fails("never-answers", "it did not answer initialize within 10s").await;
}

#[tokio::test]
async fn an_error_or_nonsense_for_initialize() {
    check_fails("nameless", "name: expected text").await;
    let bench = beside("refuses");
    bench.until_logged(0, "refused: -32001").await;
    bench.until("its failure", |bench| {
        matches!(bench.state(0), State::Failed(why) if why.contains("not today (-32050)"))
    })
    .await;
    bench.stop().await;
}

#[tokio::test]
async fn a_crash_is_noticed_at_once() {
    check_fails("crash", "it ended with exit code 7: out of luck").await;
}

#[tokio::test]
async fn a_grandchild_holds_the_pipes() {
    check_fails("leave-child", "it ended with exit code 3").await;
}

#[tokio::test]
async fn a_daemon_is_left_behind() {
    check_fails("leave-daemon", "it ended with exit code 3").await;
    let bench = check_survives("start-daemon", &["a daemon: "]).await;
    bench.stop().await;
    let mut bench = check_survives("start-daemon", &["a daemon: "]).await;
    drop(bench.host.take());
    bench.nobody_is_left().await;
}

#[tokio::test]
async fn the_output_is_closed() {
    check_fails("close-output", "the other side closed the connection").await;
}

#[tokio::test]
async fn endings_that_take_force() {
    let kinds = ["answers-and-lingers", "never-ends", "asks-while-ending", "spins-at-the-end"];
    let bench = Bench::new(kinds.map(|kind| example(&["misbehaving.py", kind])).to_vec());
    bench.settled().await;
    assert!((0..kinds.len()).all(|at| bench.state(at) == State::Running));
    for at in 0..kinds.len() {
        bench.host().disable(&bench.id(at)).await.unwrap();
    }
    let is_over = |bench: &Bench| (0..kinds.len()).all(|at| bench.state(at) == State::Stopped);
    bench.until("their ends", is_over).await;
    assert!(bench.log(2).contains("while ending: -32008"), "{}", bench.log(2));
    assert!(bench.log(3).contains("spinning"), "{}", bench.log(3));
    bench.stop().await;
}

/// Each step of an ending is felt, in its order, by the whole group where it is for all.
#[tokio::test]
async fn every_step_of_an_ending_is_taken() {
    let bench = beside("tells-of-its-end");
    bench.settled().await;
    bench.host().disable(&bench.id(0)).await.unwrap();
    bench.until("its end", |bench| bench.state(0) == State::Stopped).await;
    let log = bench.log(0);
    let at = |line: &str| log.find(line).unwrap_or_else(|| panic!("{line}:\n{log}"));
    assert!(at("its input is closed") < at("Info told to end"), "{log}");
    assert!(at("its child is told to end") > at("its input is closed"), "{log}");
    bench.stop().await;
}

#[tokio::test]
async fn dropping_the_host_kills_all() {
    let mut bench = beside("never-ends");
    bench.settled().await;
    drop(bench.host.take());
    bench.nobody_is_left().await;
}

#[tokio::test]
async fn noise_between_messages() {
    let bench = check_survives(
        "noise",
        &["a stray print", "no line end, then a message", "noise: patched"],
    )
    .await;
    bench.stop().await;
}

#[tokio::test]
async fn broken_messages() {
    let answers = [
        "utf8: -32700",
        "deep: -32602",
        "cut: -32700",
        "old: -32600",
        "it notifies of editor/getMessage",
        // After lengths that are none.
        "broken: patched",
    ];
    let bench = check_survives("broken", &answers).await;
    bench.stop().await;
}

#[tokio::test]
async fn nothing_but_nonsense() {
    check_fails("never-again", "33 frames in a row are no messages").await;
}

#[tokio::test]
async fn a_flood_on_standard_error() {
    let bench = check_survives(
        "stderr",
        &["were too many", "not UTF-8: \u{fffd}\u{fffd}", "the flood is over", "stderr: patched"],
    )
    .await;
    let lines = bench.host().log(&bench.id(0));
    let longest = lines.iter().map(|line| line.text.len()).max();
    assert_eq!(longest, Some(LINE_BYTES_MAX), "the rest of a long line is dropped");
    bench.stop().await;
}

#[tokio::test]
async fn ten_thousand_requests_and_no_reading() {
    let before = memory_bytes();
    let bench = check_survives("flood", &[]).await;
    bench.until("its requests", |bench| bench.traffic.lock().unwrap().len() > 10_000).await;
    good_one_works(&bench).await;
    let grown = memory_bytes().saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes");
    bench.stop().await;
}

/// Work that takes the host long takes no time of others: the good one is served while the first
/// waits for its answer.
#[tokio::test]
async fn work_that_takes_long() {
    let bench = beside("long-work");
    bench.settled().await;
    bench.host().command("long-work").unwrap();
    let asked = |bench: &Bench| {
        let traffic = bench.traffic.lock().unwrap();
        traffic.iter().any(|line| line.message["method"] == "editor/patchMessage")
    };
    bench.until("the long request", asked).await;
    bench.host().command("editor/fill").unwrap();
    bench.until_text("NK1||DOE").await;
    assert!(!bench.log(0).contains("patched"), "{}", bench.log(0));
    bench.stop().await;
}

#[tokio::test]
async fn two_gigabytes_are_announced() {
    let before = memory_bytes();
    let bench = check_survives("huge", &["huge: -32600"]).await;
    let grown = memory_bytes().saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes");
    bench.stop().await;
}

/// What this process holds, all tests together.
fn memory_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
