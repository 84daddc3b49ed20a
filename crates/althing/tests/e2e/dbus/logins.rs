//! Logins over the bus: the challenge, the wait, and credentials that go once, to who began.

use super::bus::Bus;
use super::everywhere::holding;
use super::python::Python;
use crate::harness::Home;
use althing_testkit::upstream::{Ending, Logins};
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};

/// Variables that name servers, and the paths they are given.
type Servers = &'static [(&'static str, &'static str)];

type Login = (&'static str, Servers, [&'static str; 2]);

/// A provider, its servers, and how its tokens begin: the one it uses, and what gets the next.
const PROVIDERS: &[Login] = &[
    (
        "copilot",
        &[
            ("ALTHING_COPILOT_DEVICE_URL", "/login/device/code"),
            ("ALTHING_COPILOT_TOKEN_URL", "/login/oauth/access_token"),
            ("ALTHING_COPILOT_EXCHANGE_URL", "/copilot_internal/v2/token"),
        ],
        ["tid=", "gho_device-"],
    ),
    (
        "dashscope",
        &[
            ("ALTHING_DASHSCOPE_DEVICE_URL", "/api/v1/oauth2/device/code"),
            ("ALTHING_DASHSCOPE_TOKEN_URL", "/api/v1/oauth2/token"),
        ],
        ["qwen-first-", "qwen-refresh-"],
    ),
];

/// In every device code and what is made of it, and in the other tokens.
const SECRETS: [&str; 4] = ["-0123456789abcdef", ";exp=1", "qwen-first-", "qwen-refresh-"];

/// A bus whose service logs in at `upstream`.
pub fn bus(upstream: &Upstream) -> Option<Bus> {
    let pairs = PROVIDERS.iter().flat_map(|(_, pairs, _)| *pairs);
    let set = |home: Home, (name, path): &(&str, &str)| {
        home.set(name, &format!("{}{path}", upstream.url()))
    };
    Bus::start_in(pairs.fold(Home::new(), set))
}

fn begin(python: &mut Python, typed: bool, kind: &str) -> Value {
    let wanted = json!({"name": "Mine", "provider_type": kind});
    let begun = python.ask_in(typed, "AddOAuthProvider", &wanted);
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
    for (typed, (kind, _, tokens)) in [true, false].into_iter().flat_map(each_provider) {
        let provider = begin(&mut ada, typed, kind);
        let stranger = bob.ask_in(typed, "CompleteOAuth", &provider);
        assert_eq!(stranger["success"], true, "{stranger}");
        assert!(stranger.get("credentials").is_none(), "{stranger}");
        // Others may have changed once more meanwhile: their models were listed.
        while bob.signal("ProviderChanged") != provider["provider_id"] {}
        let first = ada.ask_in(typed, "CompleteOAuth", &provider);
        for (field, token) in ["access_token", "refresh_token"].into_iter().zip(tokens) {
            let got = first["credentials"][field].as_str().unwrap_or_default();
            assert!(got.starts_with(token), "{first}");
        }
        assert!(first["credentials"]["expiry_date_ms"].is_number(), "{first}");
        let place = first["credentials"]["resource_url"].as_str().unwrap_or_default();
        assert!(place.starts_with(&upstream.url()), "{first}");
        let second = ada.ask_in(typed, "CompleteOAuth", &provider);
        assert_eq!(second["success"], true, "{second}");
        assert!(second.get("credentials").is_none(), "{second}");
    }
    // Whoever only listens hears no secret, and none is left in the clear.
    let listed = bob.ask("ListProviders", json!({}));
    let logins = listed["providers"].as_array().unwrap().iter().filter(|it| it["type"] == 2);
    assert_eq!(logins.count(), 2 * PROVIDERS.len(), "{listed}");
    assert!(SECRETS.iter().all(|secret| !bob.heard.contains(secret)), "{}", bob.heard);
    no_secret_in(&bus);
}

/// Neither in the folders, where the service's output lies too, nor in the list of processes.
fn no_secret_in(bus: &Bus) {
    for secret in SECRETS {
        assert_eq!(holding(bus.home.path(), secret), Vec::<String>::new());
        assert!(!bus.home.running().iter().any(|(_, command)| command.contains(secret)));
    }
}

fn each_provider(typed: bool) -> impl Iterator<Item = (bool, &'static Login)> {
    PROVIDERS.iter().map(move |provider| (typed, provider))
}

pub fn denied() -> Logins {
    Logins { ending: Ending::Denied, ..Logins::default() }
}

#[test]
fn a_denied_login_fails() {
    let upstream = Upstream::start(Options::default().logins(denied()));
    let Some(bus) = bus(&upstream) else { return };
    let _serving = bus.serve();
    let Some(mut python) = Python::start(&bus) else { return };
    let provider = begin(&mut python, true, "copilot");
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
        let provider = begin(&mut python, true, kind);
        let mut brief = provider.clone();
        brief["timeout_ms"] = json!(0);
        let pending = python.ask("CompleteOAuth", brief);
        assert_eq!(pending["success"], false, "{pending}");
        assert_eq!(pending["error_code"], "busy", "{pending}");
        let message = pending["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("authorization_pending"), "{pending}");
        assert!(pending.get("credentials").is_none(), "{pending}");
        no_secret_in(&bus);
        let done = python.ask("CompleteOAuth", provider);
        assert_eq!(done["success"], true, "{done}");
        assert!(done["credentials"]["access_token"].is_string(), "{done}");
    }
}
