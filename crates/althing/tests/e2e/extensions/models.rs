//! `ai/models` and `ai/complete`, for an extension that may ask.

use super::{ADT, example, stage, with_path};
use crate::harness::Home;
use althing_testkit::{Options, Upstream};

const ASKS: &str = r#"
import os

import hermes

@hermes.on("command/execute")
def command(params):
    try:
        models = hermes.request("ai/models")["models"]
        answer = hermes.request("ai/complete", model="openai:fake-large", prompt="Name it")
        note = f"{answer['text']} of {answer['model']}, {len(models) > 0}"
        note += f", its key: {os.environ.get('OPENAI_API_KEY')}"
    except hermes.Refused as refused:
        note = f"refused {refused.code}"
    patches = [{"path": "NTE", "create": True}, {"path": "NTE.3", "value": note}]
    hermes.request("editor/patchMessage", patches=patches)

hermes.run("Asks", commands=["ask"])
"#;

#[test]
fn an_extension_asks_the_models_where_it_may() {
    let Some((_, python)) = stage("python3") else { return };
    let upstream = Upstream::start(Options::default().text(|_| "A fine name".into()));
    let home = with_path(Home::with(&upstream));
    std::fs::write(home.path().join("adt.hl7"), ADT).unwrap();
    std::fs::write(home.path().join("asks.py"), ASKS).unwrap();
    let folder = format!("PYTHONPATH={}", example("").display());
    for (name, grants, noted) in [
        (
            "may",
            "read,change,models",
            "NTE|||A fine name of openai:fake-large, True, its key: None",
        ),
        ("not", "read,change", "NTE|||refused -32000"),
    ] {
        let add = ["extensions", "add", name, "--env", &folder, "--grant", grants, "--"];
        home.run(&[&add[..], &[&python, "asks.py"]].concat()).ends(0);
        let run = ["extensions", "run", name, "-m", "adt.hl7", "-c", "ask"];
        home.run(&run).ends(0).says(noted);
    }
    home.is_left();
}
