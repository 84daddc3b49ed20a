//! Every way to end it, at every moment: it ends, it ends well, and nothing is lost or left over.

use super::backend::Backend;
use super::discussion::until_freed;
use crate::harness::{Done, Home, Locked, THREE};
use serde_json::json;
use std::sync::atomic::Ordering;

/// Runs that are begun and left at once.
const HASTY: usize = 5;

#[derive(Debug, Clone, Copy)]
enum End {
    Leaves,
    Signal(&'static str),
    /// It reads no more: what is said next cannot be written.
    StopsReading,
}

const ENDS: [End; 4] = [End::Leaves, End::Signal("TERM"), End::Signal("INT"), End::StopsReading];

fn end(mut backend: Backend, how: End) -> Done {
    println!("{how:?}");
    let done = match how {
        End::Leaves => backend.leave(),
        End::Signal(name) => {
            backend.signal(name);
            backend.end()
        }
        End::StopsReading => {
            backend.stop_reading();
            backend.end()
        }
    };
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{how:?}: {done:#?}");
    done
}

#[test]
fn idle() {
    for how in ENDS {
        let home = Home::new();
        let mut backend = Backend::start(&home);
        backend.call("get_config", json!({}));
        assert_eq!(home.running().len(), 1);
        end(backend, how);
        home.is_left();
    }
}

/// It listens for signals before it says that it is ready.
#[test]
fn as_soon_as_it_is_ready() {
    for name in ["TERM", "INT"] {
        end(Backend::start(&Home::new()), End::Signal(name));
    }
}

#[test]
fn before_it_has_read_anything() {
    let home = Home::new();
    let (backend, _output) = Backend::start_unread(&home, &["--ipc"]);
    backend.leave().ends(0);
}

#[test]
fn in_the_middle_of_a_line() {
    let home = Home::new();
    for half in ["{", "{\"jsonrpc\":\"2.0\",\"id\":1,\"meth", "\"\\u00", "\u{e9}"] {
        let mut backend = Backend::start(&home);
        backend.write(&half.as_bytes()[..half.len().div_ceil(2)]);
        let done = backend.leave();
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{half}: {done:#?}");
    }
}

/// Its calls are broken off, and what was said is kept.
#[test]
fn while_models_are_thinking() {
    for how in ENDS {
        let (upstream, is_freed) = until_freed();
        let home = Home::with(&upstream).set("QUORUM_PAUSE_TIMEOUT", "0");
        let mut backend = Backend::start(&home);
        backend.discuss("Hello?");
        upstream.wait_for_sync(|seen| seen.iter().filter(|seen| seen.nth == 2).count() == 3);
        end(backend, how);
        upstream.wait_for_sync(|seen| {
            seen.iter().filter(|seen| seen.nth == 2).all(|seen| seen.aborted())
        });
        is_freed.store(true, Ordering::Relaxed);
        goes_on(&home);
    }
}

#[test]
fn in_a_pause() {
    for how in ENDS {
        let upstream = crate::harness::upstream();
        let home = Home::with(&upstream);
        let mut backend = Backend::start(&home);
        backend.discuss("Hello?");
        backend.event("phase_complete");
        end(backend, how);
        goes_on(&home);
    }
}

/// It was stopped and saved in its first phase or behind it, and `resume` brings it to its end: where
/// there is no terminal it waits for nobody and asks for nothing.
fn goes_on(home: &Home) {
    home.is_left();
    home.run(&["history"]).ends(0).says("Hello?").says("cancelled");
    let resumed = home.run(&["resume", "last"]);
    assert!(!resumed.out.contains("Enter"), "{resumed:#?}");
    resumed.ends(0).says("3 turns are kept").says("Consensus");
}

/// Whatever has been written of it by then is a run like any other.
#[test]
fn behind_a_request_for_a_discussion() {
    let upstream = crate::harness::upstream();
    for at in 0..HASTY {
        let home = Home::with(&upstream);
        let mut backend = Backend::start(&home);
        backend.discuss("Hello?");
        backend.leave().ends(0);
        home.is_left();
        let begun = home.run(&["history", "--json"]).ends(0).out.lines().count();
        println!("{at}: {begun} of 1 begun");
        if begun > 0 {
            home.run(&["resume", "last"]).ends(0).says("Consensus");
        } else {
            home.run(&["ask", "Hello?", "--models", THREE]).ends(0);
        }
    }
}

/// Another process keeps the store to itself: it does not stay for that, and what it cannot save
/// lacks only its end.
#[test]
fn while_nothing_can_be_saved() {
    for how in ENDS {
        let home = Home::new();
        let mut backend = Backend::start(&home);
        backend.call("get_config", json!({}));
        let _locked = Locked::hold(&home);
        backend.ask("add_to_input_history", json!({"input": "Hello?"}));
        end(backend, how);
        home.is_left();
    }
}

#[test]
fn in_a_pause_while_nothing_can_be_saved() {
    for how in ENDS {
        let upstream = crate::harness::upstream();
        let home = Home::with(&upstream);
        let mut backend = Backend::start(&home);
        backend.discuss("Hello?");
        backend.event("phase_complete");
        let locked = Locked::hold(&home);
        let done = end(backend, how);
        if !matches!(how, End::StopsReading) {
            done.says("discussion_cancelled").says(r#""result":{"status":"completed"}"#);
        }
        assert!(!done.out.contains("discussion_error"), "{done:#?}");
        drop(locked);
        home.is_left();
        home.run(&["history"]).ends(0).says("Hello?").says("interrupted");
        home.run(&["resume", "last"]).ends(0).says("3 turns are kept").says("Consensus");
    }
}
