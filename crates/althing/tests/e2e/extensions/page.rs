//! The page of extensions in a real browser.

use super::{ADT, example, line, stage};
use crate::harness::{Done, Home, on_path, peers, signal, unless_missing};
use crate::sdk::Served;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;

/// Everything it says wants to be markup.
const HOSTILE: &str = r#"
import hermes

BAD = "<img src=x onerror='window.ran = 1'><script>window.ran = 1</script>"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="window.ran = 1">'
ICON = SVG + '<script>window.ran = 1</script><a href="javascript:x"/><rect width="9" height="9"/></svg>'

@hermes.on("command/execute")
def command(params):
    hermes.log(BAD)
    hermes.request("ui/showMessage", title=BAD, message=BAD)

button = {"id": "bad'\"<&", "label": BAD, "icon": ICON, "command": "hostile/say"}
hermes.run(BAD, commands=["hostile/say"], buttons=[button])
"#;

/// Each line ends in its own way.
const MIXED: &str = "MSH|^~\\&|M\r\nPID|1||2||DOE^MIXED\nNTE|1\rNTE|2\n\rNTE|3";

/// Whether a browser is there to be driven.
fn has_browser() -> bool {
    let packages = peers().join("browser/node_modules/puppeteer-core");
    let found = packages.is_dir() && on_path("chromium").is_some();
    unless_missing(found.then_some(()), "Chromium and puppeteer-core").is_some()
}

/// Drives a browser as the script says.
fn browse(home: &Home, script: &str, args: &[&str]) -> Done {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/browser");
    let mut drive = home.foreign(Path::new("node"));
    drive.arg(scripts.join(script)).arg(peers().join("browser")).args(args).stdin(Stdio::null());
    Done::of(drive.output().unwrap())
}

/// What serves the page that these arguments open, where that is, and what it says after that.
fn page_of(home: &Home, args: &[&str]) -> (Child, String, JoinHandle<Vec<String>>) {
    let mut open = home.spawn(args);
    let mut said = BufReader::new(open.stderr.take().unwrap()).lines().map(Result::unwrap);
    let page = said.find_map(|line| Some(line.split_once("The page: ")?.1.to_string())).unwrap();
    (open, page, std::thread::spawn(move || said.collect()))
}

/// The pictures that a browser took, where somebody wants to see them.
fn show_pictures(home: &Home, names: &[&str]) {
    let Some(folder) = std::env::var_os("ALTHING_PICTURES") else { return };
    for name in names {
        // What a failed test has not taken is not there.
        let _ = std::fs::copy(home.path().join(name), Path::new(&folder).join(name));
    }
}

#[test]
fn the_page_from_a_command_to_a_closed_window_in_a_real_browser() {
    let Some((home, python)) = has_browser().then(|| stage("python3")).flatten() else { return };
    let Some(_) = unless_missing(on_path("perl"), "perl") else { return };
    std::fs::create_dir(home.path().join("sub")).unwrap();
    for file in ["sub/one.hl7", "sub/two.txt"] {
        std::fs::write(home.path().join(file), "x").unwrap();
    }
    std::fs::write(home.path().join("hostile.py"), HOSTILE).unwrap();
    let module = example("hermes.py");
    std::fs::copy(module, home.path().join("hermes.py")).unwrap();
    let hostile = format!("{python} hostile.py");
    let names = ["echo.py", "editor.py", "dialogues.py", "windows.py"];
    let mut lines: Vec<String> = names.iter().map(|name| line(&python, name)).collect();
    lines.extend([hostile, line("node", "events.mjs"), line("perl", "schema.pl")]);
    std::fs::write(home.path().join("mixed.hl7"), MIXED).unwrap();
    let mut args = vec!["extensions", "open", "adt.hl7"];
    args.extend(lines.iter().map(String::as_str));
    let (mut open, page, _) = page_of(&home, &args);
    let picture = home.path().join("extensions.png");
    let browsed = browse(&home, "extensions.mjs", &[&page, &picture.to_string_lossy()]);
    show_pictures(&home, &["extensions.png", "extensions-confirm.png", "extensions-picker.png"]);
    signal(&open, "INT");
    let ended = open.wait().unwrap();
    browsed.ends(0).says("ok");
    assert!(ended.success(), "{ended}");
    let saved = std::fs::read_to_string(home.path().join("adt.hl7")).unwrap();
    assert!(saved.contains("DOE^MARY") && !saved.contains('\n'), "{saved:?}");
    let copied = std::fs::read_to_string(home.path().join("copy.hl7")).unwrap();
    assert_eq!(copied, saved);
    home.is_left();
}

/// On a screen with a window manager, since without one every page has the focus.
#[test]
fn a_window_counts_as_closed_when_it_is() {
    let Some((home, python)) = has_browser().then(|| stage("python3")).flatten() else { return };
    for program in ["Xvfb", "openbox"] {
        let Some(_) = unless_missing(on_path(program), program) else { return };
    }
    let extension = line(&python, "windows.py");
    let (mut open, page, _) = page_of(&home, &["extensions", "open", "adt.hl7", &extension]);
    let browsed = browse(&home, "windows.mjs", &[&page]);
    signal(&open, "INT");
    let ended = open.wait().unwrap();
    browsed.ends(0).says("ok");
    assert!(ended.success(), "{ended}");
    home.is_left();
}

/// Asks as long as it lives, under a name that is not its own.
const NAGS: &str = r#"
import hermes

@hermes.on("command/execute")
def command(params):
    while True:
        hermes.request("ui/showConfirm", title="The System", message="Buy?")

hermes.run("The System", commands=["nag"])
"#;

#[test]
fn what_a_person_writes_is_not_lost_and_answers_nothing() {
    let Some((home, python)) = has_browser().then(|| stage("python3")).flatten() else { return };
    std::fs::write(home.path().join("other.hl7"), ADT.replace("JANE", "OTHER")).unwrap();
    std::fs::write(home.path().join("nags.py"), NAGS).unwrap();
    std::fs::copy(example("hermes.py"), home.path().join("hermes.py")).unwrap();
    let lines = [line(&python, "editor.py"), line(&python, "dialogues.py")];
    let nags = format!("{python} nags.py");
    let args = ["extensions", "open", "adt.hl7", &lines[0], &lines[1], &nags];
    let (mut open, page, rest) = page_of(&home, &args);
    let browsed = browse(&home, "draft.mjs", &[&page, &home.path().to_string_lossy()]);
    let names =
        ["unsaved", "guard", "conflict", "dialogue"].map(|name| format!("draft-{name}.png"));
    show_pictures(&home, &names.each_ref().map(String::as_str));
    signal(&open, "INT");
    let ended = open.wait().unwrap();
    browsed.ends(0).says("ok");
    assert!(ended.success(), "{ended}");
    let said = rest.join().unwrap().join("\n");
    let kept = said.split_once("changes that were not saved: ").expect(&said).1;
    let kept = std::fs::read_to_string(kept.lines().next().unwrap()).unwrap();
    assert!(kept.contains("DOE^UNSAVED"), "{kept}");
    let other = std::fs::read_to_string(home.path().join("other.hl7")).unwrap();
    assert!(other.contains("DOE^OTHER"), "{other}");
    home.is_left();
}

#[test]
fn the_page_under_serve_in_a_real_browser() {
    let Some((home, python)) = has_browser().then(|| stage("python3")).flatten() else { return };
    for name in ["editor", "dialogues"] {
        let file = example(&format!("{name}.py"));
        let add = ["extensions", "add", name, "--", &python, &file.to_string_lossy()];
        home.run(&add).ends(0);
    }
    // In the section of the second.
    let sub = home.path().join("sub");
    std::fs::create_dir(&sub).unwrap();
    std::fs::write(sub.join("one.hl7"), "x").unwrap();
    let config = home.path().join(".config/althing/config.toml");
    let sections = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, format!("{sections}folders = ['{}']\n", sub.display())).unwrap();
    let served = Served::start(&home);
    let browsed = browse(&home, "served.mjs", &[&served.page]);
    // With the extensions, which it told that it closes.
    served.stop();
    browsed.ends(0).says("ok");
    let saved = std::fs::read_to_string(home.path().join("adt.hl7")).unwrap();
    assert!(saved.contains("NK1||DOE^") && !saved.contains('\n'), "{saved:?}");
    home.run(&["extensions", "logs", "editor"]).ends(0).says("stopped");
    home.is_left();
}
