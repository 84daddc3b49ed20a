//! Every request and every error as a table, played in both forms by each of three clients.

pub mod table;

use super::bus::{Bus, last_hour};
use super::logins;
use super::python::{Python, Reply};
use super::tools::{busctl, gdbus};
use crate::harness::{on_path, unless_missing};
use althing_hub::face::dbus::Client;
use althing_testkit::{Options, Upstream};
use serde_json::Value;
use std::cell::RefCell;
use std::fs;
use table::{FORMS, MADE, OWN, Want, rows, shaped};
use tokio::runtime::Runtime;

/// What the person set: a price, so that there is a cost.
const CONFIG: &str = "[prices]\n\"openai:fake-small\" = { input = 1.0, output = 2.0 }\n";

/// The smallest file that says it is a model; nothing loads it.
const MODEL: &[u8; 32] = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// A bus whose service logs in at the upstream, and knows a price and a file.
pub fn stage() -> Option<(Upstream, Bus)> {
    let upstream = Upstream::start(Options::default());
    let bus = logins::bus(&upstream)?;
    let config = bus.home.path().join(".config/althing");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), CONFIG).unwrap();
    fs::write(bus.home.path().join("tiny.gguf"), MODEL).unwrap();
    Some((upstream, bus))
}

/// A client that is put out.
struct Guest {
    runtime: Runtime,
    client: Client,
    connection: String,
}

impl Guest {
    fn come(bus: &Bus) -> Guest {
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(Client::connect(&bus.address())).unwrap().unwrap();
        let all = runtime.block_on(client.connections()).unwrap();
        // The newest is this one: nobody else has come meanwhile.
        let connection = all.last().unwrap().connection_id.clone();
        Guest { runtime, client, connection }
    }

    #[track_caller]
    fn is_out(&self) {
        let refused = self.runtime.block_on(self.client.connections()).unwrap_err();
        assert!(refused.message.contains("closed"), "{refused:?}");
    }
}

/// A client: interface, method, signature and arguments in, what came of it out.
type Call<'a> = &'a dyn Fn(&str, &str, &str, &Value) -> Reply;

#[test]
fn the_table_has_every_request() {
    let succeeds = |want: &Want| matches!(want, Want::Reply(want) if want["success"] == true);
    for (_, request, ..) in FORMS {
        let is_there = rows().iter().any(|(it, _, want)| it == request && succeeds(want));
        assert!(is_there, "no row in which {request} succeeds");
    }
    assert_eq!(FORMS.len(), 19);
}

#[test]
fn python_makes_every_request_in_both_forms() {
    let Some((upstream, bus)) = stage() else { return };
    let _serving = bus.serve();
    let Some(python) = Python::start(&bus) else { return };
    make_every_request(&upstream, &bus, python);
}

/// Plays the table and gives everything that was heard.
pub fn make_every_request(upstream: &Upstream, bus: &Bus, python: Python) -> String {
    let python = RefCell::new(python);
    play(upstream, bus, true, &|interface, method, _, body| {
        python.borrow_mut().call(interface, method, body)
    });
    python.borrow().heard.clone()
}

#[test]
fn busctl_makes_every_request_in_both_forms() {
    let Some((upstream, bus)) = stage() else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    let _serving = bus.serve();
    play(&upstream, &bus, false, &|interface, method, signature, body| {
        busctl(&bus, interface, method, signature, body)
    });
}

#[test]
fn gdbus_makes_every_request_in_both_forms() {
    let Some((upstream, bus)) = stage() else { return };
    if unless_missing(on_path("gdbus"), "gdbus").is_none() {
        return;
    }
    let _serving = bus.serve();
    play(&upstream, &bus, false, &|interface, method, signature, body| {
        let done = gdbus(&bus, interface, method, signature, body);
        match done.code {
            Some(0) => Ok(Value::String(done.out)),
            _ => Err((done.err.clone(), done.err)),
        }
    });
}

/// `stays`: every call is made by the same client.
fn play(upstream: &Upstream, bus: &Bus, stays: bool, call: Call<'_>) {
    let [start, end] = last_hour().map(|ms| ms.to_string());
    let file = bus.home.path().join("tiny.gguf").display().to_string();
    for typed in [true, false] {
        let guest = Guest::come(bus);
        let mut names = vec![
            ("$url", upstream.url()),
            ("$file", file.clone()),
            ("$guest", guest.connection.clone()),
            ("\"$start\"", start.clone()),
            ("\"$end\"", end.clone()),
        ];
        for (request, fields, want) in rows() {
            let fill = |value: &Value| {
                let text =
                    names.iter().fold(value.to_string(), |it, (from, to)| it.replace(from, to));
                serde_json::from_str::<Value>(&text).unwrap()
            };
            if !stays && fields.to_string().contains(OWN) {
                continue;
            }
            let Some((interface, signature, body)) = shaped(typed, request, &fill(&fields)) else {
                continue;
            };
            let got = call(interface, request, signature, &body);
            let about = format!("{interface}.{request} {body}: {got:?}");
            match (want, &got) {
                (Want::Reply(want), Ok(got)) => {
                    let want = fill(&want);
                    assert!(fits(&want, got), "{about}\nwanted {want}");
                    remember(&mut names, request, got);
                }
                (Want::Refusal(name, text), Err((got_name, got_text))) => {
                    let name = format!("org.althing.Capability1.Error.{name}");
                    // busctl shows no names.
                    assert!(got_name.is_empty() || got_name.contains(&name), "{about}");
                    assert!(got_text.contains(text), "{about}\nwanted {text}");
                }
                _ => panic!("{about}"),
            }
        }
        guest.is_out();
    }
}

/// What the first answer called it.
fn remember(names: &mut Vec<(&'static str, String)>, request: &str, got: &Value) {
    let made = MADE.iter().filter(|(it, ..)| *it == request);
    for (_, field, all) in made {
        if names.iter().all(|(known, _)| !all.contains(known)) {
            names.extend(all.iter().map(|name| (*name, id_in(got, field))));
        }
    }
}

/// The id in an answer, be it a value or the text that gdbus prints.
fn id_in(got: &Value, field: &str) -> String {
    match got {
        Value::String(text) => {
            let (_, after) = text.split_once(&format!("'{field}': <'")).unwrap();
            after.split_once('\'').unwrap().0.into()
        }
        other => other[field].as_str().unwrap().into(),
    }
}

/// Whether gdbus prints what is wanted: every name, every truth and every text.
fn is_printed(want: &Value, text: &str) -> bool {
    match want {
        Value::Object(want) => want.iter().all(|(key, value)| match value {
            Value::Null => true,
            Value::Bool(yes) => text.contains(&format!("'{key}': <{yes}>")),
            value => text.contains(&format!("'{key}': <")) && is_printed(value, text),
        }),
        Value::Array(all) => all.iter().all(|want| is_printed(want, text)),
        Value::String(word) => word == "*" || text.contains(word.trim_start_matches('~')),
        _ => true,
    }
}

fn fits(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::Object(_), Value::String(text)) => is_printed(want, text),
        (Value::Object(want), Value::Object(got)) => want.iter().all(|(key, want)| match want {
            Value::Null => !got.contains_key(key),
            want => got.get(key).is_some_and(|got| fits(want, got)),
        }),
        (Value::Array(want), Value::Array(got)) => {
            want.len() <= got.len() && want.iter().all(|want| got.iter().any(|it| fits(want, it)))
        }
        (Value::String(want), got) if want == "*" => !got.is_null(),
        (Value::String(want), Value::String(got)) if want.starts_with('~') => {
            got.contains(&want[1..])
        }
        (want, got) => want == got,
    }
}
