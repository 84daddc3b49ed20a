//! The page of extensions in a real browser.

use super::{line, stage};
use crate::harness::{Done, on_path, peers, signal, unless_missing};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

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

#[test]
fn the_page_from_a_command_to_a_closed_window_in_a_real_browser() {
    let packages = peers().join("browser");
    let found =
        packages.join("node_modules/puppeteer-core").is_dir() && on_path("chromium").is_some();
    let Some(()) = unless_missing(found.then_some(()), "Chromium and puppeteer-core") else {
        return;
    };
    let Some((home, python)) = stage("python3") else { return };
    std::fs::create_dir(home.path().join("sub")).unwrap();
    for file in ["sub/one.hl7", "sub/two.txt"] {
        std::fs::write(home.path().join(file), "x").unwrap();
    }
    std::fs::write(home.path().join("hostile.py"), HOSTILE).unwrap();
    let module = super::example("hermes.py");
    std::fs::copy(module, home.path().join("hermes.py")).unwrap();
    let hostile = format!("{python} hostile.py");
    let names = ["echo.py", "editor.py", "dialogues.py", "windows.py"];
    let mut lines: Vec<String> = names.iter().map(|name| line(&python, name)).collect();
    lines.push(hostile);
    let mut args = vec!["extensions", "open", "adt.hl7"];
    args.extend(lines.iter().map(String::as_str));
    let mut open = home.spawn(&args);
    let mut said = BufReader::new(open.stderr.take().unwrap()).lines().map(Result::unwrap);
    let page = said.find_map(|line| Some(line.split_once("The page: ")?.1.to_string())).unwrap();

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/browser/extensions.mjs");
    let picture = home.path().join("extensions.png");
    let mut drive = home.foreign(Path::new("node"));
    drive.arg(script).arg(&packages).arg(page).arg(&picture).stdin(Stdio::null());
    let browsed = Done::of(drive.output().unwrap());
    if let Some(folder) = std::env::var_os("ALTHING_PICTURES") {
        for name in ["extensions.png", "extensions-confirm.png", "extensions-picker.png"] {
            // What a failed test has not taken is not there.
            let _ = std::fs::copy(home.path().join(name), Path::new(&folder).join(name));
        }
    }
    signal(&open, "INT");
    let ended = open.wait().unwrap();
    browsed.ends(0).says("ok");
    assert!(ended.success(), "{ended}");
    let saved = std::fs::read_to_string(home.path().join("adt.hl7")).unwrap();
    assert!(saved.contains("DOE^MARY") && !saved.contains('\n'), "{saved:?}");
    home.is_left();
}
