//! The clients of `examples/quorum`, as a person runs them.

use super::backend::wait_for_exit;
use super::discussion::until_freed;
use crate::harness::{Done, Home, THREE, on_path, signal, unless_missing, upstream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

const CLIENTS: [(&str, &str); 2] = [("python3", "client.py"), ("node", "client.mjs")];

/// The clients that can run here.
fn clients() -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quorum");
    CLIENTS.into_iter().filter_map(move |(program, file)| {
        Some((unless_missing(on_path(program), program)?, folder.join(file)))
    })
}

/// A client at work in `home`, on our binary.
fn start(home: &Home, (program, file): &(PathBuf, PathBuf), args: &[&str]) -> Child {
    let mut command = home.foreign(program);
    command.env("ALTHING", env!("CARGO_BIN_EXE_althing")).arg(file).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn run(home: &Home, client: &(PathBuf, PathBuf), args: &[&str]) -> Done {
    let mut child = start(home, client, args);
    wait_for_exit(&mut child);
    Done::of(child.wait_with_output().unwrap())
}

#[test]
fn they_hold_a_discussion_through_its_pauses() {
    for client in clients() {
        let home = Home::new();
        let done = run(&home, &client, &["Is rain wet?"]);
        done.ends(0).says("Models: demo:builder").says("== Phase 5: Synthesis (5 of 5)");
        done.says("demo:scout (").says("\nDone after 16 messages.\n");
        assert_eq!((done.err.as_str(), done.out.contains("undefined")), ("", false), "{done:#?}");
        home.run(&["history"]).ends(0).says("Is rain wet?").says("done, ");
        let upstream = upstream();
        let home = Home::with(&upstream);
        let args = ["Hello?", "--method", "oxford", "--models", "openai:ada,openai:bob"];
        run(&home, &client, &args)
            .ends(0)
            .says("== Phase 4: Judgement (4 of 4)")
            .says("openai:bob: ");
        home.is_left();
    }
}

#[test]
fn ctrl_c_cancels() {
    for client in clients() {
        let (upstream, _) = until_freed();
        let home = Home::with(&upstream);
        let child = start(&home, &client, &["Hello?", "--models", THREE]);
        upstream.wait_for_sync(|seen| seen.iter().any(|seen| seen.nth == 2));
        signal(&child, "INT");
        let done = Done::of(child.wait_with_output().unwrap());
        done.ends(130).says("\nCancelled.\n");
        assert_eq!(done.err, "");
        home.run(&["history"]).ends(0).says("cancelled");
        home.is_left();
    }
}

#[test]
fn they_say_what_went_wrong() {
    for client in clients() {
        let home = Home::new();
        run(&home, &client, &["Hello?", "--models", "one,!"])
            .ends(1)
            .warns("error: ")
            .warns("model_ids[1]");
        run(&home, &client, &["Hello?", "--method", "quarrel"]).ends(1).warns("method");
        run(&home, &client, &[]).ends(2);
        home.is_left();
    }
}
