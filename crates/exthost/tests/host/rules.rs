//! Every error code, every refusal: a bare extension that asks what a test tells it to.

use crate::kit::Bench;
use althing_exthost::{Entry, Grant, Models, Restart, State};
use althing_jsonrpc::{Error, Value};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;

/// Says what it is, asks all that is given and writes the answers to its log.
const ASKER: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import hermes
def ask(params):
    for method, params in json.loads(sys.argv[2]):
        if "many" in params:
            params = {"patches": [{"path": "PID.1"}] * params["many"]}
        try:
            hermes.log("= " + json.dumps(hermes.request(method, **params), sort_keys=True))
        except hermes.Refused as refused:
            hermes.log("! " + str(refused))
    hermes.log("done")
hermes.on("command/execute")(ask)
hermes.run("Asker", commands=["ask"])
"#;

fn asker(requests: Value) -> Entry {
    let folder = crate::kit::examples().to_string_lossy().into_owned();
    let args = vec!["-c".into(), ASKER.into(), folder, requests.to_string()];
    Entry { args, ..Entry::new("python3") }
}

/// What each request is answered.
async fn answers(bench: &Bench) -> Vec<String> {
    bench.settled().await;
    bench.host().command("ask").unwrap();
    bench.until_logged(0, "done").await;
    let log = bench.log(0);
    let said = log.lines().filter_map(|line| line.strip_prefix("Info "));
    said.filter(|line| line.starts_with(['=', '!'])).map(str::to_string).collect()
}

/// Requests and their answers, line by line, as the file says.
#[tokio::test]
async fn every_refusal_has_its_code() {
    let file = include_str!("../../testdata/refusals.txt");
    let lines: Vec<_> = file.lines().filter(|line| !line.starts_with('#')).collect();
    let (asked, want): (Vec<_>, Vec<_>) = lines.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
    let asked = asked.iter().map(|line| {
        let (method, params) = line.split_once(' ').unwrap();
        json!([method, serde_json::from_str::<Value>(params).unwrap()])
    });
    let bench = Bench::new(vec![asker(asked.collect())]);
    assert_eq!(answers(&bench).await, want);
    bench.stop().await;
}

#[tokio::test]
async fn without_a_message_or_a_person() {
    let asked = json!([
        ["editor/getMessage", { "format": "hl7" }], ["editor/getMessage", { "format": "json" }],
        ["editor/patchMessage", { "patches": [] }], ["ui/showConfirm", { "message": "m" }],
        ["ui/openWindow", { "url": "http://x/", "title": "x" }],
    ]);
    let bench = Bench::with(vec![asker(asked)], |setup| {
        setup.desk = Arc::new(althing_exthost::desk::Nobody);
        setup.document = althing_exthost::document::Document::new(setup.document.form(), "");
    });
    let want = [
        "= {\"hasFile\": false, \"message\": \"\"}",
        "! no message is open (-32003)",
        "! no message is open (-32003)",
        "! nobody is there to ask (-32012)",
        "! nobody is there to show it to (-32008)",
    ];
    assert_eq!(answers(&bench).await, want);
    bench.stop().await;
}

#[tokio::test]
async fn what_is_not_granted_is_refused_and_logged() {
    let asked = json!([
        ["editor/getMessage", { "format": "hl7" }], ["editor/patchMessage", { "patches": [] }],
        ["ui/openWindow", { "url": "http://x/", "title": "x" }],
        ["ui/showMessage", { "message": "m" }],
        ["ui/openFile", {}], ["ai/complete", { "prompt": "hi" }],
    ]);
    let none = Entry { grants: vec![], ..asker(asked.clone()) };
    let bench = Bench::new(vec![none]);
    let found = answers(&bench).await;
    let grants = ["read", "change", "windows", "dialogues", "files", "models"];
    for (line, grant) in found.iter().zip(grants) {
        assert!(line.ends_with(&format!("it takes the grant {grant:?} (-32000)")), "{line}");
    }
    assert_eq!(bench.log(0).matches("Warning").count(), 6);
    let traffic = bench.stop().await;
    assert_eq!(traffic[0].message["params"].get("capabilities"), None);

    let all = Entry { grants: [Grant::usual(), vec![Grant::Models]].concat(), ..asker(asked) };
    let bench = Bench::with(vec![all], |setup| setup.models = Some(Arc::new(Parrot)));
    let found = answers(&bench).await;
    assert!(found.iter().all(|line| line.starts_with('=')), "{found:?}");
    assert_eq!(found[5], "= {\"text\": \"hi, says the parrot\"}");
    let traffic = bench.stop().await;
    assert_eq!(
        traffic[0].message["params"]["capabilities"]["ai"],
        json!(["ai/models", "ai/complete"])
    );
}

struct Parrot;

impl Models for Parrot {
    fn models(&self) -> BoxFuture<'_, Result<Value, Error>> {
        async { Ok(json!({ "models": ["parrot"] })) }.boxed()
    }

    fn complete<'a>(&'a self, _: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Error>> {
        let said = format!("{}, says the parrot", params["prompt"].as_str().unwrap());
        async move { Ok(json!({ "text": said })) }.boxed()
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let entries = [
        Entry::new("/no/such/program x"),
        Entry::new("'open"),
        Entry { enabled: false, ..Entry::new("x") },
    ];
    let bench = Bench::new(entries.to_vec());
    bench.settled().await;
    let why = |at| match bench.state(at) {
        State::Failed(why) => why,
        state => panic!("{state:?}"),
    };
    assert!(why(0).starts_with("cannot start /no/such/program: No such file"), "{}", why(0));
    assert_eq!(why(1), "path: missing closing quote");
    assert_eq!(bench.state(2), State::Stopped);
    bench.stop().await;
}

#[tokio::test]
async fn a_crash_is_forgiven_if_so_configured() {
    let restart = Some(Restart { times_max: 1, window_s: 60, first_ms: 10, wait_ms_max: 10 });
    let crash = Entry { restart, ..crate::kit::example(&["misbehaving.py", "crash"]) };
    let bench = Bench::new(vec![crash]);
    bench.settled().await;
    bench.host().command("crash").unwrap();
    bench.until("a second life", |bench| bench.log(0).matches("Info running").count() == 2).await;
    bench.host().command("crash").unwrap();
    bench.until("its end", |bench| matches!(bench.state(0), State::Failed(_))).await;
    bench.stop().await;
}
