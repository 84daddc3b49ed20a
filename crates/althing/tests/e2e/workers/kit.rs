//! A home with a worker in it.

use crate::harness::{Home, on_path, peers, unless_missing};
use althing_assembly::Event;
use althing_assembly::event::{Note, What};
use althing_chat::Called;
use std::path::PathBuf;

/// Functions that go wrong, around those of the worker that `althing` writes.
const ODD: &str = r#"
import os, time
import calc

def note(text):
    with open("calls.txt", "a") as file:
        file.write(text + "\n")
    return "noted " + text

def die():
    print("    printed and not flushed" + " and so on" * 60)
    os.write(2, b"these are my last words\n")
    os._exit(7)

def hang():
    open("begun.txt", "w").close()
    time.sleep(3600)

def flood():
    for _ in range(20_000):
        print("x" * 500)
    return "y" * 1_000_000

text = {"type": "object", "properties": {"text": {"type": "string"}}}
none = {"type": "object", "properties": {}}
calc.TOOLS[:] = [{"name": "note", "parameters": text}]
calc.TOOLS.extend({"name": it, "parameters": none} for it in ("die", "hang", "flood"))
calc.FUNCTIONS.update(note=note, die=die, hang=hang, flood=flood)
calc.main()
"#;

/// The Python that has what workers need.
pub fn python() -> Option<PathBuf> {
    let python = peers().join("frost/bin/python");
    unless_missing(python.is_file().then_some(python), "Python with pyzmq")
}

/// The Node there is, and the packages that workers need.
pub fn node() -> Option<(PathBuf, PathBuf)> {
    let modules = peers().join("frost/node_modules");
    let node = on_path("node").filter(|_| modules.is_dir());
    unless_missing(node.map(|node| (node, modules)), "Node with zeromq")
}

/// Writes the configuration.
pub fn configure(home: &Home, toml: &str) {
    let file = home.path().join(".config/althing/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, toml).unwrap();
}

/// The worker `calc` in this home, as it is written to begin with.
pub fn with_calc(home: &Home) -> Option<()> {
    let python = python()?;
    home.run(&["workers", "new", "--language", "python", "calc"]).ends(0).says("[workers.calc]");
    let script = home.path().join("calc.py");
    configure(
        home,
        &format!("[workers.calc]\nrun = ['{}', '{}']\n", python.display(), script.display()),
    );
    Some(())
}

/// The worker `odd`, whose calls may take so many seconds.
pub fn with_odd(home: &Home, timeout: u32) -> Option<()> {
    with_calc(home)?;
    let script = home.path().join("odd.py");
    std::fs::write(&script, ODD).unwrap();
    let (python, script) = (python()?.display().to_string(), script.display().to_string());
    let run = format!("run = ['{python}', '{script}']");
    configure(home, &format!("[workers.odd]\n{run}\ntimeout = {timeout}\n"));
    Some(())
}

/// The calls in a log.
pub fn calls(events: &[Event]) -> Vec<Called> {
    let called = |event: &Event| match &event.what {
        What::TurnNoted { note: Note::Called(called), .. } => Some(called.clone()),
        _ => None,
    };
    events.iter().filter_map(called).collect()
}
