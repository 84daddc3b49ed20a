//! Runs whose output nobody reads: time and signals end them and their agents as always, and they are
//! stored.

use super::stops::wait_for;
use super::{Home, JUDGE, council, fake, home, noted, spec, write};
use crate::harness::unread::{FullPipe, wait_until_it_hears};
use crate::harness::{really_wait, signal};
use althing_assembly::Event;
use althing_assembly::event::{Ending, What};
use std::process::Child;
use std::time::Duration;

/// Polls for the end of a run; each is 50 ms.
const POLLS_MAX: u32 = 1_200;

fn ending(events: &[Event]) -> Option<&Ending> {
    match events.last().map(|event| &event.what) {
        Some(What::RunEnded { ending, .. }) => Some(ending),
        _ => None,
    }
}

fn spawn(home: &Home, args: &[&str]) -> (Child, FullPipe, FullPipe) {
    let ((out, stdout), (err, stderr)) = (FullPipe::open(), FullPipe::open());
    let mut command = home.command(args);
    command.stdout(stdout).stderr(stderr);
    (command.spawn().unwrap(), out, err)
}

/// A home with two agents that hang, as planners of a task and by name.
fn hanging(upstream: &althing_testkit::Upstream) -> Home {
    let home = home(upstream);
    write(&home, &spec(&[fake(&home, "a", "hang"), fake(&home, "b", "children")], None));
    let folder = home.path().join(".config/althing");
    std::fs::create_dir_all(&folder).unwrap();
    let program = home.path().join("agent.sh").display().to_string();
    let agent =
        |name: &str, does: &str| format!("[agents.{name}]\ncommand = \"{program} {does}\"\n");
    std::fs::write(folder.join("config.toml"), agent("a", "hang") + &agent("b", "children"))
        .unwrap();
    home
}

#[test]
fn a_signal_ends_a_run_that_nobody_reads() {
    let upstream = council();
    let plan = ["plan", "task.json", "--judge", JUDGE];
    let ask = ["ask", "Well?", "--models", "a,b"];
    for (args, name) in [
        ([&plan[..], &["--json"]].concat(), "TERM"),
        (plan.to_vec(), "INT"),
        ([&ask[..], &["--json"]].concat(), "INT"),
        (ask.to_vec(), "TERM"),
    ] {
        let home = hanging(&upstream);
        let (mut child, _out, _err) = spawn(&home, &args);
        wait_for(&home, 2, &mut child);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
        home.is_left();
        assert_eq!(noted(&home), 0, "{args:?}");
        assert_eq!(ending(&home.events("last")), Some(&Ending::Cancelled), "{args:?}");
    }
}

#[test]
fn the_time_of_agents_is_over_whoever_reads() {
    let upstream = council();
    let home = hanging(&upstream);
    let args = ["plan", "task.json", "--judge", JUDGE, "--timeout", "1", "--json"];
    let (mut child, _out, _err) = spawn(&home, &args);
    assert_eq!(child.wait().unwrap().code(), Some(3));
    home.is_left();
    assert!(matches!(ending(&home.events("last")), Some(Ending::Failed(_))));
}

#[test]
fn a_whole_answer_waits_for_its_reader_until_a_signal() {
    let upstream = council();
    let begin = || {
        let home = home(&upstream);
        write(&home, &spec(&[fake(&home, "good", "good"), fake(&home, "a", "hang")], None));
        let args = ["plan", "task.json", "--judge", JUDGE, "--timeout", "1", "--json"];
        let (mut child, out, _err) = spawn(&home, &args);
        wait_until_it_hears(&mut child);
        wait_until_completed(&home);
        (home, child, out, _err)
    };
    let (home, mut child, out, _err) = begin();
    let printed = out.read();
    assert_eq!(printed, home.run(&["show", "last", "--json"]).out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (home, mut child, _out, _err) = begin();
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    home.is_left();
}

#[track_caller]
fn wait_until_completed(home: &Home) {
    for _ in 0..POLLS_MAX {
        let shown = home.run(&["show", "last", "--json"]);
        if shown.code == Some(0) && ending(&shown.events()) == Some(&Ending::Completed) {
            return;
        }
        really_wait(Duration::from_millis(50));
    }
    panic!("the run does not complete");
}
