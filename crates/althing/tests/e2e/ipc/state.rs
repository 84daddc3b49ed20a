//! What it reads and keeps: nothing on the disk or in the network stands between a frontend and its
//! first picture.

use super::backend::Backend;
use crate::harness::{Home, really_wait};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::time::Duration;

/// What a frontend asks for before it draws anything; an error leaves it blank for ever.
const FIRST: [&str; 4] = ["list_models", "get_user_settings", "get_input_history", "get_config"];
/// Inputs of each of two frontends: together as many as are kept.
const INPUTS: usize = 50;

fn first_answers(backend: &mut Backend) -> Vec<Value> {
    backend.call("initialize", json!({}));
    FIRST.iter().map(|method| backend.call(method, json!({}))).collect()
}

#[test]
fn two_frontends_at_once_lose_nothing_of_each_other() {
    let home = Home::new();
    let mut both = [Backend::start(&home), Backend::start(&home)];
    let mut asked = Vec::new();
    for at in 0..INPUTS {
        for (who, backend) in both.iter_mut().enumerate() {
            let input = json!({"input": format!("{who} asks {at}")});
            asked.push((who, backend.ask("add_to_input_history", input)));
        }
    }
    both[0].ask("save_user_settings", json!({"discussion_method": "oxford"}));
    both[1].ask("save_user_settings", json!({"response_language": "sv"}));
    for (who, id) in asked {
        assert_eq!(both[who].answer(&id)["result"], json!({"status": "added"}));
    }
    for backend in both {
        backend.leave().ends(0);
    }
    let mut third = Backend::start(&home);
    let history = third.call("get_input_history", json!({}));
    let history: Vec<&str> = history["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| input.as_str().unwrap())
        .collect();
    assert_eq!(history.len(), 2 * INPUTS);
    for who in 0..2 {
        let own = history.iter().filter(|input| input.starts_with(&format!("{who} ")));
        let want: Vec<String> = (0..INPUTS).map(|at| format!("{who} asks {at}")).collect();
        assert!(own.eq(&want), "each in its own order: {history:?}");
    }
    let settings = third.call("get_user_settings", json!({}));
    assert_eq!(
        (&settings["discussion_method"], &settings["response_language"]),
        (&json!("oxford"), &json!("sv"))
    );
}

#[test]
fn what_another_program_left_is_taken_over_as_far_as_it_is_sound() {
    #[track_caller]
    fn check(file: &str, text: impl AsRef<[u8]>, want: (usize, &str, usize)) {
        let home = Home::new();
        let folder = home.path().join(".quorum");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(file), text).unwrap();
        let mut backend = Backend::start(&home);
        let answers = first_answers(&mut backend);
        let history = answers[2]["history"].as_array().unwrap().len();
        let method = answers[1]["discussion_method"].as_str().unwrap();
        let validated = answers[0]["validated"].as_array().unwrap().len();
        assert_eq!((history, method, validated), want, "{file}");
        backend.call("add_to_input_history", json!({"input": "and on it goes"}));
        backend.call("save_user_settings", json!({"max_turns": 3}));
        let done = backend.leave();
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    }
    let nothing = (0, "standard", 0);
    check("history.json", r#"{"history": ["a", "b"]}"#, (2, "standard", 0));
    check("settings.json", r#"{"discussion_method": "oxford"}"#, (0, "oxford", 0));
    check("validated_models.json", r#"{"models": ["a"]}"#, (0, "standard", 1));
    for file in ["history.json", "settings.json", "validated_models.json"] {
        for text in
            ["", "{", "[]", "null", "7", "\"x\"", "[1, {}]", "{\"models\": {}, \"history\": 5}"]
        {
            check(file, text, nothing);
        }
        check(file, b"\xff\xfe\0\0", nothing);
        check(file, "[".repeat(100_000), nothing);
    }
    check("history.json", r#"{"history": ["a", 1, null, ["b"]]}"#, (1, "standard", 0));
    check("settings.json", r#"{"discussion_method": 1, "max_turns": "x"}"#, nothing);
}

#[test]
fn a_damaged_store_is_left_alone_and_blocks_nothing() {
    let home = Home::new();
    let file = home.data().join("althing.db");
    std::fs::create_dir_all(home.data()).unwrap();
    let damaged = b"no database at all".repeat(100);
    std::fs::write(&file, &damaged).unwrap();
    let mut backend = Backend::start(&home);
    first_answers(&mut backend);
    backend.call("add_to_input_history", json!({"input": "Hello?"}));
    assert_eq!(backend.call("get_input_history", json!({})), json!({"history": ["Hello?"]}));
    backend.leave().ends(0).warns("althing.db").warns("nothing of this session is kept");
    assert_eq!(std::fs::read(&file).unwrap(), damaged);
}

#[test]
fn a_bad_key_is_told_by_its_name_and_blocks_nothing() {
    let upstream = crate::harness::upstream();
    let url = upstream.url();
    let good = "sk-ant-0123456789abcdef";
    let home = Home::new().set("ANTHROPIC_API_KEY", good).set("ANTHROPIC_BASE_URL", &url);
    for bad in
        ["sk-...", "sk-proj-with a blank in its middle", "tiny", "sk-proj-\u{fe}0123456789abcdef"]
    {
        std::fs::write(home.path().join(".env"), format!("OPENAI_API_KEY={bad}\nXAI_API_KEY=\n"))
            .unwrap();
        let mut backend = Backend::start(&home);
        first_answers(&mut backend);
        let valid = backend.call("validate_model", json!({"model_id": "anthropic:ada"}));
        assert_eq!(valid, json!({"valid": true, "error": null}));
        let refused = backend.call("validate_model", json!({"model_id": "openai:ada"}));
        assert_eq!(refused["valid"], false);
        let done = backend.leave();
        done.ends(0).warns("OPENAI_API_KEY");
        assert!(!format!("{done:?} {refused}").contains(bad), "{bad}: {done:?} {refused}");
    }
}

/// A server that is asked and leaves us waiting keeps no answer from coming.
#[test]
fn a_server_that_never_answers_blocks_no_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let home = Home::new().set("OLLAMA_BASE_URL", &url);
    let mut backend = Backend::start(&home);
    first_answers(&mut backend);
    let (mut connection, _) = silent.accept().unwrap();
    connection.set_nonblocking(true).unwrap();
    let mut request = Vec::new();
    // The request may still be on its way.
    while !request.ends_with(b"\r\n\r\n") {
        match connection.read_to_end(&mut request) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => really_wait(Duration::from_millis(10)),
            // On a busy machine the server may be given up before this looks.
            Ok(_) => break,
            Err(e) => panic!("the request did not come: {e}"),
        }
    }
    assert!(request.starts_with(b"GET /api/tags"), "{}", String::from_utf8_lossy(&request));
    backend.leave().ends(0);
    home.is_left();
}
