//! Workers as models, and as tools of other programs.

use super::kit::{configure, with_calc};
use crate::harness::{Done, Home, peers, unless_missing, upstream};
use std::path::Path;

#[test]
fn a_worker_is_a_model() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let Some(()) = with_calc(&home) else { return };
    let ask = |models: &str| home.run(&["ask", "Hi", "--models", models]);
    assert_eq!(ask("worker:calc").ends(0).out, "You said: Hi\n");
    ask("worker:none").ends(12).warns("there is no worker 'none'");
    ask("worker:calc,openai:ada").ends(0).says("You said: ").says("Consensus");
    let file = home.path().join(".config/althing/config.toml");
    let toml = std::fs::read_to_string(file).unwrap();
    configure(&home, &format!("{toml}\n[providers.calc]\nprovider = 'worker'\n"));
    home.run(&["models"]).ends(0).says("worker:calc");
    home.run(&["config"]).ends(0).says("workers.calc.provider");
    configure(&home, "[providers.lost]\nprovider = 'worker'\n");
    home.run(&["config"]).ends(0).warns("providers.lost.provider").warns("[workers.lost]");
    home.is_left();
}

#[test]
fn the_official_mcp_client_calls_them() {
    let python = peers().join("mcp/bin/python");
    let Some(python) = unless_missing(python.is_file().then_some(python), "the MCP client") else {
        return;
    };
    let upstream = upstream();
    let home = Home::with(&upstream);
    let Some(()) = with_calc(&home) else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/mcp/workers.py");
    let mut drive = home.foreign(&python);
    drive.arg(script).args([env!("CARGO_BIN_EXE_althing"), "mcp"]);
    let done = Done::of(drive.output().unwrap());
    done.ends(0).says("tools: ask complete plan models calc_add calc_mean\n");
    done.says("about: Adds two numbers").says("wanted: a b\n").says("add: 42\n");
    done.says("failed: arguments: 'b' is missing").says("failed: arguments: there is no 'c'");
    done.says("failed: worker 'calc': mean failed: ").says("unknown: ");
    // The model behind `complete` has them too: the upstream asks for the first tool it is given.
    done.says("complete: This is answer 2 of ada.");
    home.is_left();
}
