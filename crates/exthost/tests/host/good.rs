//! The six examples, and the ways of the original's extensions.

use crate::kit::{Bench, MESSAGE, example, examples};
use althing_exthost::document::{Document, Form};
use althing_exthost::record::{From, replay, turned};
use althing_exthost::{Entry, State};
use serde_json::json;

#[tokio::test]
async fn six_extensions_side_by_side() {
    let files = ["echo.py", "editor.py", "dialogues.py", "windows.py", "events.mjs", "schema.pl"];
    let bench = Bench::new(files.iter().map(|file| example(&[file])).collect());
    bench.settled().await;
    let names: Vec<_> =
        bench.host().extensions().into_iter().map(|it| it.manifest.unwrap().name).collect();
    assert_eq!(names, ["Echo", "Editor", "Dialogues", "Windows", "Events", "Schema"]);
    assert!((0..6).all(|at| bench.state(at) == State::Running));
    let label = &bench.host().schema()["segments"]["PID"]["fields"][2];
    assert_eq!(label["values"]["X"], "andere – autre");

    bench.host().command("echo/show").unwrap();
    bench.until_logged(0, "1: MSH|^~\\&|A|B (no file)").await;
    bench.host().command("editor/fill").unwrap();
    bench.until_text("NK1||DOE^ZOË \\T\\ CO").await;
    bench.until_logged(1, "PID.5.1xyz: Invalid path").await;
    let street = "PID|1||123||MÜLLER^ZOË||||||12 Main Street^^Springfield\r";
    assert!(bench.text().contains(street), "{}", bench.text());
    bench.until_logged(4, "changed: 3 segments").await;
    bench.host().command("events/count").unwrap();
    bench.until_logged(4, "lengths: true true true true").await;
    bench.host().command("dialogues/all").unwrap();
    bench
        .until_text("NTE|||one=/a/One file many=/a/Many files,/b save=None folder=/a/Folder")
        .await;

    let missing = bench.host().command("no/such").unwrap_err();
    assert_eq!(missing.code, althing_exthost::code::COMMAND_NOT_FOUND);
    let traffic = bench.stop().await;
    let closing = traffic.iter().filter(|line| line.message["params"]["reason"] == "closing");
    assert_eq!(closing.count(), 6);
}

/// Whatever the message says, extensions that count characters read it right.
#[tokio::test]
async fn all_that_is_written_is_ascii() {
    let bench = Bench::new(vec![example(&["editor.py"])]);
    bench.settled().await;
    let text = MESSAGE.replace("ZOË", "Zoë 🙂 \u{2028}");
    bench.host().edit(&text);
    bench.host().command("editor/upper").unwrap();
    bench.until_text("ZOË 🙂 \u{2028}").await;
    bench.host().command("editor/anonymise").unwrap();
    bench.until("only three fields", |bench| bench.text().ends_with("PID|1||123||\r")).await;
    bench.stop().await;
}

#[tokio::test]
async fn events_have_what_was_asked_for() {
    let bench = Bench::new(vec![example(&["events.mjs"])]);
    bench.settled().await;
    for at in 0..5 {
        bench.host().edit(&MESSAGE.replace("123", &at.to_string()));
    }
    bench.until_logged(0, "changed: 2 segments").await;
    bench.host().open(Document::new(Form::Hl7, "MSH|^~\\&\rPID|9\r").in_file("/x/y.hl7"));
    bench.until_logged(0, "opened: /x/y.hl7").await;
    bench.host().open(Document::new(Form::Hl7, "MSH|^~\\&\rPID|8\r"));
    bench.until_logged(0, "opened: new").await;
    bench.host().saved("/x/z.hl7".into(), "MSH|^~\\&\rPID|8\r", true);
    bench.until_logged(0, "saved: /x/z.hl7 true").await;
    bench.host().edit("no message");
    bench
        .until("the text as it is", |bench| {
            let traffic = bench.traffic.lock().unwrap();
            let params = traffic.iter().map(|line| &line.message["params"]);
            let want = json!({ "hasFile": true, "filePath": "/x/z.hl7",
            "message": "no message", "format": "hl7" });
            params.into_iter().any(|params| *params == want)
        })
        .await;
    // What was not told of before another message is there is not said of that one.
    bench.host().edit(MESSAGE);
    bench.host().open(Document::new(Form::Hl7, "MSH|^~\\&\r"));
    bench.host().quiet(std::time::Duration::from_millis(600)).await;
    let traffic = bench.stop().await;
    let changed = traffic.iter().filter(|line| line.message["method"] == "message/changed");
    assert_eq!(changed.count(), 2, "a burst is one change, and a new message none");
}

#[tokio::test]
async fn windows_are_opened_owned_and_closed() {
    let bench = Bench::new(vec![example(&["windows.py"]), example(&["windows.py", "again"])]);
    bench.settled().await;
    let open = || bench.host().command("windows/open").unwrap();
    let opened = |count| move |bench: &Bench| bench.person.opened.lock().unwrap().len() == count;
    open();
    bench.until("a window", opened(1)).await;
    let window = bench.host().windows()[0].clone();
    assert_eq!((window.width, window.height, window.title.as_str()), (640, 480, "Window"));
    assert_eq!((window.modal, window.resizable), (false, true));
    assert_eq!(window.extension, bench.id(0));
    assert!(bench.host().window_closed(&window.id));
    assert!(!bench.host().window_closed(&window.id) && !bench.host().window_closed("main"));
    bench.until_logged(0, "window closed: user").await;
    open();
    bench.until("a second window", opened(2)).await;
    bench.host().command("windows/close").unwrap();
    bench.until_logged(0, "window closed: extension").await;
    bench.host().command("windows/modal").unwrap();
    bench.until("a third window", opened(3)).await;
    let window = bench.host().windows()[0].clone();
    assert_eq!((window.modal, window.resizable), (true, false));
    bench.host().disable(&bench.id(0)).await.unwrap();
    bench.until("its end", |bench| bench.state(0) == State::Stopped).await;
    assert!(bench.log(0).contains("window closed: shutdown"), "{}", bench.log(0));
    assert!(bench.log(0).contains("shutdown: disabled"));
    assert_eq!(bench.person.closed.lock().unwrap().len(), 2);
    assert!(bench.host().windows().is_empty());
    assert_eq!(bench.state(1), State::Running);
    bench.stop().await;
}

/// They serve a command while they wait for an answer, so none is sent then.
#[tokio::test]
async fn a_command_waits_for_the_open_dialogue() {
    let bench = Bench::new(vec![example(&["echo.py"]), example(&["editor.py"])]);
    bench.settled().await;
    let busy = bench.person.busy.write().await;
    for _ in 0..3 {
        bench.host().command("echo/show").unwrap();
    }
    bench.until_logged(0, "1: MSH").await;
    // Another extension goes on meanwhile: for longer than two commands in a row are apart.
    for _ in 0..5 {
        bench.host().command("editor/fill").unwrap();
    }
    let sent = |bench: &Bench, at: usize| {
        let traffic = bench.traffic.lock().unwrap();
        let own = traffic.iter().filter(|line| line.extension == bench.id(at));
        own.filter(|line| line.message["method"] == "command/execute").count()
    };
    bench.until("the other's commands", |bench| sent(bench, 1) == 5).await;
    bench.until_text("NK1||DOE").await;
    assert_eq!((sent(&bench, 0), bench.person.asked.lock().unwrap().len()), (1, 1));
    drop(busy);
    bench.until_logged(0, "3: MSH").await;
    let asked = bench.person.asked.lock().unwrap().len();
    assert_eq!(asked, 3, "no command is lost");
    bench.stop().await;
}

/// A reload does not wait for commands; those that it takes away are told of.
#[tokio::test]
async fn commands_that_lose_their_turn_are_told_of() {
    let bench = Bench::new(vec![example(&["echo.py"])]);
    bench.settled().await;
    let busy = bench.person.busy.write().await;
    for _ in 0..3 {
        bench.host().command("echo/show").unwrap();
    }
    bench.until_logged(0, "1: MSH").await;
    bench.host().reload(&bench.id(0)).await.unwrap();
    bench.until("two starts", |bench| bench.log(0).matches("Info running").count() == 2).await;
    let dropped = "Warning the command \"echo/show\" is dropped";
    assert_eq!(bench.log(0).matches(dropped).count(), 2, "{}", bench.log(0));
    drop(busy);
    bench.stop().await;
}

/// The shutdown comes while it waits for the person: it answers and ends.
#[tokio::test]
async fn an_open_dialogue_does_not_hold_up_the_end() {
    let bench = Bench::new(vec![example(&["echo.py"])]);
    bench.settled().await;
    let person = bench.person.clone();
    let _busy = person.busy.write().await;
    bench.host().command("echo/show").unwrap();
    bench.until("the question", |bench| bench.person.asked.lock().unwrap().len() == 1).await;
    let traffic = bench.stop().await;
    let answered = traffic.iter().rev().find(|line| line.from == From::Extension).unwrap();
    assert_eq!(answered.message["result"], json!({ "success": true }));
}

#[tokio::test]
async fn one_is_reloaded_and_the_others_are_not() {
    let bench = Bench::new(vec![example(&["echo.py"]), example(&["windows.py"])]);
    bench.settled().await;
    bench.host().command("echo/show").unwrap();
    bench.until_logged(0, "1: MSH").await;
    bench.host().reload(&bench.id(1)).await.unwrap();
    bench.until_logged(1, "shutdown: reload").await;
    bench.until("two starts", |bench| bench.log(1).matches("Info running").count() == 2).await;
    bench.host().command("echo/show").unwrap();
    bench.until_logged(0, "2: MSH").await;
    bench.host().disable(&bench.id(1)).await.unwrap();
    bench.until("its end", |bench| bench.state(1) == State::Stopped).await;
    bench.host().enable(&bench.id(1)).await.unwrap();
    bench.until("its start", |bench| bench.state(1) == State::Running).await;
    assert!(bench.host().reload("ext-none").await.is_err());
    bench.stop().await;
}

/// The environment that extensions know, and of ours what is usual or asked for.
#[tokio::test]
async fn an_extension_finds_its_environment() {
    let script = "import os, sys\n\
        names = ['HERMES_VERSION', 'HERMES_API_VERSION', 'HERMES_DATA_DIR', 'OWN']\n\
        print(*[os.environ.get(name) for name in names], file=sys.stderr)\n\
        is_there = os.path.isdir(os.environ['HERMES_DATA_DIR'])\n\
        print(is_there, 'CARGO_MANIFEST_DIR' in os.environ, file=sys.stderr)";
    let mut entry = Entry::new("");
    (entry.path, entry.args) = ("python3".into(), vec!["-c".into(), script.into()]);
    entry.env.insert("OWN".into(), "mine".into());
    entry.env.insert("HERMES_VERSION".into(), "9".into());
    let inherit = vec!["CARGO_MANIFEST_*".into()];
    let private = Entry { private_data: true, inherit, ..entry.clone() };
    let bench = Bench::new(vec![entry, private]);
    bench.settled().await;
    let folder = bench.folder.path().join("data/extensions");
    bench.until_logged(0, &format!("9 1.0 {} mine", folder.display())).await;
    bench.until_logged(0, "True False").await;
    bench.until_logged(1, "True True").await;
    bench.until_logged(1, &format!("{}/{} mine", folder.display(), bench.id(1))).await;
    assert!(
        matches!(bench.state(0), State::Failed(why) if why.starts_with("it ended with exit code 0"))
    );
    assert_ne!(bench.id(0), bench.id(1));
    bench.stop().await;
}

/// A recording, played in the place of the extension, finds the host saying the same again.
#[tokio::test]
async fn a_recording_is_played_again() {
    let bench = Bench::new(vec![example(&["editor.py"])]);
    bench.settled().await;
    bench.host().command("editor/fill").unwrap();
    bench.until_text("Springfield").await;
    bench.host().quiet(std::time::Duration::from_millis(100)).await;
    let traffic = bench.stop().await;
    let text: String =
        traffic.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
    let lines = althing_exthost::record::read(&text).unwrap();
    assert_eq!(lines, traffic);
    let mut host = tokio::process::Command::new("python3")
        .arg(examples().join("editor.py"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    // The other way round: what the host said goes to the extension, which must say the same.
    let turned = turned(lines);
    let (reader, writer) = (host.stdout.take().unwrap(), host.stdin.take().unwrap());
    assert_eq!(replay(&turned, reader, writer).await.unwrap(), []);
}
