//! The process that runs agents ends in every way it can: nothing survives it, at the latest after
//! the next sweep.

use crate::harness::{Home, PATIENT};
use althing_agents::{Adapter, Agent, sweep};
use althing_chat::{Ask, Model};
use futures_util::StreamExt;
use std::process::{Child, Command, Stdio};
use tokio::signal::unix::{SignalKind, signal};

/// How the runner shall behave, and the home whose agents it starts.
const CASE: &str = "ALTHING_TEST_RUNNER";
const HOME: &str = "ALTHING_TEST_HOME";

/// Not a test of its own: this binary, started again as the runner.
#[tokio::test]
async fn runner() {
    let (Ok(case), Ok(folder)) = (std::env::var(CASE), std::env::var(HOME)) else { return };
    let mut home = Home::new();
    home.environment.insert("HOME".into(), folder.clone());
    let mut options = home.options(PATIENT);
    options.ledger = std::path::Path::new(&folder).join("ledger");
    let agents = ["hang-with-children", "stubborn"].map(|it| {
        Agent::new(Adapter::Custom(home.fake(it)), options.clone()).speak(Ask::new("", "x"))
    });
    let all = async {
        futures_util::future::join_all(agents.map(|agent| agent.collect::<Vec<_>>())).await;
    };
    let panics = async {
        if case != "panic" {
            return std::future::pending().await;
        }
        while std::fs::read_dir(&options.ledger).map_or(0, Iterator::count) < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        panic!("in the middle of it");
    };
    let (mut term, mut int) =
        (signal(SignalKind::terminate()).unwrap(), signal(SignalKind::interrupt()).unwrap());
    tokio::select! {
        () = all => {}
        () = panics => {}
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

fn start(home: &Home, case: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "runner::runner", "--nocapture"]);
    command.env(CASE, case).env(HOME, home.folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn send(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
}

/// What the two agents start and wait for.
const ASLEEP: usize = 5;

#[tokio::test]
async fn signals_and_a_panic_end_all_agents() {
    for case in ["TERM", "INT", "panic"] {
        let home = Home::new();
        let mut child = start(&home, case);
        home.has_asleep(ASLEEP).await;
        if case != "panic" {
            send(&child, case);
        }
        let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
        assert_eq!(status.success(), case != "panic", "{case}: {status}");
        // Notes may be left where the process ended first; what they name is gone.
        sweep(&home.ledger());
        home.is_left().await;
    }
}

#[tokio::test]
async fn after_a_kill_the_next_start_ends_what_is_left() {
    let home = Home::new();
    let mut child = start(&home, "KILL");
    home.has_asleep(ASLEEP).await;
    assert_eq!(sweep(&home.ledger()), 0, "its owner lives");
    send(&child, "KILL");
    tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert!(home.asleep() == ASLEEP, "nobody could end them");
    let folders = || {
        let notes = std::fs::read_dir(home.ledger()).unwrap().flatten();
        let text = |path| std::fs::read_to_string(path).unwrap();
        let note = |path| serde_json::from_str(text(path).lines().next().unwrap()).unwrap();
        let folder = |note: serde_json::Value| note["folder"].as_str().unwrap().to_string();
        notes.map(|it| folder(note(it.path()))).collect::<Vec<_>>()
    };
    let folders = folders();
    assert_eq!(folders.len(), 2);
    assert_eq!(sweep(&home.ledger()), 2);
    home.is_left().await;
    assert!(folders.iter().all(|folder| !std::fs::exists(folder).unwrap()));
    assert_eq!(sweep(&home.ledger()), 0);
}
