//! Every field of every reply has the type that the documentation says.

use super::python::Python;
use super::requests::{make_every_request, stage};
use super::streams::{open, pull, say, with_provider};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const DOCUMENT: &str = include_str!("../../../../../docs/protocols/ai-capability.md");

/// What a request gives, beside the messages in it.
const RESPONSE: &str = "Response";

/// The types that replies are made of.
const TYPES: &[&str] = &["s", "b", "u", "i", "x", "d", "a{sv}", "aa{sv}"];

/// Fields that hold messages, and which.
const NESTED: &[(&str, &str)] = &[
    ("result", "Result"),
    ("challenge", "OAuthChallenge"),
    ("credentials", "OAuthCredentials"),
    ("providers", "Provider"),
    ("models", "Model"),
    ("targets", "RouteTarget"),
    ("completion", "Message"),
    ("chunk", "Message"),
    ("chunks", "Message"),
    ("tool_call", "ToolCall"),
    ("tool_calls", "ToolCall"),
    ("usage", "Usage"),
    ("snapshot", "MetricsSnapshot"),
    ("snapshots", "MetricsSnapshot"),
    ("connections", "Connection"),
];

/// What no reply of these tests has: only clients send the first, no model here thinks aloud, and no
/// target rests.
const NEVER: &[(&str, &str)] = &[
    ("Message", "tool_call_id"),
    (RESPONSE, "reasoning"),
    ("RouteTarget", "resting"),
    ("RouteTarget", "rest_ms"),
];

/// A field by its message and its name.
type Place = (String, String);

/// The type of every field, as documented.
static DOCUMENTED: LazyLock<BTreeMap<Place, String>> = LazyLock::new(documented);

fn documented() -> BTreeMap<Place, String> {
    let mut all = BTreeMap::new();
    let mut add = |message: &str, text: &str| {
        let fields = fields_in(text).into_iter();
        all.extend(fields.map(|(name, kind)| ((message.into(), name), kind)));
    };
    for line in DOCUMENT.lines().filter(|line| line.starts_with("| ")) {
        // A bar inside a cell is written with a stroke before it.
        let line = line.replace("\\|", ",");
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        match cells.as_slice() {
            [message, fields] if NESTED.iter().any(|(_, it)| it == message) => add(message, fields),
            [_, method, _, fields] if method.starts_with('`') => add(RESPONSE, fields),
            _ => {}
        }
    }
    let (_, after) = DOCUMENT.split_once("### Success, failure, refusal").unwrap();
    let (common, _) = after.split_once("\n\n").unwrap();
    add(RESPONSE, common);
    let (_, result) = common.split_once('(').unwrap();
    add("Result", result.split_once(')').unwrap().0);
    all
}

/// Names in backquotes with a type behind them: "`note`? s".
fn fields_in(text: &str) -> Vec<(String, String)> {
    let mut pieces = text.split('`').skip(1);
    let mut fields = vec![];
    while let (Some(name), Some(after)) = (pieces.next(), pieces.next()) {
        let after = after.trim_start_matches('?').trim_start();
        let word = after.split([' ', ',', ':', ')', '\n']).next().unwrap_or_default();
        if TYPES.contains(&word) {
            fields.push((name.into(), word.into()));
        }
    }
    fields
}

/// A reply as a client with types shows it, without them. Each must be as documented.
#[track_caller]
pub fn untyped(reply: Value) -> Value {
    for (place, kind) in seen(&reply) {
        assert_eq!(DOCUMENTED.get(&place), Some(&kind), "{place:?} in {reply}");
    }
    plain(reply)
}

/// Every field of a reply with the type it came with; none where the reply is no message.
fn seen(reply: &Value) -> Vec<(Place, String)> {
    let mut fields = vec![];
    let mut open = vec![(RESPONSE, reply)];
    while let Some((message, value)) = open.pop() {
        for (name, value) in value.as_object().into_iter().flatten() {
            let kind = value["type"].as_str().unwrap().to_string();
            fields.push(((message.to_string(), name.clone()), kind));
            let Some((_, message)) = NESTED.iter().find(|(field, _)| field == name) else {
                continue;
            };
            match &value["data"] {
                Value::Array(all) => open.extend(all.iter().map(|it| (*message, it))),
                one => open.push((message, one)),
            }
        }
    }
    fields
}

fn plain(value: Value) -> Value {
    match value {
        Value::Object(mut map) if map.contains_key("type") && map.contains_key("data") => {
            plain(map.remove("data").unwrap())
        }
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key, plain(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(all) => json!(all.into_iter().map(plain).collect::<Vec<_>>()),
        other => other,
    }
}

#[test]
fn the_documentation_is_read() {
    for (message, field, want) in [
        (RESPONSE, "success", "b"),
        (RESPONSE, "retry_after_ms", "x"),
        (RESPONSE, "answered_by", "s"),
        ("Result", "message", "s"),
        ("Message", "role", "u"),
        ("Message", "tool_calls", "aa{sv}"),
        ("RouteTarget", "dead", "s"),
        ("Usage", "total_tokens", "i"),
        ("MetricsSnapshot", "cost_total", "d"),
        ("MetricsSnapshot", "requests_unpriced", "x"),
    ] {
        let place = (message.to_string(), field.to_string());
        assert_eq!(DOCUMENTED.get(&place).map(String::as_str), Some(want), "{place:?}");
    }
}

/// Whatever a client was told, field by field: nothing that is documented is left out.
#[test]
fn every_documented_field_is_sent() {
    let Some((upstream, bus)) = stage() else { return };
    let _serving = bus.serve();
    let Some(python) = Python::start(&bus) else { return };
    let mut heard = make_every_request(&upstream, &bus, python);
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    converse(&mut python, &provider);
    leave_something_amiss(&mut python, &provider);
    heard.push_str(&python.heard);
    let replies = heard.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: BTreeSet<Place> =
        replies.flat_map(|line| seen(&line["reply"][0])).map(|(place, _)| place).collect();
    let never = |place: &&Place| NEVER.contains(&(place.0.as_str(), place.1.as_str()));
    let missing: Vec<&Place> =
        DOCUMENTED.keys().filter(|it| !told.contains(*it) && !never(it)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A stream with everything in it: pieces together, a tool, an end.
fn converse(python: &mut Python, provider: &str) {
    let stream = open(python, true, &format!("{provider}:fake-small"));
    let hello = json!({"role": "user", "content": "hello"});
    say(python, true, &stream, json!({"message": hello}));
    pull(python, true, &stream, &json!({"max_chunks": 64}));
    let tools = json!([{"name": "look_up", "json_schema": r#"{"type":"object"}"#}]);
    say(python, true, &stream, json!({"message": hello, "tools": tools}));
    pull(python, true, &stream, &json!({}));
}

/// A provider that nobody could check, and an alias whose target may not be used.
fn leave_something_amiss(python: &mut Python, provider: &str) {
    let nobody =
        json!({"name": "Later", "provider_type": "vllm", "base_url": "http://127.0.0.1:9"});
    python.ask("AddApiKeyProvider", nobody);
    python.ask("ListProviders", json!({}));
    let target = json!({"provider_id": provider, "model_id": "fake-large"});
    python.ask("SetRouteRules", json!({"alias": "off", "targets": [target]}));
    let mut disabled = target;
    disabled["enabled"] = false.into();
    python.ask("SetModelEnabled", disabled);
    python.ask("GetRouteRules", json!({"alias": "off"}));
}
