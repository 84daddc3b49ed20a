//! Logins over the bus: the challenge, the wait, and credentials that go once, to who began.

use super::bus::Bus;
use super::python::Python;
use crate::harness::Home;
use althing_testkit::upstream::{Ending, Logins};
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};

/// Variables that name servers, and the paths they are given.
type Servers = &'static [(&'static str, &'static str)];

/// A provider, its servers, and what its tokens begin with.
const PROVIDERS: &[(&str, Servers, &str)] = &[
    (
        "copilot",
        &[
            ("ALTHING_COPILOT_DEVICE_URL", "/login/device/code"),
            ("ALTHING_COPILOT_TOKEN_URL", "/login/oauth/access_token"),
            ("ALTHING_COPILOT_EXCHANGE_URL", "/copilot_internal/v2/token"),
        ],
        "tid=",
    ),
    (
        "dashscope",
        &[
            ("ALTHING_DASHSCOPE_DEVICE_URL", "/api/v1/oauth2/device/code"),
            ("ALTHING_DASHSCOPE_TOKEN_URL", "/api/v1/oauth2/token"),
        ],
        "qwen-",
    ),
];

/// A bus whose service logs in at `upstream`.
fn bus(upstream: &Upstream) -> Option<Bus> {
    let pairs = PROVIDERS.iter().flat_map(|(_, pairs, _)| *pairs);
    let set = |home: Home, (name, path): &(&str, &str)| {
        home.set(name, &format!("{}{path}", upstream.url()))
    };
    Bus::start_in(pairs.fold(Home::new(), set))
}

fn begin(python: &mut Python, kind: &str) -> Value {
    let begun = python.ask("AddOAuthProvider", json!({"name": "Mine", "provider_type": kind}));
    assert_eq!(begun["success"], true, "{begun}");
    for field in ["device_code", "user_code", "verification_uri"] {
        assert!(begun["challenge"][field].is_string(), "{field}: {begun}");
    }
    assert!(begun["challenge"]["expires_in"].is_number(), "{begun}");
    assert!(begun["challenge"]["interval"].is_number(), "{begun}");
    json!({"provider_id": begun["provider_id"]})
}

#[test]
fn credentials_go_once_to_who_began() {
    let upstream = Upstream::start(Options::default());
    let Some(bus) = bus(&upstream) else { return };
    let _serving = bus.serve();
    let Some(mut ada) = Python::start(&bus) else { return };
    let mut bob = Python::start(&bus).unwrap();
    for (kind, _, token) in PROVIDERS {
        let provider = begin(&mut ada, kind);
        let stranger = bob.ask("CompleteOAuth", provider.clone());
        assert_eq!(stranger["success"], true, "{stranger}");
        assert!(stranger.get("credentials").is_none(), "{stranger}");
        let first = ada.ask("CompleteOAuth", provider.clone());
        let access = first["credentials"]["access_token"].as_str().unwrap_or_default();
        assert!(access.starts_with(token), "{first}");
        assert!(first["credentials"]["expiry_date_ms"].is_number(), "{first}");
        let second = ada.ask("CompleteOAuth", provider);
        assert_eq!(second["success"], true, "{second}");
        assert!(second.get("credentials").is_none(), "{second}");
    }
}

#[test]
fn a_denied_login_fails() {
    let script = Logins { ending: Ending::Denied, ..Logins::default() };
    let upstream = Upstream::start(Options::default().logins(script));
    let Some(bus) = bus(&upstream) else { return };
    let _serving = bus.serve();
    let Some(mut python) = Python::start(&bus) else { return };
    let provider = begin(&mut python, "copilot");
    let ended = python.ask("CompleteOAuth", provider);
    assert_eq!(ended["success"], false, "{ended}");
    assert!(ended.get("credentials").is_none(), "{ended}");
}

#[test]
fn a_login_that_nobody_has_confirmed_yet_is_pending() {
    // A second and a half of waiting, ten questions a second.
    let script = Logins { polls: 15, ..Logins::default() };
    let upstream = Upstream::start(Options::default().logins(script));
    let Some(bus) = bus(&upstream) else { return };
    let _serving = bus.serve();
    let Some(mut python) = Python::start(&bus) else { return };
    for (kind, ..) in PROVIDERS {
        let provider = begin(&mut python, kind);
        let mut brief = provider.clone();
        brief["timeout_ms"] = json!(0);
        let pending = python.ask("CompleteOAuth", brief);
        assert_eq!(pending["success"], false, "{pending}");
        assert_eq!(pending["error_code"], "busy", "{pending}");
        let message = pending["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("authorization_pending"), "{pending}");
        assert!(pending.get("credentials").is_none(), "{pending}");
        let done = python.ask("CompleteOAuth", provider);
        assert_eq!(done["success"], true, "{done}");
        assert!(done["credentials"]["access_token"].is_string(), "{done}");
    }
}
