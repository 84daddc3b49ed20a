//! Clients that come, stay, are put out and die.

use super::bus::{Bus, KEY, last_hour, until, until_quiet};
use super::python::Python;
use super::streams::{talk, with_provider};
use super::tools::busctl;
use crate::harness::{on_path, signal, unless_missing, upstream};
use althing_chat::{Message, Tool};
use althing_hub::face::dbus::{CALL_BYTES_MAX, CALLS_MAX, Client};
use althing_hub::service::words::{AddApiKey, CompleteRequest, RouteTarget};
use althing_stdx::Kind;
use althing_stdx::redact::Secret;
use serde_json::{Value, json};
use std::time::Duration;

/// The message form, by a client that is gone after it.
pub fn once(bus: &Bus, request: &str, fields: Value) -> Value {
    let got = busctl(bus, "Messages", request, "a{sv}", &json!([fields]));
    got.unwrap_or_else(|e| panic!("{request}: {e:?}"))
}

/// The connections of Python clients.
fn pythons(bus: &Bus) -> Vec<Value> {
    let listed = once(bus, "ListConnections", json!({}));
    let all = listed["connections"].as_array().unwrap().clone();
    let is_python = |it: &Value| it["client_name"].as_str().unwrap().starts_with("python");
    all.into_iter().filter(is_python).collect()
}

#[test]
fn two_clients_at_once_do_not_see_each_other() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some((mut ada, provider)) = with_provider(&bus, &upstream) else { return };
    let mut bob = Python::start(&bus).unwrap();
    let model = format!("{provider}:fake-small");
    let (hers, his) = (talk(&mut ada, &model), talk(&mut bob, &model));
    let stolen = bob.ask("ReceiveStream", json!({"stream_id": hers}));
    assert_eq!(stolen["error_code"], "not_found", "{stolen}");
    for (client, stream) in [(&mut ada, &hers), (&mut bob, &his)] {
        let got = client.ask("ReceiveStream", json!({"stream_id": stream, "max_chunks": 99}));
        assert!(got["chunk"]["content"].is_string(), "{got}");
    }
}

#[test]
fn changes_are_announced_and_no_key_is() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some(mut watcher) = Python::start(&bus) else { return };
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let targets = json!([{"provider_id": provider, "model_id": "fake-small"}]);
    python.ask("SetRouteRules", json!({"alias": "fast", "targets": targets}));
    let off = json!({"provider_id": provider, "model_id": "fake-small", "enabled": false});
    python.ask("SetModelEnabled", off);
    python.ask("DeleteProvider", json!({"provider_id": provider}));
    let opened = watcher.signal("ConnectionOpened");
    assert_eq!(watcher.signal("ProviderAdded"), provider);
    assert_eq!(watcher.signal("RouteChanged"), "fast");
    assert_eq!(watcher.signal("ModelsChanged"), provider);
    assert_eq!(watcher.signal("ProviderRemoved"), provider);
    drop(python);
    assert_eq!(watcher.signal("ConnectionClosed"), opened);
    assert!(!watcher.heard.contains(KEY), "{}", watcher.heard);
}

#[test]
fn a_client_killed_in_mid_stream_frees_what_it_held() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let stream = talk(&mut python, &format!("{provider}:stall"));
    let first = python.ask("ReceiveStream", json!({"stream_id": stream}));
    assert_eq!(first["success"], true, "{first}");
    assert_eq!(pythons(&bus).len(), 1);
    python.begin("Streams", "ReceiveStream", &json!([stream, {}]));
    signal(&python.child, "KILL");
    until_quiet(&upstream);
    until("the connection leaves the list", || pythons(&bus).is_empty());
}

#[test]
fn a_connection_that_is_closed_is_out_until_it_comes_anew() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let message = json!([{"role": "user", "content": "hello"}]);
    let waiting =
        python.begin("Chat", "Complete", &json!([format!("{provider}:hang"), message, {}]));
    upstream.wait_for_sync(|seen| seen.iter().any(|it| it.model == "hang"));
    let listed = pythons(&bus);
    assert_eq!(listed[0]["requests_count"], 2, "{listed:?}");
    let closed =
        once(&bus, "CloseConnection", json!({"connection_id": listed[0]["connection_id"]}));
    assert_eq!(closed["success"], true, "{closed}");
    let denied = "org.althing.Capability1.Error.AccessDenied";
    assert_eq!(python.answer(waiting).unwrap_err().0, denied);
    until_quiet(&upstream);
    let again = python.call("Providers", "ListProviders", &json!([])).unwrap_err();
    assert_eq!(again.0, denied, "{again:?}");
    let mut anew = Python::start(&bus).unwrap();
    assert_eq!(anew.ask("ListProviders", json!({}))["success"], true);
}

#[test]
fn calls_at_once_have_a_limit() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let message = json!([{"role": "user", "content": "hello"}]);
    let asked = json!([format!("{provider}:hang"), message, {}]);
    for _ in 0..=CALLS_MAX {
        python.begin("Chat", "Complete", &asked);
    }
    // They overtake each other on their way; one of them is the one too many.
    let (name, text) = python.refusal();
    assert_eq!(name, "org.althing.Capability1.Error.LimitsExceeded", "{text}");
    assert!(text.starts_with(&format!("calls: at most {CALLS_MAX}")), "{text}");
}

#[test]
fn a_call_that_is_too_large_is_refused_and_the_next_is_answered() {
    let Some(bus) = Bus::start() else { return };
    let _serving = bus.serve();
    let Some(mut python) = Python::start(&bus) else { return };
    let message = json!([{"role": "user", "content": "x".repeat(CALL_BYTES_MAX)}]);
    let (name, text) = python.call("Chat", "Complete", &json!(["m", message, {}])).unwrap_err();
    assert_eq!(name, "org.althing.Capability1.Error.LimitsExceeded", "{text}");
    assert!(text.starts_with(&format!("arguments: at most {CALL_BYTES_MAX} bytes")), "{text}");
    assert_eq!(python.ask("ListProviders", json!({}))["success"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_client_speaks_the_services_words() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let client = Client::connect(&bus.address()).await.unwrap().unwrap();
    let added = client
        .add_api_key(AddApiKey {
            name: "Upstream".into(),
            provider_type: "openai".into(),
            api_key: Some(Secret::new(KEY)),
            base_url: Some(format!("{}/v1", upstream.url())),
        })
        .await
        .unwrap();
    let id = added.provider_id;
    let providers = client.list_providers().await.unwrap();
    assert!(providers.iter().any(|it| it.provider_id == id && it.enabled), "{providers:?}");
    let models = client.models(Some(&id)).await.unwrap();
    assert!(models.iter().any(|it| it.model_id == "fake-small"), "{models:?}");
    client.test_provider(&id).await.unwrap();
    client.set_model_enabled(&id, "fake-large", false).await.unwrap();
    let target = RouteTarget { provider_id: id.clone(), model_id: "fake-small".into() };
    client.set_route("fast", vec![target.clone()]).await.unwrap();
    assert_eq!(client.aliases().await.unwrap(), ["fast"]);
    assert_eq!(client.route("fast").await.unwrap()[0].target, target);
    let request = CompleteRequest {
        model_id: "fast".into(),
        messages: vec![Message::user("hello")],
        tools: vec![Tool { name: "t".into(), description: String::new(), parameters: json!({}) }],
        max_tokens: Some(50),
        temperature: Some(0.5),
    };
    let answer = client.complete(request).await.unwrap();
    assert_eq!(answer.message.tool_calls[0].name, "t");
    let stream = client.create_stream("fast").await.unwrap();
    client.send_message(&stream, Message::user("hello"), vec![]).await.unwrap();
    let wait = Some(Duration::from_secs(20));
    let got = client.receive_stream(&stream, wait, 1).await.unwrap();
    assert_eq!(got.chunks.len(), 1, "{got:?}");
    client.close_stream(&stream).await.unwrap();
    assert!(client.snapshot().await.unwrap().requests_total >= 1);
    let [start, end] = last_hour();
    assert!(!client.range(start, end).await.unwrap().is_empty());
    let own = client.connections().await.unwrap();
    assert!(own.iter().any(|it| it.face == "dbus" && it.requests_count > 10), "{own:?}");
    let fault = client.route("nobody").await.unwrap_err();
    assert_eq!(fault.kind, Kind::NotFound);
    client.delete_provider(&id).await.unwrap();
    assert_eq!(client.delete_provider(&id).await.unwrap_err().kind, Kind::NotFound);
}
