//! The bus may hang up or go away; nobody else notices, and the service comes back to it.

use super::bus::{Bus, KEY, until};
use super::everywhere::post;
use super::lives::once;
use super::python::Python;
use super::streams::{pull, talk};
use super::tools::busctl;
use crate::harness::{on_path, unless_missing};
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};

/// Adds `upstream` as the provider `added`.
fn add(bus: &Bus, upstream: &Upstream) {
    let fields = json!({"name": "Added", "provider_type": "openai", "api_key": KEY,
        "base_url": format!("{}/v1", upstream.url())});
    assert_eq!(once(bus, "AddApiKeyProvider", fields)["provider_id"], "added");
}

fn question() -> Value {
    json!([{"role": "user", "content": "hello"}])
}

#[test]
fn a_nul_in_an_answer_ends_no_connection() {
    let odd = |_: &althing_testkit::Seen| "be\0fore and after".to_string();
    let (upstream, Some(bus)) = (Upstream::start(Options::default().text(odd)), Bus::start())
    else {
        return;
    };
    let serving = bus.serve_both();
    let Some(mut python) = Python::start(&bus) else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    add(&bus, &upstream);
    let ask = json!({"model_id": "added:fake-large", "messages": question()});
    let answer = once(&bus, "Complete", ask);
    assert_eq!(answer["completion"]["content"], "be\u{2400}fore and after");
    let typed = json!(["added:fake-large", question(), {}]);
    let answer = python.call("Chat", "Complete", &typed).unwrap();
    assert_eq!(answer["completion"]["content"], "be\u{2400}fore and after");

    let stream = talk(&mut python, "added:fake-large");
    let answers = pull(&mut python, false, &stream, &json!({}));
    let said = answers.iter().filter_map(|answer| answer["chunk"]["content"].as_str());
    let said: String = said.collect();
    assert_eq!(said, "be\u{2400}fore and after");

    // The same connections, and the other face, which can carry it.
    assert_eq!(python.ask("ListProviders", json!({}))["success"], true);
    let token = bus.home.run(&["token"]).out.trim().to_string();
    let ask = json!({"model": "added:fake-large", "messages": question()});
    let (status, answer) = post(&serving.http(), &token, &ask);
    assert_eq!(status, "200", "{answer}");
    assert_eq!(answer["choices"][0]["message"]["content"], "be\0fore and after");
}

#[test]
fn a_bus_that_is_gone_and_back_finds_the_service_again() {
    let (upstream, Some(mut bus)) = (crate::harness::upstream(), Bus::start()) else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    let serving = bus.serve_both();
    add(&bus, &upstream);
    let (address, token) = (serving.http(), bus.home.run(&["token"]).out.trim().to_string());
    let ask = json!({"model": "added:fake-large", "messages": question()});
    let answers = || post(&address, &token, &ask).0 == "200";
    for _ in 0..2 {
        bus.kill();
        assert!(answers(), "{}", serving.said());
        bus.start_again();
        let said = |bus: &Bus| busctl(bus, "Messages", "ListProviders", "a{sv}", &json!([{}]));
        until("the service is back", || said(&bus).is_ok());
        assert!(answers(), "{}", serving.said());
        let Some(mut watcher) = Python::start(&bus) else { return };
        // It listens once it has been answered.
        watcher.ask("ListProviders", json!({}));
        let targets = json!([{"provider_id": "added", "model_id": "fake-small"}]);
        once(&bus, "SetRouteRules", json!({"alias": "fast", "targets": targets}));
        assert_eq!(watcher.signal("RouteChanged"), "fast");
        once(&bus, "SetRouteRules", json!({"alias": "fast", "targets": []}));
        let asked = json!({"model_id": "added:fake-large", "messages": question()});
        assert_eq!(once(&bus, "Complete", asked)["success"], true);
    }
    let said = serving.said();
    assert_eq!(said.matches("the session bus went away").count(), 2, "{said}");
    assert_eq!(said.matches("is on the session bus again").count(), 2, "{said}");
}
