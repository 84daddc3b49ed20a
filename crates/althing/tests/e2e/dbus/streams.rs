//! Pull streams from outside: pieces, tools, batches, the bulk lane, and what is refused.

use super::bus::{Bus, KEY};
use super::python::Python;
use crate::harness::upstream;
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};

/// Replies are short; a stream that never ends is a failure.
const PIECES_MAX: usize = 1000;

/// A client whose alias `model` leads to a model of the upstream.
pub fn with_provider(bus: &Bus, upstream: &Upstream) -> Option<(Python, String)> {
    let mut python = Python::start(bus)?;
    let fields = json!({"name": "Upstream", "provider_type": "openai", "api_key": KEY,
        "base_url": format!("{}/v1", upstream.url())});
    let added = python.ask("AddApiKeyProvider", fields);
    let provider = added["provider_id"].as_str().unwrap().to_owned();
    Some((python, provider))
}

/// Opens a stream and says something on it.
pub fn talk(python: &mut Python, model: &str) -> String {
    let stream = open(python, false, model);
    say(python, false, &stream, json!({"message": {"role": "user", "content": "hello"}}));
    stream
}

pub fn open(python: &mut Python, typed: bool, model: &str) -> String {
    let made = python.ask_in(typed, "CreateStream", &json!({"model_id": model}));
    made["stream_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

pub fn say(python: &mut Python, typed: bool, stream: &str, mut fields: Value) {
    fields["stream_id"] = stream.into();
    let sent = python.ask_in(typed, "SendMessage", &fields);
    assert_eq!(sent["success"], true, "{sent}");
}

/// Every answer up to the one that is done.
pub fn pull(python: &mut Python, typed: bool, stream: &str, options: &Value) -> Vec<Value> {
    let mut answers = vec![];
    for _ in 0..PIECES_MAX {
        let mut fields = options.clone();
        fields["stream_id"] = stream.into();
        let answer = python.ask_in(typed, "ReceiveStream", &fields);
        assert_eq!(answer["success"], true, "{answer}");
        let is_done = answer["done"] == true;
        answers.push(answer);
        if is_done {
            return answers;
        }
    }
    panic!("no end: {answers:?}");
}

fn text(answers: &[Value], field: &str) -> String {
    let pieces = answers.iter().flat_map(|answer| match &answer[field] {
        Value::Array(all) => all.clone(),
        Value::Null => vec![],
        one => vec![one.clone()],
    });
    pieces.map(|chunk| chunk["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn pieces_one_by_one_and_many_at_once_say_the_same() {
    let options = Options::default().text(|_| "The same words, whoever asks.".into());
    let (upstream, Some(bus)) = (Upstream::start(options), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let model = format!("{provider}:fake-small");
    let whole = python.ask(
        "Complete",
        json!({"model_id": model, "messages": [{"role": "user", "content": "hello"}]}),
    );
    let whole = whole["completion"]["content"].as_str().unwrap();
    for typed in [true, false] {
        let stream = open(&mut python, typed, &model);
        let hello = json!({"message": {"role": "user", "content": "hello"}});
        say(&mut python, typed, &stream, hello);
        let single = pull(&mut python, typed, &stream, &json!({"timeout_ms": 20000}));
        assert_eq!(text(&single, "chunk"), whole, "{single:?}");
        assert!(single.len() > 2 && single[0]["chunk"]["role"] == 3, "{single:?}");
        assert!(single[0].get("chunks").is_none() && single[0].get("done").is_none());
        assert!(single.last().unwrap()["usage"]["total_tokens"].is_number(), "{single:?}");
        // The same stream goes on; its history grows.
        let more = json!({"message": {"role": "user", "content": "and then?"}});
        say(&mut python, typed, &stream, more);
        let many = pull(&mut python, typed, &stream, &json!({"max_chunks": 64}));
        assert_eq!(text(&many, "chunks"), text(&many, "chunk"), "{many:?}");
        let closed = python.ask_in(typed, "CloseStream", &json!({"stream_id": stream}));
        assert_eq!(closed["success"], true);
        let gone = python.ask_in(typed, "ReceiveStream", &json!({"stream_id": stream}));
        assert_eq!((&gone["success"], &gone["error_code"]), (&json!(false), &json!("not_found")));
    }
}

#[test]
fn tools_are_called_and_answered() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let model = format!("{provider}:fake-small");
    let tools = json!([{"name": "look_up", "json_schema": r#"{"type":"object"}"#}]);
    for typed in [true, false] {
        let stream = open(&mut python, typed, &model);
        let hello = json!({"role": "user", "content": "hello"});
        say(&mut python, typed, &stream, json!({"message": hello, "tools": tools}));
        let answers = pull(&mut python, typed, &stream, &json!({}));
        let call = answers.iter().find_map(|it| it.get("tool_call")).unwrap();
        assert_eq!(call["name"], "look_up");
        assert!(call["arguments_json"].is_string() && call["id"].is_string(), "{call}");
        // No id: it answers the oldest open call.
        let result = json!({"message": {"role": "tool", "content": "found"}});
        say(&mut python, typed, &stream, result);
        assert!(!text(&pull(&mut python, typed, &stream, &json!({})), "chunk").is_empty());
    }
}

#[test]
fn what_comes_too_early_is_refused_and_a_wait_without_data_is_no_error() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let made = python.ask("CreateStream", json!({"model_id": format!("{provider}:fake-small")}));
    let idle = python.ask("ReceiveStream", json!({"stream_id": made["stream_id"]}));
    assert_eq!(idle["success"], false, "nothing is pending: {idle}");
    let stream = talk(&mut python, &format!("{provider}:hang"));
    let early = json!({"stream_id": stream, "message": {"role": "user", "content": "well?"}});
    let early = python.ask("SendMessage", early);
    assert_eq!(early["success"], false, "a reply is under way: {early}");
    let late = python.ask("ReceiveStream", json!({"stream_id": stream, "timeout_ms": 1}));
    assert_eq!(late["success"], true, "{late}");
    assert!(late.get("chunk").is_none() && late.get("done").is_none(), "{late}");
}

#[test]
fn the_bulk_lane_gives_lines() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let stream = talk(&mut python, &format!("{provider}:fake-small"));
    python.call("Streams", "OpenStreamFd", &json!([stream])).unwrap();
    let mut lines = vec![python.line()];
    while lines.len() < PIECES_MAX && lines[lines.len() - 1]["done"] != true {
        lines.push(python.line());
    }
    assert_eq!(lines.last().unwrap()["done"], true, "{lines:?}");
    let none = python.call("Streams", "OpenStreamFd", &json!(["none"])).unwrap_err();
    assert_eq!(none.0, "org.althing.Capability1.Error.NotFound");
}
