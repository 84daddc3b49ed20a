//! One provider, added once: every face uses it at once, and no key is found anywhere.

use super::bus::{Bus, KEY};
use super::lives::once;
use crate::harness::{Home, on_path, unless_missing, upstream};
use crate::ipc::backend::Backend;
use althing_testkit::Upstream;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// One request over HTTP, as simple as can be.
pub fn post(address: &str, token: &str, body: &Value) -> (String, Value) {
    let body = body.to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().to_string();
    (status, serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {answer}")))
}

#[test]
fn a_provider_added_over_the_bus_is_used_by_every_face_without_a_restart() {
    let home = Home::new().set("QUORUM_PAUSE_TIMEOUT", "0");
    let (upstream, Some(bus)) = (upstream(), Bus::start_in(home)) else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    let home = &bus.home;
    // Both run before the provider is there.
    let serving = bus.serve_both();
    let address = serving.http();
    let mut ipc = Backend::start(home);
    let token = home.run(&["token"]).out.trim().to_string();
    let ask = json!({"model": "added:fake-large", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(post(&address, &token, &ask).0, "404");

    let fields = json!({"name": "Added", "provider_type": "openai", "api_key": KEY,
        "base_url": format!("{}/v1", upstream.url())});
    assert_eq!(once(&bus, "AddApiKeyProvider", fields)["provider_id"], "added");

    let said = json!({"model_id": "added:fake-large",
        "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(once(&bus, "Complete", said)["success"], true);
    let (status, answer) = post(&address, &token, &ask);
    assert_eq!(status, "200", "{answer}");
    let valid = ipc.call("validate_model", json!({"model_id": "added:fake-large"}));
    assert_eq!(valid["valid"], true, "{valid}");
    discusses(&mut ipc, &upstream);
    home.run(&["ask", "--models", "added:fake-large", "Hello?"]).ends(0).says("answer");
    home.run(&["models"]).ends(0).says("added:fake-large");
    home.run(&["metrics"]).ends(0).says("Requests in the last 1 h: 2 (0 failed)");
    // Nor do errors tell it.
    for model in ["added:err-key", "added:err-quota", "nobody:none"] {
        let asked = json!({"model": model, "messages": [{"role": "user", "content": "hi"}]});
        assert_ne!(post(&address, &token, &asked).0, "200");
        home.run(&["ask", "--models", model, "Hello?"]);
    }
    assert_eq!(post(&address, "a wrong token", &ask).0, "401");
    assert!(!serving.said().contains(&token), "{}", serving.said());
    // The key reached the upstream, and lies nowhere in the clear, what was logged included.
    let with_key = format!("Bearer {KEY}");
    assert!(upstream.requests().iter().all(|seen| seen.header("authorization") == with_key));
    let shown = |(_, command): &(String, String)| command.contains(KEY);
    assert!(!home.running().iter().any(shown));
    drop(ipc);
    drop(serving);
    assert_eq!(holding(home.path(), KEY), Vec::<String>::new());
}

/// A frontend holds a discussion with the added provider's models, and each of them is asked.
#[track_caller]
fn discusses(ipc: &mut Backend, upstream: &Upstream) {
    let models = ["fake-large", "fake-small"];
    let before = models.map(|model| upstream.count(model));
    let ids = models.map(|model| format!("added:{model}"));
    let run = ipc.ask("run_discussion", json!({"question": "Hello?", "model_ids": ids}));
    assert_eq!(ipc.answer(&run)["result"], json!({"status": "completed"}));
    for (model, before) in models.into_iter().zip(before) {
        assert!(upstream.count(model) > before, "nobody asked {model}");
    }
}

/// The files below `folder` with `secret` in them.
pub fn holding(folder: &Path, secret: &str) -> Vec<String> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, secret));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            let has = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            found.extend(has.then(|| path.display().to_string()));
        }
    }
    found
}
