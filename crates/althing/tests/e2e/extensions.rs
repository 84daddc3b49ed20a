//! Extensions from the command line: those of `examples/extensions`, in three languages.

mod done;
mod models;
mod page;
mod recordings;

use crate::harness::{Done, Home, on_path, really_wait, signal, unless_missing};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const ADT: &str = "MSH|^~\\&|A|B|C|D|20240101||ADT^A01|1|P|2.5\rPID|1||0042^^^X||DOE^JANE\r";

/// How often an extension may be found not yet started: 20 seconds, to catch a hang.
const STARTED_POLLS_MAX: u32 = 400;

pub fn example(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions");
    root.canonicalize().unwrap().join(name)
}

/// A home with a message in it, and the program that runs an example; none where it is missing.
pub fn stage(program: &str) -> Option<(Home, String)> {
    unless_missing(on_path(program), program)?;
    let home = with_path(Home::new());
    std::fs::write(home.path().join("adt.hl7"), ADT).unwrap();
    Some((home, program.into()))
}

/// Where languages may be scripts that start others.
pub fn with_path(home: Home) -> Home {
    home.set("PATH", &std::env::var("PATH").unwrap())
}

/// An example as a command line.
pub fn line(program: &str, example_name: &str) -> String {
    format!("{program} '{}'", example(example_name).display())
}

fn run(home: &Home, extension: &str, command: &str, more: &[&str]) -> Done {
    let args = ["extensions", "run", extension, "--message", "adt.hl7", "--command", command];
    home.run(&[&args, more].concat())
}

#[test]
fn a_command_changes_the_message() {
    let Some((home, python)) = stage("python3") else { return };
    let editor = line(&python, "editor.py");
    let done = run(&home, &editor, "editor/fill", &["-v"]);
    let filled = format!(
        "{}||||||12 Main Street^^Springfield\rNK1||DOE^ZOË \\T\\ CO\r",
        ADT.trim_end_matches('\r')
    );
    assert_eq!(done.ends(0).out, filled);
    done.warns("PID.5.1xyz");
    run(&home, &editor, "editor/fill", &["--output", "out.hl7"]).ends(0);
    assert_eq!(std::fs::read_to_string(home.path().join("out.hl7")).unwrap(), filled);
    assert_eq!(std::fs::read_to_string(home.path().join("adt.hl7")).unwrap(), ADT);
    run(&home, &editor, "editor/anonymise", &["--in-place", "--command", "editor/upper"]).ends(0);
    let left = std::fs::read_to_string(home.path().join("adt.hl7")).unwrap();
    assert!(left.starts_with("MSH|^~\\&|A|B") && !left.contains("JANE"), "{left}");
    home.is_left();
}

/// Sends each view back as it came, then a patch of what its words say: path and value.
const PATCHES: &str = r#"
import sys
import hermes

@hermes.on("command/execute")
def command(params):
    views = 0
    for format in ["json", "yaml", "toml"]:
        try:
            text = hermes.request("editor/getMessage", format=format)["message"]
            hermes.request("editor/setMessage", message=text, format=format)
            views += 1
        except hermes.Refused as refused:
            hermes.log(str(refused))
    hermes.log(f"views: {views}")
    report = hermes.request("editor/patchMessage", patches=[{"path": sys.argv[1], "value": sys.argv[2]}])
    hermes.log(f"patched: {report['patchesApplied']}")

hermes.run("Patches", commands=["patch"])
"#;

/// The same verbs for every form: a question, a task file. Views that come back change no byte.
#[test]
fn other_documents_than_hl7() {
    let Some((home, python)) = stage("python3") else { return };
    std::fs::write(home.path().join("patches.py"), PATCHES).unwrap();
    std::fs::copy(example("hermes.py"), home.path().join("hermes.py")).unwrap();
    #[rustfmt::skip]
    let cases = [
        ("a.json", "{\n \"n\" : \"a\", \"k\":[1.50]}", "/n", 3, "{\n \"n\" : \"b\", \"k\":[1.50]}"),
        ("a.yaml", "# why\nn: a  # so\nk: [1]\n", "/n", 3, "# why\nn: \"b\"  # so\nk: [1]\n"),
        ("a.toml", "# why\nn = 'a' # so\nk = [ 1 ]\n", "/n", 3, "# why\nn = \"b\" # so\nk = [ 1 ]\n"),
        ("a.txt", "Why?\r\na\nSo.", "2", 0, "Why?\r\nb\nSo."),
    ];
    for (file, text, path, views, want) in cases {
        std::fs::write(home.path().join(file), text).unwrap();
        let extension = format!("{python} patches.py {path} b");
        let args = ["extensions", "run", &extension, "-m", file, "-c", "patch", "-v"];
        let done = home.run(&args);
        done.ends(0).warns(&format!("views: {views}")).warns("patched: 1");
        assert_eq!(done.out, want);
    }
    home.is_left();
}

#[test]
fn questions_are_answered_by_a_file_or_on_standard_input() {
    let Some((home, python)) = stage("python3") else { return };
    let dialogues = line(&python, "dialogues.py");
    let answers = r#"[{ "method": "ui/showConfirm", "contains": "sure", "answer": true },
        { "method": "ui/openFile", "answer": "/in/one" },
        { "method": "ui/openFiles", "answer": ["/in/two", "/in/three"] },
        { "method": "ui/saveFile", "answer": "/out/save" }, { "method": "ui/selectDirectory" }]"#;
    std::fs::write(home.path().join("answers.json"), answers).unwrap();
    let noted = "NTE|||one=/in/one many=/in/two,/in/three save=/out/save folder=None";
    run(&home, &dialogues, "dialogues/all", &["--answers", "answers.json"]).ends(0).says(noted);

    let args = ["extensions", "run", &dialogues, "-m", "adt.hl7", "-c", "dialogues/all"];
    let typed = "what?\nyes\n/in/one\n/in/two /in/three\n/out/save\n\n";
    home.run_with_input(&args, typed).ends(0).says(noted).warns("Are you sure?");
    home.run_with_input(&args, "no\n").ends(0).warns("Then not.");

    std::fs::write(home.path().join("few.json"), "[]").unwrap();
    run(&home, &dialogues, "dialogues/all", &["--answers", "few.json"])
        .ends(2)
        .warns("no answer is prepared for ui/showConfirm: Are you sure?");
    run(&home, &dialogues, "dialogues/all", &[]).ends(2).warns("standard input has no answer");
    std::fs::write(home.path().join("bad.json"), "{}").unwrap();
    run(&home, &dialogues, "dialogues/all", &["--answers", "bad.json"]).ends(2).warns("--answers");
    home.is_left();
}

#[test]
fn three_languages_by_their_names() {
    let Some((home, python)) = stage("python3") else { return };
    for program in ["node", "perl"] {
        let Some(_) = unless_missing(on_path(program), program) else { return };
    }
    home.run(&["extensions", "list"]).ends(0).says("No extensions yet");
    for (name, program, file) in [
        ("editor", python.as_str(), "editor.py"),
        ("events", "node", "events.mjs"),
        ("schema", "perl", "schema.pl"),
    ] {
        let file = example(file);
        let add = ["extensions", "add", name, "--", program, &file.to_string_lossy()];
        home.run(&add).ends(0).says("is added");
    }
    home.run(&["extensions", "add", "editor", "--", "x"]).ends(2).warns("already");
    home.run(&["extensions", "add", "Bad Name", "--", "x"]).ends(2).warns("lower-case letter");
    home.run(&["extensions", "disable", "schema"]).ends(0);
    let listed = home.run(&["extensions", "list"]);
    listed.ends(0).says("events  enabled").says("schema  disabled");
    home.run(&["extensions", "enable", "schema"]).ends(0);

    let args = ["extensions", "run", "schema", "events", "editor", "-m", "adt.hl7", "-v"];
    let done = home.run(&[&args[..], &["-c", "events/count", "-c", "editor/fill"]].concat());
    done.ends(0)
        .says("NK1||DOE")
        .warns("lengths: true true true true")
        .warns("changed: 3 segments");
    let logs = home.run(&["extensions", "logs", "events"]);
    logs.ends(0).says("lengths: true");
    home.run(&["extensions", "logs", "editor", "--level", "warning"]).ends(0).says("PID.5.1xyz");
    home.run(&["extensions", "logs", "nobody"]).ends(3);

    home.run(&["extensions", "remove", "schema"]).ends(0);
    home.run(&["extensions", "remove", "schema"]).ends(3).warns("there is no extension 'schema'");
    home.run(&["extensions", "run", "schema", "-m", "adt.hl7", "-c", "x"])
        .ends(3)
        .warns("there are: editor, events");
    home.is_left();
}

#[test]
fn what_goes_wrong_has_its_exit_code() {
    let Some((home, python)) = stage("python3") else { return };
    let wrong = |kind: &str| format!("{} {kind}", line(&python, "misbehaving.py"));
    let echo = line(&python, "echo.py");
    run(&home, &echo, "echo/none", &[]).ends(3).warns("there are: echo/show");
    run(&home, &wrong("crash"), "crash", &[]).ends(18).warns("out of luck");
    run(&home, &wrong("crash-in-initialize"), "x", &[]).ends(18).warns("cannot find my teeth");
    run(&home, "/no/such/program", "x", &[]).ends(18);
    run(&home, &wrong("never-again"), "never-again", &[]).ends(18);
    let args = ["extensions", "run", &echo, "-m", "none.hl7", "-c", "echo/show"];
    home.run(&args).ends(3).warns("there is no such file");
    home.is_left();
}

/// Waits for the process of an extension beside that of the host.
fn until_started(home: &Home, what: &str) {
    let is_it = |command: &str| command.contains(what) && !command.contains("extensions run");
    let mut polls = 0;
    while !home.running().iter().any(|(_, command)| is_it(command)) {
        polls += 1;
        assert!(polls < STARTED_POLLS_MAX, "it never started");
        really_wait(Duration::from_millis(50));
    }
}

/// The examples of Hermes go round and round when their host is gone.
#[test]
fn after_a_kill_the_next_start_ends_what_is_left() {
    let Some((home, python)) = stage("python3") else { return };
    let echo = line(&python, "echo.py");
    let args = ["extensions", "run", &echo, "-m", "adt.hl7", "-c", "echo/show", "--settle", "1h"];
    let mut child = home.spawn(&[&args[..], &["--timeout", "1h"]].concat());
    until_started(&home, "echo.py");
    child.kill().unwrap();
    child.wait().unwrap();
    run(&home, &line(&python, "editor.py"), "editor/fill", &[]).ends(0);
    home.is_left();
}

#[test]
fn ctrl_c_ends_everything() {
    let Some((home, python)) = stage("python3") else { return };
    let lingers = format!("{} never-ends", line(&python, "misbehaving.py"));
    let args = ["extensions", "run", &lingers, "-m", "adt.hl7", "-v", "-c", "never-ends"];
    let args = [&args[..], &["--settle", "1h", "--timeout", "1h"]].concat();
    let mut child = home.spawn(&args);
    until_started(&home, "misbehaving.py never-ends");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(!said.any(|line| line.unwrap().contains("panicked")));
    home.is_left();
}
