//! Stopping and going on, by hand.

use crate::harness::{Done, Home, Locked, THREE, upstream};
use althing_assembly::event::{Speech, What};
use althing_testkit::{Options, Upstream};
use std::process::{Child, Command};
use std::time::Duration;

/// Sends a signal by its name: this crate forbids the unsafe call.
fn signal(child: &Child, name: &str) {
    let sent =
        Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn ctrl_c_stops_saves_and_says_how_to_go_on() {
    let upstream = Upstream::start(Options::default().latency(Duration::from_millis(150)));
    let home = Home::with(&upstream);
    for name in ["INT", "TERM"] {
        let before = upstream.requests().len();
        let child = home.spawn(&["ask", "Hello?", "--models", THREE]);
        // In the second phase: the first three turns are stored.
        upstream.wait_for_sync(|seen| seen.len() >= before + 4);
        signal(&child, name);
        let done = Done::of(child.wait_with_output().unwrap());
        done.ends(130).says("Stopped and saved").says("althing resume");
        upstream.wait_for_sync(|seen| seen[before..].iter().any(|seen| seen.aborted()));
        home.run(&["history"]).ends(0).says("cancelled");
    }
    let events = home.events("last");
    let kept = events.iter().filter(|e| matches!(e.what, What::TurnEnded { .. })).count();
    assert!(kept >= 3);
    let resumed = home.run(&["resume", "last"]);
    resumed.ends(0).says(&format!("{kept} turns are kept")).says("Consensus");
    home.run(&["show", "last"]).ends(0).says("was interrupted here").says("Consensus");
    home.run(&["resume", "last"]).ends(2).warns("is complete");
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_a_run_being_held_is_not_resumed() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let mut child = home.spawn(&["ask", "Hello?", "--models", "openai:ada,openai:hang"]);
    upstream.wait_for_sync(|seen| seen.iter().any(|seen| seen.model == "hang"));
    home.run(&["resume", "last"]).ends(4).warns("another process");
    home.run(&["history"]).ends(0).says("running");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    home.run(&["history"]).ends(0).says("cancelled");
}

#[test]
fn where_the_view_is_silent_standard_error_says_how_to_go_on() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    for (models, view) in [("openai:hang", None), ("openai:ada,openai:hang", Some("--quiet"))] {
        let before = upstream.requests().len();
        let args = ["ask", "Hello?", "--models", models].into_iter().chain(view);
        let child = home.spawn(&args.collect::<Vec<_>>());
        upstream.wait_for_sync(|seen| seen[before..].iter().any(|seen| seen.model == "hang"));
        signal(&child, "INT");
        let done = Done::of(child.wait_with_output().unwrap());
        done.ends(130).warns("Go on with: althing resume");
        assert_eq!(done.out, "", "nothing of it is in a pipe");
    }
}

#[test]
fn the_way_on_that_a_failed_run_names_leads_on() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    // Three attempts of both are refused, and then the server has recovered.
    let models = "openai:flaky-3,openai:maker/flaky-3";
    let failed = home.run(&["ask", "Hello?", "--models", models]);
    failed.ends(20).says("--retry-failed");
    home.run(&["resume", "last"]).ends(20);
    home.run(&["resume", "last", "--retry-failed"]).ends(0).says("Consensus");
}

#[test]
fn the_first_ctrl_c_waits_until_it_is_saved_and_the_second_does_not() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let mut child = home.spawn(&["ask", "Hello?", "--models", "openai:ada,openai:hang"]);
    upstream.wait_for_sync(|seen| seen.iter().any(|seen| seen.model == "hang"));
    let locked = Locked::hold(&home);
    signal(&child, "INT");
    // The call is dropped at once; the end cannot be written, so the program is still there.
    upstream.wait_for_sync(|seen| seen.iter().any(|seen| seen.aborted()));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait until it was saved");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(locked);
    home.run(&["history"]).ends(0).says("interrupted");
    home.run(&["show", "last"]).ends(0);
}

#[test]
fn the_rotating_synthesizer_rotates_over_runs() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let writers: Vec<usize> = (0..4)
        .map(|_| {
            home.run(&["ask", "Hello?", "--models", THREE, "--synthesizer", "rotate"]).ends(0);
            let events = home.events("last");
            let writer = events.iter().find_map(|event| match &event.what {
                What::TurnEnded { by, .. } if by.speech == Speech::Synthesis => Some(by.seat),
                _ => None,
            });
            writer.unwrap()
        })
        .collect();
    assert_eq!(writers, [0, 1, 2, 0]);
}

#[test]
fn a_reader_that_leaves_stops_the_run_saved() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let mut child = home.spawn(&["ask", "Hello?", "--json", "--models", THREE]);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    home.run(&["history"]).ends(0).says("Hello?");
    home.run(&["resume", "last"]).ends(0);
}

#[test]
fn history_show_and_export_of_what_is_not_there() {
    let home = Home::new();
    home.run(&["history"]).ends(0).says("No runs yet");
    home.run(&["show", "nope"]).ends(3).warns("nope");
    home.run(&["show", "last"]).ends(3);
    home.run(&["ask", "q", "--models", "demo:builder"]).ends(0);
    home.run(&["export", "last", "--format", "pdf"]).ends(2).warns("html");
    // A format of frontends: here that is ours.
    std::fs::write(home.path().join(".env"), "QUORUM_EXPORT_FORMAT=pdf").unwrap();
    home.run(&["export", "last"]).ends(0).says("# q").warns("html");
}

#[test]
fn every_format_is_exported_whole_and_safe() {
    let upstream = Upstream::start(
        Options::default().text(|_| "<script>alert(1)</script> \x1b[31m ok".into()),
    );
    let home = Home::with(&upstream);
    home.run(&["ask", "What <b>now</b>?", "--models", THREE]).ends(0);
    for format in ["md", "json", "html", "txt"] {
        let done = home.run(&["export", "last", "--format", format]);
        done.ends(0).says("now");
        assert!(!done.out.contains('\x1b') || format == "json", "{format} drives a terminal");
        assert!(!done.out.contains("<script>") || format != "html", "{format} runs a script");
        let file = format!("out.{format}");
        home.run(&["export", "last", "--format", format, "--output", &file]).ends(0);
        assert_eq!(std::fs::read_to_string(home.path().join(&file)).unwrap(), done.out);
    }
    home.run(&["export", "last", "--output", "no/such/folder/x.md"]).ends(2).warns("--output");
    let left: Vec<_> = std::fs::read_dir(home.path())
        .unwrap()
        .filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().ends_with("part"))
        .collect();
    assert!(left.is_empty());
}

#[test]
fn what_is_no_file_is_written_to_and_not_replaced() {
    let home = Home::new();
    home.run(&["ask", "q", "--models", "demo:builder"]).ends(0);
    let (file, link) = (home.path().join("real.md"), home.path().join("link.md"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    home.run(&["export", "last", "--output", "link.md"]).ends(0);
    assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap().contains("# q"));
    // A link of our own to a device: were it replaced, only the link would be.
    std::os::unix::fs::symlink("/proc/self/fd/1", home.path().join("out")).unwrap();
    home.run(&["export", "last", "--output", "out"]).ends(0).says("# q");
    home.run(&["export", "last", "--output", "."]).ends(2).warns("--output");
}
