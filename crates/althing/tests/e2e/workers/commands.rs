//! `althing workers`.

use super::kit::{configure, node, python, with_calc};
use crate::harness::{Home, really_wait, signal};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// How often a service may be found not there yet: ten seconds, to catch a hang.
const POLLS_MAX: usize = 200;

#[test]
fn functions_are_listed_called_and_logged() {
    let home = Home::new();
    let Some(()) = with_calc(&home) else { return };
    home.run(&["workers", "list"]).ends(0).says("calc").says("mean").says("Adds two numbers");
    home.run(&["workers", "list", "--json"]).ends(0).says(r#""function":"add""#);
    let call = |args: &[&str]| home.run(&[&["workers", "call"], args].concat());
    assert_eq!(call(&["calc", "add", "1", "2"]).ends(0).out, "3\n");
    assert_eq!(call(&["calc", "add", "-1", "0.5"]).ends(0).out, "-0.5\n");
    assert_eq!(call(&["calc", "add", "some ", "text"]).ends(0).out, "some text\n");
    assert_eq!(call(&["calc", "mean", "[1, 2, 6]"]).ends(0).out, "3.0\n");
    call(&["calc", "add", "1"]).ends(18).warns("add failed: TypeError");
    call(&["calc", "pow", "1"]).ends(3).warns("Function 'pow' not found");
    call(&["calc", "_x"]).ends(18).warns("Cannot call private method '_x'");
    call(&["nobody", "add"]).ends(3).warns("no running service 'nobody'; there are: calc");
    home.run(&["workers", "logs"]).ends(0).says("Traceback (most recent call last)");
    let nobody = "there is no worker 'nobody'; there are: calc\n";
    home.run(&["workers", "logs", "nobody"]).ends(3).warns(nobody);
    home.run(&["config"]).ends(0).says("workers.calc.run").says("workers.calc.timeout");
    home.is_left();
}

#[test]
fn a_new_worker_overwrites_nothing() {
    let home = Home::new();
    home.run(&["workers", "list"]).ends(0).says("No workers yet");
    home.run(&["workers", "logs"]).ends(0).says("No worker has printed anything yet");
    let new = |args: &[&str]| home.run(&[&["workers", "new"], args].concat());
    new(&["--language", "python"]).ends(0).says("pip install pyzmq msgpack").says("calc.py");
    let starter = std::fs::read_to_string(home.path().join("calc.py")).unwrap();
    assert!(starter.contains("each with its name in FUNCTIONS"), "{starter}");
    new(&["--language", "python"]).ends(2).warns("is there already");
    new(&["--language", "js", "tools"]).ends(0).says("npm install zeromq msgpackr");
    new(&["--language", "js", "../x"]).ends(2).warns("name: ");
    new(&["--language", "cobol"]).ends(2).warns("python, js");
    let written = std::fs::read_to_string(home.path().join("tools.mjs")).unwrap();
    assert!(written.starts_with("// Functions for Althing in JavaScript."));
    let folder = home.path().join("it's \"here\"");
    std::fs::create_dir(&folder).unwrap();
    let mut there = home.command(&["workers", "new", "--language", "js"]);
    let told = String::from_utf8(there.current_dir(&folder).output().unwrap().stdout).unwrap();
    configure(&home, told.split("\n\n").nth(1).unwrap());
    let script = folder.join("calc.mjs");
    home.run(&["config"]).ends(0).says(&script.display().to_string());
}

#[test]
fn a_worker_in_javascript_works_the_same() {
    let Some((node, modules)) = node() else { return };
    let home = Home::new();
    home.run(&["workers", "new", "--language", "js", "calc"]).ends(0);
    std::os::unix::fs::symlink(modules, home.path().join("node_modules")).unwrap();
    let script = home.path().join("calc.mjs");
    let run = format!("run = ['{}', '{}']", node.display(), script.display());
    configure(&home, &format!("[workers.calc]\n{run}\n"));
    home.run(&["workers", "list"]).ends(0).says("Adds two numbers");
    assert_eq!(home.run(&["workers", "call", "calc", "add", "1", "2"]).ends(0).out, "3\n");
    home.run(&["workers", "call", "calc", "pow"]).ends(3).warns("Function 'pow' not found");
    assert_eq!(home.run(&["ask", "Hi", "--models", "worker:calc"]).ends(0).out, "You said: Hi\n");
    home.is_left();
}

#[test]
fn a_service_that_somebody_runs_is_called_by_its_name() {
    let Some(python) = python() else { return };
    let home = Home::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workers/worker.py");
    let mut service = home.foreign(&python);
    service.arg(script).args(["--service", "math"]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut service = service.spawn().unwrap();
    let call = || home.run(&["workers", "call", "math", "add", "1", "2"]);
    for _ in 0..POLLS_MAX {
        if call().code == Some(0) {
            break;
        }
        really_wait(Duration::from_millis(50));
    }
    assert_eq!(call().ends(0).out, "3\n");
    home.run(&["workers", "list"]).ends(0).says("math").says("somebody else");
    configure(&home, "[workers.m]\nservice = 'math'\nonly = ['add', 'echo']\n");
    let listed = home.run(&["workers", "list"]);
    assert!(!listed.ends(0).says("echo").out.contains("crash"), "{listed:?}");
    signal(&service, "TERM");
    service.wait().unwrap();
    home.run(&["workers", "call", "m", "add", "1", "2"]).ends(3).warns("no service 'math'");
}
