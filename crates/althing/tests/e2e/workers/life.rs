//! Workers that speak piece by piece, that nobody needs, that die and that are interrupted.

use super::kit::{calls, configure, node, python, with_calc, with_odd};
use super::session::{Session, until};
use crate::harness::{Done, Home, signal, upstream};
use crate::ipc::backend::Backend;
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// `complete` that says a word, waits for the file `go` and says more than may wait to be heard;
/// `begun` and `closed` are files too.
const SLOW_PY: &str = r#"
    from pathlib import Path

    Path("begun").touch()
    try:
        yield "one "
        while not Path("go").exists():
            time.sleep(0.01)
            yield ""
        yield from (f"{n} " for n in range(1000))
        yield "two"
    finally:
        Path("closed").touch()
"#;
const SLOW_JS: &str = r#"
    const { existsSync, writeFileSync } = await import("node:fs");
    writeFileSync("begun", "");
    try {
      yield "one ";
      while (!existsSync("go")) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        yield "";
      }
      for (let n = 0; n < 1000; n += 1) yield `${n} `;
      yield "two";
    } finally {
      writeFileSync("closed", "");
    }
"#;

/// The worker `calc` as it is written, but with such a `complete`. Its functions run in the folder
/// of the configuration, which is given.
fn with_slow(home: &Home, language: &str, more: &str) -> Option<PathBuf> {
    let (program, file, usual, slow) = match language {
        "python" => {
            let usual = "    yield \"You said: \"\n    yield messages[-1][\"content\"]\n";
            (python()?, "calc.py", usual, SLOW_PY)
        }
        _ => {
            let (node, modules) = node()?;
            std::os::unix::fs::symlink(modules, home.path().join("node_modules")).unwrap();
            let usual = "    yield \"You said: \";\n    yield messages.at(-1).content;\n";
            (node, "calc.mjs", usual, SLOW_JS)
        }
    };
    home.run(&["workers", "new", "--language", language]).ends(0);
    let script = home.path().join(file);
    let starter = std::fs::read_to_string(&script).unwrap();
    assert!(starter.contains(usual));
    std::fs::write(&script, starter.replace(usual, slow)).unwrap();
    let run = format!("run = ['{}', '{}']", program.display(), script.display());
    configure(home, &format!("[workers.calc]\n{run}\n{more}\n"));
    Some(home.path().join(".config/althing"))
}

/// Everything that `complete` says.
fn all_of_it() -> String {
    let numbers: String = (0..1000).map(|n| format!("{n} ")).collect();
    format!("one {numbers}two")
}

/// The processes of the worker, by their id.
fn workers(home: &Home) -> Vec<String> {
    let all = home.running().into_iter().filter(|(_, command)| command.contains("calc."));
    all.map(|(id, _)| id).collect()
}

/// The first word is heard while the second is not said yet.
fn check_stream(language: &str) {
    let home = Home::new();
    let Some(folder) = with_slow(&home, language, "") else { return };
    let mut child = home.spawn(&["ask", "Hi", "--models", "worker:calc", "--json"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let is_first = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["type"] == "turn_delta" && event["text"] == "one "
    };
    let mut lines = out.by_ref().lines().map(Result::unwrap);
    assert!(lines.any(|line| is_first(&line)), "it ended before it spoke");
    assert!(!folder.join("closed").exists());
    std::fs::write(folder.join("go"), "").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(rest.contains(&all_of_it()), "{rest}");
    assert!(child.wait().unwrap().success());
    // Who wants it whole gets the same.
    let whole = home.run(&["ask", "Hi", "--models", "worker:calc", "--no-stream"]);
    assert_eq!(whole.ends(0).out, all_of_it() + "\n");
    home.is_left();
}

#[test]
fn a_model_in_python_is_heard_word_by_word() {
    check_stream("python");
}

#[test]
fn so_is_one_in_javascript() {
    check_stream("js");
}

/// An answer that nobody waits for any more ends, and the worker goes on.
fn check_cancel(language: &str) {
    let home = Home::new();
    let Some(folder) = with_slow(&home, language, "") else { return };
    let mut session = Session::start(&home);
    let arguments = json!({ "model": "worker:calc", "prompt": "Hi" });
    let id = session.request("tools/call", json!({ "name": "complete", "arguments": arguments }));
    until("it speaks", || folder.join("begun").exists());
    let before = workers(&home);
    session.cancel(id);
    until("it is ended", || folder.join("closed").exists());
    assert_eq!(session.call("calc_add", json!({ "a": 1, "b": 2 })), "3");
    assert_eq!(workers(&home), before);
    session.leave();
    home.is_left();
}

#[test]
fn an_answer_in_python_ends_when_nobody_listens() {
    check_cancel("python");
}

#[test]
fn so_does_one_in_javascript() {
    check_cancel("js");
}

#[test]
fn one_that_speaks_does_not_hang() {
    let home = Home::new();
    let Some(folder) = with_slow(&home, "python", "timeout = 1") else { return };
    let mut session = Session::start(&home);
    let arguments = json!({ "model": "worker:calc", "prompt": "Hi" });
    let id = session.request("tools/call", json!({ "name": "complete", "arguments": arguments }));
    until("it speaks", || folder.join("begun").exists());
    let before = workers(&home);
    // It takes one call at a time, so this one waits in vain, and that is all.
    let late = session.call("calc_add", json!({ "a": 1, "b": 2 }));
    assert!(late.contains("no answer within 1 s"), "{late}");
    assert_eq!(workers(&home), before);
    std::fs::write(folder.join("go"), "").unwrap();
    assert_eq!(session.text(id), all_of_it());
    session.leave();
    home.is_left();
}

#[test]
fn one_that_nobody_calls_is_ended_and_comes_back() {
    let home = Home::new();
    let Some(_) = with_slow(&home, "python", "idle = 0.5") else { return };
    let mut session = Session::start(&home);
    for _ in 0..2 {
        assert_eq!(session.call("calc_add", json!({ "a": 1, "b": 2 })), "3");
        until("it is ended", || workers(&home).is_empty());
    }
    session.leave();
    home.run(&["workers", "logs", "calc"]).ends(0).says("nobody has called it for 0.5 s");
    home.run(&["config"]).ends(0).says("workers.calc.idle");
    home.is_left();
}

#[test]
fn one_that_died_between_two_calls_is_not_missed() {
    let home = Home::new();
    let Some(()) = with_calc(&home) else { return };
    let mut session = Session::start(&home);
    assert_eq!(session.call("calc_add", json!({ "a": 1, "b": 2 })), "3");
    for id in workers(&home) {
        std::process::Command::new("kill").args(["-KILL", &id]).status().unwrap();
        // A call that is on its way before its end is known fails with it.
        until("its end is known", || !std::path::Path::new("/proc").join(&id).exists());
    }
    assert_eq!(session.call("calc_add", json!({ "a": 3, "b": 4 })), "7");
    session.leave();
    home.run(&["workers", "logs", "calc"]).ends(0).says("ended by itself");
    home.is_left();
}

#[test]
fn ctrl_c_ends_what_hangs() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let Some(()) = with_odd(&home, 600) else { return };
    configure_more(&home, "[workers.deaf]\nrun = ['/bin/sleep', '600']\n");
    let begun = home.path().join(".config/althing/begun.txt");
    let check = |args: &[&str], is_under_way: &dyn Fn() -> bool| {
        let child = home.spawn(args);
        until("it is under way", is_under_way);
        signal(&child, "INT");
        let done = Done::of(child.wait_with_output().unwrap());
        assert_eq!((done.ends(130).out.as_str(), done.err.as_str()), ("", ""), "{args:?}");
        home.is_left();
    };
    check(&["workers", "call", "odd", "hang"], &|| begun.exists());
    let is_deaf = || home.running().iter().any(|(_, command)| command.contains("/bin/sleep"));
    check(&["workers", "list"], &is_deaf);
    check(&["doctor"], &is_deaf);
    check(&["ask", "Hi", "--models", "openai:ada"], &is_deaf);
}

/// One that hears neither its parent nor a signal goes with the frontend all the same.
#[test]
fn a_frontend_leaves_no_stubborn_one_behind() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let stubborn = r#"trap "" TERM; while :; do /bin/sleep 1; done"#;
    configure(&home, &format!("[workers.stubborn]\nrun = ['/bin/sh', '-c', '{stubborn}']\n"));
    let mut backend = Backend::start(&home);
    backend.discuss("Hello?");
    let is_there = || home.running().iter().any(|(_, command)| command.contains("trap"));
    until("it is there", is_there);
    let done = backend.leave();
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{done:#?}");
    home.is_left();
}

/// Not even one that hears nothing outlives an Althing that is killed.
#[test]
fn a_killed_althing_leaves_no_worker_behind() {
    for name in ["KILL", "TERM"] {
        let home = Home::new();
        let stubborn = r#"trap "" TERM INT HUP; while :; do /bin/sleep 1; done"#;
        configure(&home, &format!("[workers.stubborn]\nrun = ['/bin/sh', '-c', '{stubborn}']\n"));
        let mut child = home.spawn(&["workers", "list"]);
        let is_there = || home.running().iter().any(|(_, command)| command.contains("trap"));
        until("it is there", is_there);
        signal(&child, name);
        child.wait().unwrap();
        home.is_left();
    }
}

fn configure_more(home: &Home, toml: &str) {
    let file = home.path().join(".config/althing/config.toml");
    let before = std::fs::read_to_string(file).unwrap();
    configure(home, &format!("{before}{toml}"));
}

#[test]
fn doctor_tells_of_workers() {
    let home = Home::new();
    home.run(&["doctor"]).ends(0).says("Workers").says("althing workers new --language python");
    let Some(()) = with_calc(&home) else { return };
    let lacks = home.path().join("lacks.py");
    std::fs::write(&lacks, "raise ModuleNotFoundError(\"No module named 'zmq'\")\n").unwrap();
    let python = python().unwrap();
    configure_more(
        &home,
        &format!(
            "only = ['add']\n[workers.gone]\nrun = './gone.py'\n[workers.away]\nservice = 'lost'\n\
             [workers.lacks]\nrun = ['{}', '{}']\n[workers.deaf]\nrun = '/bin/sleep 600'\n\
             [providers.calc]\nprovider = 'worker'\n",
            python.display(),
            lacks.display()
        ),
    );
    let done = home.run(&["doctor"]);
    let line = |name: &str| {
        let found = done.out.lines().find(|line| line.contains(&format!(" {name} ")));
        found.unwrap_or_else(|| panic!("no {name} in {}", done.out)).to_string()
    };
    done.ends(0);
    for (name, words) in [
        ("✓ calc", &["1 function, a model, ", "calc.py"][..]),
        (
            "✗ gone",
            &["cannot start the worker '", "gone.py' in '", "change `run` in [workers.gone]"],
        ),
        ("✗ away", &["no service 'lost' is running", "start 'lost', or change `service`"]),
        ("✗ lacks", &["No module named 'zmq'; pip install pyzmq msgpack"]),
        ("✗ deaf", &["no answer within 5s; see `althing workers logs deaf`"]),
    ] {
        let line = line(name);
        assert!(words.iter().all(|it| line.contains(it)), "{words:?} in {line}");
    }
    assert!(!done.out.contains("multifrost"), "{done:?}");
    home.is_left();
    // The same trouble is told in the list, where everything is asked at once.
    let listed = home.run(&["workers", "list"]);
    listed.ends(18).says("calc    add       Adds two").says("; pip install pyzmq msgpack");
    listed.warns("could not be asked: gone, away, lacks, deaf");
}

/// Calls once what a model is offered.
fn adds(seen: &Seen) -> Option<(String, Value)> {
    let is_now = seen.body.get("tools").is_some() && seen.results() == 0;
    is_now.then(|| ("calc_add".to_string(), json!({ "a": 20, "b": 22 })))
}

#[test]
fn a_discussion_of_a_frontend_uses_it_too() {
    let upstream = Upstream::start(Options::default().call(adds));
    let home = Home::with(&upstream).set("QUORUM_PAUSE_TIMEOUT", "0");
    let Some(()) = with_calc(&home) else { return };
    let mut backend = Backend::start(&home);
    let run = backend.discuss("What are twenty and twenty-two together?");
    backend.event("synthesis");
    assert_eq!(backend.answer(&run)["result"], json!({ "status": "completed" }));
    backend.leave().ends(0);
    let calls = calls(&home.events("last"));
    assert!(!calls.is_empty() && calls.iter().all(|it| it.result == "42"), "{calls:?}");
    home.is_left();
}

#[test]
fn a_mistyped_name_is_told_with_what_there_is() {
    let home = Home::new();
    let Some(()) = with_odd(&home, 20) else { return };
    let call = |args: &[&str]| home.run(&[&["workers", "call"], args].concat());
    for args in [["odd", "hang", "--timeout", "1s"], ["--timeout", "1s", "odd", "hang"]] {
        call(&args).ends(5).warns("no answer within 1 s");
    }
    call(&["odd", "note", "x", "-y"]).ends(2).warns("unexpected argument '-y'");
    assert_eq!(call(&["odd", "note", "--", "-y"]).ends(0).out, "noted -y\n");
    call(&["odd", "nota"]).ends(3).warns("Function 'nota' not found; did you mean note?");
    call(&["odd", "pow"]).ends(3).warns("not found; there are: add, complete, describe, die,");
    call(&["ood", "note"]).ends(3).warns("no running service 'ood'; did you mean odd?");
    home.run(&["workers", "logs", "od"]).ends(3).warns("no worker 'od'; did you mean odd?");
    let died = call(&["odd", "die"]);
    died.ends(18).warns("exit status: 7\nthese are my last words\nsee `althing workers logs odd`");
    let logs = home.run(&["workers", "logs", "odd"]);
    assert_eq!(logs.ends(0).out.matches("these are my last words").count(), 1, "{logs:?}");
    home.is_left();
}
