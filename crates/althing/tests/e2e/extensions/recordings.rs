//! `inspect`: the traffic as JSON lines, and played again.

use super::{ADT, line, stage};
use serde_json::Value;

#[test]
fn traffic_is_recorded_and_played_again() {
    let Some((home, python)) = stage("python3") else { return };
    let editor = line(&python, "editor.py");
    let recorded =
        home.run(&["extensions", "inspect", &editor, "-m", "adt.hl7", "-c", "editor/upper"]);
    let lines: Vec<Value> =
        recorded.ends(0).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |from: &str, method: &str| {
        lines.iter().any(|line| line["from"] == from && line["message"]["method"] == method)
    };
    for method in ["initialize", "command/execute", "shutdown"] {
        assert!(said("host", method), "{recorded:?}");
    }
    assert!(said("extension", "editor/getMessage") && said("extension", "editor/setMessage"));

    std::fs::write(home.path().join("traffic.jsonl"), &recorded.out).unwrap();
    let again = ["extensions", "inspect", "--replay", "traffic.jsonl", "-m"];
    home.run(&[&again[..], &["adt.hl7"]].concat()).ends(0).says("The host says what it said.");
    std::fs::write(home.path().join("other.hl7"), ADT.replace("JANE", "JOHN")).unwrap();
    let differs = home.run(&[&again[..], &["other.hl7"]].concat());
    differs.ends(18).warns("differs at line").warns("JOHN");
    std::fs::write(home.path().join("broken.jsonl"), "{}").unwrap();
    home.run(&["extensions", "inspect", "--replay", "broken.jsonl", "-m", "adt.hl7"])
        .ends(2)
        .warns("line 1");
    home.is_left();
}
