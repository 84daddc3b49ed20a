//! Every error code, every refusal: a bare extension that asks what a test tells it to.

use crate::kit::Bench;
use althing_exthost::document::{Document, Form};
use althing_exthost::record::Line;
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
        if params is None:
            hermes.send({"jsonrpc": "2.0", "id": "bare", "method": method})
            hermes.log("! {message} ({code})".format(**hermes.receive()["error"]))
            continue
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
    script(ASKER, &requests.to_string())
}

/// An extension that finds `hermes` in the folder that is its first argument.
fn script(text: &str, argument: &str) -> Entry {
    let folder = crate::kit::examples().to_string_lossy().into_owned();
    let args = vec!["-c".into(), text.into(), folder, argument.into()];
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

/// How long a message may be is a matter of each extension.
#[tokio::test]
async fn a_message_longer_than_its_owner_allows_is_refused() {
    let message = format!("MSH|^~\\&|{}", "x".repeat(2_000));
    let asked = json!([["editor/setMessage", { "format": "hl7", "message": message }]]);
    for (frame_bytes_max, want) in [(1_024, '!'), (4_096, '=')] {
        let bench = Bench::new(vec![Entry { frame_bytes_max, ..asker(asked.clone()) }]);
        let found = answers(&bench).await;
        assert!(found[0].starts_with(want), "{found:?}");
        assert_eq!(found[0].ends_with("(-32600)"), want == '!', "{found:?}");
        bench.stop().await;
    }
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
        setup.document = Document::new(Form::Hl7, "");
    });
    let want = [
        "= {\"hasFile\": false, \"message\": \"\"}",
        "! no message is open (-32003)",
        "! no message is open (-32003)",
        "! nobody is there to ask (-32012)",
        "! nobody is there to show it to (-32008)",
    ];
    assert_eq!(answers(&bench).await, want);
    assert!(bench.host().windows().is_empty());
    bench.stop().await;
}

struct Clumsy;

impl Models for Clumsy {
    fn models(&self) -> BoxFuture<'_, Result<Value, Error>> {
        async { panic!("this panic is part of a test") }.boxed()
    }

    fn complete<'a>(&'a self, _: &'a str, _: Value) -> BoxFuture<'a, Result<Value, Error>> {
        self.models()
    }
}

/// What the message does not have, and a panic of ours: an answer, and the next request is served.
#[tokio::test]
async fn a_failure_of_the_host_has_its_code() {
    let view = |format: &str| json!(["editor/getMessage", { "format": format }]);
    let asked = json!([view("json"), view("toml"), ["ai/models", {}], view("hl7")]);
    let entry = Entry { grants: vec![Grant::Read, Grant::Models], ..asker(asked) };
    let bench = Bench::with(vec![entry], |setup| {
        setup.document = Document::new(Form::Hl7, "no message");
        setup.models = Some(Arc::new(Clumsy));
    });
    let none = "Message must start with MSH segment (-32603)";
    let want = [
        &format!("! the message has no json view: {none}"),
        &format!("! the message has no toml view: {none}"),
        "! Internal error: the handler panicked (-32603)",
        "= {\"hasFile\": false, \"message\": \"no message\"}",
    ];
    assert_eq!(answers(&bench).await, want);
    bench.stop().await;
}

/// Asks before it has answered `initialize`, with the id that the host's request has, and again
/// after it was told to end.
const IMPATIENT: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import hermes
def ask(when):
    hermes.log(f"{when}: " + json.dumps(hermes.request("editor/getMessage", format="hl7"), sort_keys=True))
asked = hermes.receive()
ask(f"early {asked['id']}")
answer = {"name": "Impatient", "version": "1"}
hermes.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
hermes.on("shutdown")(lambda params: ask("late"))
while True:
    hermes.serve(hermes.receive())
"#;

#[tokio::test]
async fn requests_are_served_from_the_first_moment_to_the_last() {
    let bench = Bench::with(vec![script(IMPATIENT, "")], |setup| {
        setup.document = Document::new(Form::Hl7, "MSH|^~\\&").in_file("/x/y.hl7");
    });
    bench.settled().await;
    let answer = r#"{"filePath": "/x/y.hl7", "hasFile": true, "message": "MSH|^~\\&"}"#;
    bench.until_logged(0, &format!("early 1: {answer}")).await;
    assert_eq!(bench.state(0), State::Running);
    bench.host().disable(&bench.id(0)).await.unwrap();
    bench.until("its end", |bench| bench.state(0) == State::Stopped).await;
    assert!(bench.log(0).contains(&format!("late: {answer}")), "{}", bench.log(0));
    bench.stop().await;
}

/// Asks five thousand times before it reads an answer.
const EAGER: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
import hermes
def ask(params):
    for id in range(5000):
        params = {"message": "m"}
        hermes.send({"jsonrpc": "2.0", "id": f"q{id}", "method": "ui/showMessage", "params": params})
    refused = [hermes.receive()["error"]["code"] for _ in range(904)]
    hermes.log(f"refused: {len(refused)} {set(refused)}")
    answered = {hermes.receive()["id"] for _ in range(4096)}
    hermes.log(f"answered: {len(answered)}")
hermes.on("command/execute")(ask)
hermes.run("Eager", commands=["ask"])
"#;

#[tokio::test]
async fn more_than_the_host_can_hold_is_refused() {
    let bench = Bench::new(vec![script(EAGER, "")]);
    bench.settled().await;
    let busy = bench.person.busy.write().await;
    bench.host().command("ask").unwrap();
    bench.until_logged(0, "refused: 904 {-32000}").await;
    drop(busy);
    bench.until_logged(0, "answered: 4096").await;
    bench.stop().await;
}

/// Sends a thousand requests, and several in one frame, before it reads an answer.
const PIPELINES: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import hermes
def get(id):
    return {"jsonrpc": "2.0", "id": id, "method": "editor/getMessage", "params": {"format": "hl7"}}
def ask(params):
    for id in range(1000):
        hermes.send(get(f"q{id}"))
    got = {hermes.receive()["id"] for _ in range(1000) if True}
    hermes.log(f"got {len(got)}")
    hermes.send([get("a"), {"jsonrpc": "2.0", "method": "none/such"}, get("b"), {"id": "c"}])
    batch = {answer["id"]: "result" in answer for answer in hermes.receive()}
    hermes.log("batch " + json.dumps(batch, sort_keys=True))
    sys.stdout.write("Content-Length: 10737418240\r\n\r\n{}")
    hermes.send(get("d"))
    hermes.log("after ten gigabytes " + hermes.receive()["id"])
    body = chr(0xfeff) + json.dumps(get("e"))
    sys.stdout.buffer.write(f"Content-Length: {len(body.encode())}\r\n\r\n{body}".encode())
    sys.stdout.buffer.flush()
    hermes.log("after a mark " + hermes.receive()["id"])
hermes.on("command/execute")(ask)
hermes.run("Pipelines", commands=["ask"])
"#;

#[tokio::test]
async fn who_asks_all_at_once_is_answered_all() {
    let bench = Bench::new(vec![script(PIPELINES, "")]);
    bench.settled().await;
    bench.host().command("ask").unwrap();
    bench.until_logged(0, "got 1000").await;
    bench.until_logged(0, r#"batch {"a": true, "b": true, "c": false}"#).await;
    bench.until_logged(0, "after ten gigabytes d").await;
    bench.until_logged(0, "after a mark e").await;
    bench.stop().await;
}

/// Asks again and again, also when it is to end.
const NAGS: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
import hermes
def nag(params):
    try:
        hermes.request("ui/showConfirm", message="Buy?")
    except hermes.Refused as refused:
        hermes.log(str(refused))
hermes.on("shutdown")(nag)
hermes.run("The System", commands=["nag"])
"#;

#[tokio::test]
async fn who_is_told_to_end_asks_nobody_and_goes_by_the_name_it_was_given() {
    let nags = Entry { name: "nags".into(), ..script(NAGS, "") };
    let bench = Bench::new(vec![nags]);
    bench.settled().await;
    assert_eq!(bench.host().extensions()[0].name, "nags");
    bench.host().disable(&bench.id(0)).await.unwrap();
    bench.until("its end", |bench| bench.state(0) == State::Stopped).await;
    assert!(bench.log(0).contains("you are ending; nobody is asked any more (-32012)"));
    assert!(bench.person.asked.lock().unwrap().is_empty());
    bench.stop().await;
}

/// Wants to hear of changes, with all of the message.
const CURIOUS: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
import hermes
options = {"includeContent": True, "format": "json"}
hermes.run("Curious", events=[{"name": "message/changed", "options": options}])
"#;

#[tokio::test]
async fn who_may_not_read_hears_of_a_change_without_the_message() {
    let curious = script(CURIOUS, "");
    let blind = Entry { grants: vec![Grant::Change], ..curious.clone() };
    let bench = Bench::new(vec![curious, blind]);
    bench.settled().await;
    bench.host().edit("MSH|^~\\&");
    let heard = |bench: &Bench| {
        let traffic = bench.traffic.lock().unwrap();
        let changed = traffic.iter().filter(|it| it.message["method"] == "message/changed");
        let told = |it: &Line| (it.extension.clone(), it.message["params"].clone());
        changed.map(told).collect::<Vec<_>>()
    };
    bench.until("both to hear", |bench| heard(bench).len() == 2).await;
    for (extension, params) in heard(&bench) {
        let may_read = extension == bench.id(0);
        assert_eq!(params.get("message").is_some(), may_read, "{params}");
        assert_eq!((params.get("format").is_some(), &params["hasFile"]), (may_read, &json!(false)));
    }
    bench.stop().await;
}

/// Hears of everything. In its second life it asks the person before it says what it is.
const LATE: &str = r#"
import os, sys
sys.path.insert(0, sys.argv[1])
import hermes
lived = os.path.join(os.environ["HERMES_DATA_DIR"], "lived")
events = [{"name": f"message/{name}"} for name in ["changed", "opened", "saved"]]
asked = hermes.receive()
if os.path.exists(lived):
    hermes.log("asked again")
    hermes.request("ui/showMessage", message="m")
open(lived, "w").close()
answer = {"name": "Late", "version": "1", "capabilities": {"events": events}}
hermes.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
hermes.on("shutdown")(lambda params: {})
while True:
    hermes.serve(hermes.receive())
"#;

/// What an extension wanted in its last life is nothing to one that has not said what it is.
#[tokio::test]
async fn before_its_answer_an_extension_hears_of_no_event() {
    let bench = Bench::new(vec![script(LATE, ""), script(CURIOUS, "")]);
    bench.settled().await;
    let told = |bench: &Bench, at: usize| {
        let traffic = bench.traffic.lock().unwrap();
        let own = traffic.iter().filter(|it| it.extension == bench.id(at));
        let methods = own.filter_map(|it| it.message["method"].as_str().map(str::to_string));
        methods.filter(|method| method.starts_with("message/")).collect::<Vec<_>>()
    };
    let busy = bench.person.busy.write().await;
    bench.host().reload(&bench.id(0)).await.unwrap();
    bench.until_logged(0, "asked again").await;
    bench.host().open(Document::new(Form::Hl7, "MSH|^~\\&"));
    bench.host().saved("/x/y.hl7".into(), "MSH|^~\\&", true);
    bench.host().edit("MSH|^~\\&|A");
    bench.until("the other to hear", |bench| !told(bench, 1).is_empty()).await;
    drop(busy);
    bench.until("its second life", |bench| bench.state(0) == State::Running).await;
    bench.host().saved("/x/z.hl7".into(), "MSH|^~\\&|A", true);
    bench.until("it to hear", |bench| !told(bench, 0).is_empty()).await;
    assert_eq!(told(&bench, 0), ["message/saved"]);
    bench.stop().await;
}

/// Answers what is no request, as simple extensions do: with the id that it does not have.
const ANSWERS_ALL: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
import hermes
def command(params):
    for _ in range(100):
        hermes.send({"jsonrpc": "2.0", "id": None, "result": {"success": True}})
    hermes.log("got " + hermes.request("editor/getMessage", format="hl7")["message"][:3])
hermes.on("command/execute")(command)
hermes.run("Answers", commands=["answer"])
"#;

#[tokio::test]
async fn an_answer_to_a_notification_harms_nobody() {
    let bench = Bench::new(vec![script(ANSWERS_ALL, "")]);
    bench.settled().await;
    bench.host().command("answer").unwrap();
    bench.until_logged(0, "got MSH").await;
    assert!(!bench.log(0).contains("Warning"), "{}", bench.log(0));
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
