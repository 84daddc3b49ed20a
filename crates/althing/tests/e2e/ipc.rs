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
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

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

/// As long as its first line cannot be written it has made nothing, and what is configured
/// meanwhile counts.
#[test]
fn it_says_so_before_it_does_anything_else() {
    let home = Home::new();
    let (output, mut unread) = UnixStream::pair().unwrap();
    let full = fill(&output);
    let mut backend = Backend::start_into(&home, &["--ipc"], OwnedFd::from(output).into());
    backend.until_it_waits();
    assert!(!home.data().exists());
    std::fs::write(home.path().join(".env"), "QUORUM_ROUNDS_PER_AGENT=7").unwrap();
    unread.read_exact(&mut vec![0; full]).unwrap();
    backend.read(unread);
    backend.hears_ready();
    assert_eq!(backend.call("get_config", json!({}))["rounds_per_agent"], 7);
    backend.leave().ends(0);
}

/// Writes until no more is taken; so many bytes.
fn fill(mut output: &UnixStream) -> usize {
    output.set_nonblocking(true).unwrap();
    let mut full = 0;
    for piece in [4096, 1] {
        while let Ok(written) = output.write(&vec![b' '; piece]) {
            full += written;
        }
    }
    output.set_nonblocking(false).unwrap();
    full
}

/// Nobody writes into these pipes, so to read one of them would never end.
#[test]
fn pipes_in_place_of_files_do_not_keep_it() {
    let home = Home::new();
    for file in [".config/althing/config.toml", ".quorum/.env"] {
        let pipe = home.path().join(file);
        std::fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    }
    let mut backend = Backend::start(&home);
    backend.call("get_config", json!({}));
    backend.signal("TERM");
    backend.end().ends(0).warns("config.toml: is no regular file").warns(".quorum/.env");
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
