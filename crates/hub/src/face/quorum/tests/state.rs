//! What is remembered: taken over, kept, shared, and read whatever is on disk.

use super::kit::{Client, Machine};
use serde_json::{Value, json};

async fn settings(client: &mut Client) -> Value {
    client.call("get_user_settings", json!({})).await
}

async fn history(client: &mut Client) -> Value {
    client.call("get_input_history", json!({})).await["history"].take()
}

async fn validated(client: &mut Client) -> Value {
    client.call("list_models", json!({})).await["validated"].take()
}

async fn add(client: &mut Client, input: &str) {
    let answer = client.call("add_to_input_history", json!({"input": input})).await;
    assert_eq!(answer, json!({"status": "added"}));
}

fn defaults() -> Value {
    json!({
        "selected_models": [], "discussion_method": "standard", "synthesizer_mode": "first",
        "max_turns": null,
    })
}

/// With these three files in `~/.quorum`: what is told of them, and that all else works.
async fn check(files: [&[u8]; 3], want: [Value; 3]) {
    let names = ["settings.json", "history.json", "validated_models.json"];
    let machine = names.iter().zip(files).fold(Machine::new(), |machine, (name, text)| {
        machine.file(&format!(".quorum/{name}"), text)
    });
    for _ in 0..2 {
        let mut client = machine.connect();
        let got =
            [settings(&mut client).await, history(&mut client).await, validated(&mut client).await];
        let shown = String::from_utf8_lossy(files[0]).chars().take(80).collect::<String>();
        assert_eq!(got, want, "{shown}");
        assert!(client.call("get_config", json!({})).await["rounds_per_agent"].is_u64());
    }
    let mut client = machine.connect();
    let saved = client.call("save_user_settings", json!({"max_turns": 9})).await;
    assert_eq!(saved, json!({"status": "saved"}));
    add(&mut client, "new").await;
    client.call("validate_model", json!({"model_id": "demo:dee"})).await;
    let mut client = machine.connect();
    assert_eq!(settings(&mut client).await["max_turns"], 9);
    assert_eq!(history(&mut client).await.as_array().unwrap().last().unwrap(), "new");
    assert_eq!(validated(&mut client).await.as_array().unwrap().last().unwrap(), "demo:dee");
    for (name, text) in names.iter().zip(files) {
        let now = std::fs::read(machine.home.path().join(".quorum").join(name)).unwrap();
        assert!(now == text, "{name} is Quorum's");
    }
}

#[tokio::test(start_paused = true)]
async fn quorums_files_are_taken_over() {
    let settings = json!({
        "selected_models": ["demo:a", "gone"], "discussion_method": "oxford",
        "synthesizer_mode": "rotate", "max_turns": 5, "response_language": "de", "theme": "dark",
    });
    let want = json!({
        "selected_models": ["demo:a"], "discussion_method": "oxford",
        "synthesizer_mode": "rotate", "max_turns": 5, "response_language": "de",
    });
    check(
        [
            settings.to_string().as_bytes(),
            br#"{"history":["one","two"]}"#,
            br#"{"models":["demo:a","demo:b"]}"#,
        ],
        [want, json!(["one", "two"]), json!(["demo:a", "demo:b"])],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn odd_files_harm_nobody() {
    let nothing = [defaults(), json!([]), json!([])];
    let same: [&[u8]; 9] =
        [b"", b"{", b"null", b"[]", b"5", b"\"x\"", b"\xff\xfe\x00", b"[[1]]", b"{\"a\":{}}"];
    for text in same {
        check([text; 3], nothing.clone()).await;
    }
    check(
        [
            br#"{"max_turns":"5","discussion_method":7,"selected_models":{}}"#,
            br#"{"history":{"0":"a"}}"#,
            br#"{"models":"demo:a"}"#,
        ],
        nothing,
    )
    .await;
    // What is sound of it is kept.
    check(
        [
            br#"{"max_turns":true,"discussion_method":"delphi"}"#,
            br#"{"history":["one",2,null,"","one","two"]}"#,
            br#"{"models":[1,"demo:a",[]]}"#,
        ],
        [
            json!({
                "selected_models": [], "discussion_method": "delphi",
                "synthesizer_mode": "first", "max_turns": null,
            }),
            json!(["one", "two"]),
            json!(["demo:a"]),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn huge_files() {
    let padded = format!("{{\"history\":[\"one\"]}}{}", " ".repeat(16 * 1024 * 1024));
    check([b"{}", padded.as_bytes(), b"{}"], [defaults(), json!([]), json!([])]).await;
    let mut inputs: Vec<String> = (0..150).map(|at| format!("input {at}")).collect();
    inputs[149] = "é".repeat(60_000);
    let mut kept = inputs[50..].to_vec();
    kept[99] = "é".repeat(50_000);
    let text = json!({"history": inputs}).to_string();
    check([b"{}", text.as_bytes(), b"{}"], [defaults(), json!(kept), json!([])]).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_file() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.home.path().join(".quorum/history.json")).unwrap();
    let mut client = machine.connect();
    assert_eq!(history(&mut client).await, json!([]));
    // Taken over once only.
    let machine = Machine::new().file(".quorum/history.json", r#"{"history":["one"]}"#);
    assert_eq!(history(&mut machine.connect()).await, json!(["one"]));
    let machine = machine.file(".quorum/history.json", r#"{"history":["two"]}"#);
    assert_eq!(history(&mut machine.connect()).await, json!(["one"]));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_inputs_of_so_many_characters_are_kept() {
    let machine = Machine::new();
    let mut client = machine.connect();
    for at in 0..105 {
        add(&mut client, &format!("input {at}")).await;
    }
    add(&mut client, "input 50").await;
    add(&mut client, &"é".repeat(50_001)).await;
    for client in [&mut client, &mut machine.connect()] {
        let history = history(client).await;
        let inputs = history.as_array().unwrap();
        assert_eq!(inputs.len(), 100);
        assert_eq!(inputs[0], "input 6");
        assert_eq!(inputs[98], "input 50");
        assert_eq!(inputs[99], "é".repeat(50_000));
    }
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_not_what_they_should_be() {
    for value in ["{", "null", "[]", "5", "\"x\"", "{\"models\":5}", "[1,[2]]"] {
        let machine = Machine::on_disk();
        let db = rusqlite::Connection::open(machine.database()).unwrap();
        for key in ["settings", "history", "validated", "found"] {
            db.execute("INSERT INTO kv VALUES (?1, ?2)", [&format!("quorum.{key}"), value])
                .unwrap();
        }
        let mut client = machine.connect();
        assert_eq!(settings(&mut client).await, defaults(), "{value}");
        assert_eq!(history(&mut client).await, json!([]), "{value}");
        assert_eq!(validated(&mut client).await, json!([]), "{value}");
        assert!(client.call("get_config", json!({})).await["rounds_per_agent"].is_u64());
        client.call("save_user_settings", json!({"max_turns": 3})).await;
        add(&mut client, "one").await;
        let mut client = machine.connect();
        assert_eq!(settings(&mut client).await["max_turns"], 3, "{value}");
        assert_eq!(history(&mut client).await, json!(["one"]), "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_damaged_input_hides_no_other() {
    let machine = Machine::on_disk();
    let mut client = machine.connect();
    for input in ["one", "two", "three"] {
        add(&mut client, input).await;
    }
    let db = rusqlite::Connection::open(machine.database()).unwrap();
    let damaged = db.execute("UPDATE kv SET value = '{' WHERE value = '\"two\"'", []).unwrap();
    assert_eq!(damaged, 1);
    assert_eq!(history(&mut machine.connect()).await, json!(["one", "three"]));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_lasts_as_long_as_the_process() {
    let machine = Machine::on_disk();
    let mut client = machine.connect();
    add(&mut client, "one").await;
    let db = rusqlite::Connection::open(machine.database()).unwrap();
    db.execute("DROP TABLE kv", []).unwrap();
    add(&mut client, "two").await;
    let saved = client.call("save_user_settings", json!({"max_turns": 3})).await;
    assert_eq!(saved, json!({"status": "saved"}));
    let answer = client.call("validate_model", json!({"model_id": "demo:ada"})).await;
    assert_eq!(answer, json!({"valid": true, "error": null}));
    for method in ["cancel_discussion", "resume_discussion"] {
        assert!(client.call(method, json!({})).await["status"].is_string());
    }
    assert_eq!(history(&mut client).await, json!(["one", "two"]));
    assert_eq!(settings(&mut client).await["max_turns"], 3);
    assert_eq!(validated(&mut client).await, json!(["demo:ada"]));
    assert_eq!(history(&mut machine.connect()).await, json!([]));
}

#[tokio::test(start_paused = true)]
async fn two_frontends_lose_nothing_of_each_other() {
    let machine = Machine::on_disk();
    let (mut one, mut two) = (machine.connect(), machine.connect());
    for at in 0..10 {
        add(&mut one, &format!("one {at}")).await;
        add(&mut two, &format!("two {at}")).await;
    }
    one.call("save_user_settings", json!({"max_turns": 3})).await;
    two.call("save_user_settings", json!({"discussion_method": "delphi"})).await;
    one.call("validate_model", json!({"model_id": "demo:ada"})).await;
    two.call("validate_model", json!({"model_id": "demo:bob"})).await;
    let mut three = machine.connect();
    assert_eq!(history(&mut three).await.as_array().unwrap().len(), 20);
    assert_eq!(validated(&mut three).await, json!(["demo:ada", "demo:bob"]));
    let settings = settings(&mut three).await;
    assert_eq!(
        (&settings["max_turns"], &settings["discussion_method"]),
        (&json!(3), &json!("delphi"))
    );
}

#[tokio::test(start_paused = true)]
async fn the_chosen_language_is_spoken() {
    let machine = Machine::new().env("QUORUM_PAUSE_TIMEOUT", "0");
    let mut client = machine.connect();
    client.call("save_user_settings", json!({"response_language": "sv"})).await;
    client.run(&["demo:ada", "demo:bob"], json!({"max_turns": 1})).await;
    for call in machine.stage.calls() {
        assert!(call.ask.messages[0].text.contains("Write in Swedish"), "{:?}", call.ask);
    }
}

/// Frontends write exports themselves and know no other words than these four.
#[tokio::test(start_paused = true)]
async fn the_format_of_exports_is_told_in_their_words() {
    let table = [
        ("md", "md"),
        ("text", "text"),
        ("txt", "text"),
        ("json", "json"),
        ("pdf", "pdf"),
        ("html", "md"),
        ("docx", "md"),
    ];
    for (configured, want) in table {
        let machine = Machine::new().env("QUORUM_EXPORT_FORMAT", configured);
        let config = machine.connect().call("get_config", json!({})).await;
        assert_eq!(config["export_format"], want, "{configured}");
    }
}
