//! `althing mcp`, driven by the official client.

use crate::harness::{Done, Home, peers, unless_missing, upstream};
use std::path::Path;

/// What the client prints in `mode`, the protocol it begins with.
#[track_caller]
fn check(mode: &str) {
    let python = peers().join("mcp/bin/python");
    let Some(python) = unless_missing(python.is_file().then_some(python), "the MCP client") else {
        return;
    };
    let upstream = upstream();
    let home = Home::with(&upstream);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/mcp/drive.py");
    let althing = env!("CARGO_BIN_EXE_althing");
    let mut drive = home.foreign(&python);
    drive.arg(script).args([mode, althing, "mcp"]);
    let done = Done::of(drive.output().unwrap());
    done.ends(0).says("tools: ask complete plan models\n").says("openai:");
    done.says("ask: ").says("althing show ").says("phase 1 of ").says(" has spoken");
    done.says("plan: # Plan: Stay dry").says("$.task: it is empty");
    done.says("A plan came too late: ").says("$.preferences.max_plans: 17 is greater");
    done.says("rate_limited").says("no such model is found").says("missing field `model`");
    done.says("question: it is empty").says("rounds: 1 to 10").says("unknown: ");
    done.says("after a cancel: ");
    // The hanging call was cancelled upstream, and the discussion is in the history.
    home.run(&["history"]).ends(0).says("Is rain wet?").says("done, ").says("council");
    home.is_left();
}

#[test]
fn the_official_client_drives_it() {
    check("auto");
}

#[test]
fn so_does_one_of_the_older_protocol() {
    check("legacy");
}
