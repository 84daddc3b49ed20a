//! The backend of Quorum frontends as a process: how it starts, how it ends, what it keeps, and
//! what a bad client cannot do to it. What it says is tested where it is said.

mod abuse;
pub mod backend;
mod discussion;
mod endings;
mod examples;
mod state;

use crate::harness::Home;
use backend::Backend;
use serde_json::json;

#[test]
fn it_is_ready_at_once_however_it_is_called() {
    let home = Home::new();
    for args in [&["--ipc"][..], &["-m", "quorum", "--ipc"], &["--ipc", "-m", "quorum"]] {
        let mut backend = Backend::start_as(&home, args);
        let hello = backend.call("initialize", json!({"protocol_version": "1.0.0"}));
        assert_eq!(hello["name"], "quorum-cli");
        let done = backend.leave();
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    }
}

/// Whatever it has to read first: nobody writes into this configuration, so reading it never ends.
#[test]
fn it_says_so_before_it_does_anything_else() {
    let config = tempfile::tempdir().unwrap();
    let pipe = config.path().join("config.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let home = Home::new().set("ALTHING_CONFIG", &pipe.display().to_string());
    drop(Backend::start(&home));
}

#[test]
fn it_takes_no_other_arguments() {
    let home = Home::new();
    let cases: [(&[&str], &str); 4] = [
        (&["--ipc", "--port", "1"], "--port 1"),
        (&["--ipc", "ask", "Hello?"], "ask Hello?"),
        (&["-m", "other", "--ipc"], "-m other"),
        (&["-m", "--ipc"], "-m"),
    ];
    for (args, named) in cases {
        let done = home.run(args);
        done.ends(2).warns(named);
        assert_eq!(done.out, "", "{args:?}");
    }
}
