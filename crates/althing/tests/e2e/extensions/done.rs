//! What `run` calls done, what an extension gets of the machine, and how one begins.

use super::{ADT, example, line, run, stage};
use crate::harness::{Home, on_path, unless_missing};

#[test]
fn an_answer_that_nobody_asked_for_is_no_success() {
    let Some((home, python)) = stage("python3") else { return };
    let answers = r#"[{ "method": "ui/openFile", "contains": "One", "answer": null }]"#;
    std::fs::write(home.path().join("answers.json"), answers).unwrap();
    let args = ["--answers", "answers.json", "--in-place"];
    run(&home, &line(&python, "editor.py"), "editor/fill", &args)
        .ends(2)
        .warns("nobody asked for 1 of them: ui/openFile with");
    assert_eq!(std::fs::read_to_string(home.path().join("adt.hl7")).unwrap(), ADT);
    home.is_left();
}

#[test]
fn one_that_was_killed_is_no_success_also_where_it_is_started_again() {
    let Some((home, python)) = stage("python3") else { return };
    let file = example("misbehaving.py");
    let add = ["extensions", "add", "crashes", "--restart", "--", &python];
    home.run(&[&add[..], &[&file.to_string_lossy(), "crash"]].concat()).ends(0);
    run(&home, "crashes", "crash", &[]).ends(18).warns("it ended while it was at work");
    home.is_left();
}

#[test]
fn extensions_hear_that_the_message_was_opened_and_saved() {
    let Some((home, _)) = stage("node") else { return };
    let events = line("node", "events.mjs");
    let file = home.path().join("adt.hl7");
    let opened = format!("opened: {}", file.display());
    let saved = |path: &str, save_as| format!("saved: {}/{path} {save_as}", home.path().display());
    let done = run(&home, &events, "events/count", &["-v", "--in-place"]);
    done.ends(0).warns(&opened).warns(&saved("adt.hl7", false));
    let done = run(&home, &events, "events/count", &["-v", "--output", "out.hl7"]);
    done.ends(0).warns(&saved("out.hl7", true));
    home.is_left();
}

/// Says what it finds of the machine.
const LOOKS: &str = r#"
import os
import hermes
names = ["AWS_ACCESS_KEY_ID", "PGPASSFILE", "OPENAI_API_KEY", "DATABASE_URL", "LANG"]
hermes.log(f"found: {[name for name in names if name in os.environ]}")
data = os.environ["HERMES_DATA_DIR"]
hermes.log(f"data: {sorted(os.listdir(data))} in {os.path.basename(data)}")
hermes.log(f"token: {any('token' in os.listdir(os.path.join(data, up)) for up in ['..', '../..'])}")
hermes.run("Looks", commands=["look"])
"#;

#[test]
fn an_extension_gets_no_secrets_and_its_data_lies_elsewhere() {
    let Some((home, python)) = stage("python3") else { return };
    std::fs::write(home.path().join("looks.py"), LOOKS).unwrap();
    std::fs::copy(example("hermes.py"), home.path().join("hermes.py")).unwrap();
    let names = ["AWS_ACCESS_KEY_ID", "PGPASSFILE", "OPENAI_API_KEY", "DATABASE_URL", "LANG"];
    let home = names.iter().fold(home, |home, name| home.set(name, "C"));
    // As earlier versions left it.
    let former = home.data().join("extensions/data");
    std::fs::create_dir_all(&former).unwrap();
    std::fs::write(former.join("kept"), "x").unwrap();
    home.run(&["token"]).ends(0);
    let looks = format!("{python} looks.py");
    run(&home, &looks, "look", &["-v"])
        .ends(0)
        .warns("found: ['LANG']")
        .warns("data: ['kept'] in althing-extensions")
        .warns("token: False");
    assert!(!former.exists());
    let add = ["extensions", "add", "looks", "--inherit", "DATABASE_*", "--", &python, "looks.py"];
    home.run(&add).ends(0);
    run(&home, "looks", "look", &["-v"]).ends(0).warns("found: ['DATABASE_URL', 'LANG']");
    home.is_left();
}

#[test]
fn a_start_in_each_language_works_as_it_is() {
    let Some((home, _)) = stage("python3") else { return };
    let Some(_) = unless_missing(on_path("node"), "node") else { return };
    let answers = r#"[{ "method": "ui/showConfirm", "contains": "Greet DOE?", "answer": true }]"#;
    std::fs::write(home.path().join("answers.json"), answers).unwrap();
    for (language, program, file) in
        [("python", "python3", "first.py"), ("node", "node", "second.mjs")]
    {
        let (name, _) = file.split_once('.').unwrap();
        let new = home.run(&["extensions", "new", name, "--language", language]);
        let start = format!("{program} {name}/{file}");
        new.ends(0).says(&format!("althing extensions run '{start}'"));
        greets(&home, name, &start);
        home.run(&["extensions", "new", name]).ends(3).warns("choose another name");
    }
    home.run(&["extensions", "new", "Bad Name"]).ends(2).warns("lower-case letter");
    home.is_left();
}

#[track_caller]
fn greets(home: &Home, name: &str, start: &str) {
    let (message, command) = (format!("{name}/adt.hl7"), format!("{name}/greet"));
    let args = ["extensions", "run", start, "-m", &message, "-c", &command];
    let done = home.run(&[&args[..], &["--answers", "answers.json"]].concat());
    done.ends(0).says("NTE|||Greetings to DOE");
}
