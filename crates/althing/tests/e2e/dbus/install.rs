//! The service as `althing service install` leaves it to the bus: started by the first call, killed,
//! and started again.

use super::bus::{Bus, KEY, until};
use super::lives::once;
use super::tools::busctl;
use crate::harness::{Done, Home, on_path, unless_missing, upstream};
use althing_hub::face::dbus::BUS_NAME;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// What is installed: what the bus reads, and what systemd does.
fn installed(home: &Home) -> [PathBuf; 2] {
    let bus = format!(".local/share/dbus-1/services/{BUS_NAME}.service");
    [home.path().join(bus), home.path().join(".config/systemd/user/althing.service")]
}

/// The processes that serve.
fn serving(home: &Home) -> Vec<String> {
    let all = home.running().into_iter();
    all.filter(|(_, command)| command.contains(" serve ")).map(|(id, _)| id).collect()
}

/// What is in the store, by a command that does not find the service.
fn stored(home: &Home, command: &[&str]) -> Done {
    Done::of(home.command(command).env_remove("DBUS_SESSION_BUS_ADDRESS").output().unwrap())
}

/// A provider, an alias, a disabled model and two requests.
fn fill(bus: &Bus, url: &str, ask: &Value) {
    let fields = json!({"name": "Upstream", "provider_type": "openai", "api_key": KEY,
        "base_url": format!("{url}/v1")});
    assert_eq!(once(bus, "AddApiKeyProvider", fields)["provider_id"], "upstream");
    let targets = json!([{"provider_id": "upstream", "model_id": "fake-small"}]);
    once(bus, "SetRouteRules", json!({"alias": "fast", "targets": targets}));
    let off = json!({"provider_id": "upstream", "model_id": "fake-large", "enabled": false});
    assert_eq!(once(bus, "SetModelEnabled", off)["success"], true);
    for _ in 0..2 {
        assert_eq!(once(bus, "Complete", ask.clone())["success"], true);
    }
}

/// Everything that must outlive the service.
fn kept(bus: &Bus) -> Value {
    let mut used = once(bus, "GetMetricsSnapshot", json!({}))["snapshot"].take();
    used.as_object_mut().unwrap().remove("window_end_ms");
    json!({
        "providers": once(bus, "ListProviders", json!({}))["providers"],
        "models": once(bus, "GetModels", json!({}))["models"],
        "rules": once(bus, "GetRouteRules", json!({"alias": "fast"}))["targets"],
        "used": used,
    })
}

#[test]
fn a_service_that_is_installed_is_started_by_calls_and_loses_nothing_when_killed() {
    let (upstream, Some(mut bus)) = (upstream(), Bus::start()) else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    bus.home.run(&["service", "install", "--http", "127.0.0.1:0"]).ends(0).says("wrote ");
    let ask = json!({"model_id": "fast", "messages": [{"role": "user", "content": "hello"}]});
    // The first call starts it.
    fill(&bus, &upstream.url(), &ask);
    let before = kept(&bus);
    let off = json!({"provider_id": "upstream", "model_id": "fake-large", "enabled": false});
    assert!(before["models"].as_array().unwrap().iter().any(|it| is_part(&off, it)), "{before}");
    assert_eq!(before["used"]["requests_total"], 2, "{before}");
    // The last quarter of a second may be in memory only.
    until("the requests are written", || {
        stored(&bus.home, &["metrics"]).ends(0).out.contains("Requests in the last 1 h: 2 ")
    });
    let first = serving(&bus.home);
    assert_eq!(first.len(), 1, "{first:?}");
    let killed = bus.command("kill").args(["-KILL", &first[0]]).status().unwrap();
    assert!(killed.success());
    until("it is gone", || !serving(&bus.home).contains(&first[0]));
    // The next call starts it again.
    assert_eq!(kept(&bus), before);
    assert_ne!(serving(&bus.home), first);
    assert_eq!(once(&bus, "Complete", ask)["success"], true);
    bus.daemon.kill().unwrap();
    bus.daemon.wait().unwrap();
    bus.home.is_left();
}

fn is_part(part: &Value, whole: &Value) -> bool {
    part.as_object().unwrap().iter().all(|(name, value)| whole[name] == *value)
}

#[test]
fn what_is_installed_is_removed() {
    let Some(bus) = Bus::start() else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    let [activation, unit] = installed(&bus.home);
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_althing")).unwrap();
    let command = format!("{} serve", program.display());
    // Again is as good as once; nothing is left of the way there.
    for (options, words) in [(&[][..], ""), (&["--no-http"][..], " --no-http")] {
        let install = [&["service", "install"][..], options].concat();
        let done = bus.home.run(&install);
        done.ends(0).says(activation.to_str().unwrap()).says(unit.to_str().unwrap());
        for (path, line) in [(&activation, "Exec="), (&unit, "ExecStart=")] {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains(&format!("\n{line}{command}{words}\n")), "{text}");
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        }
    }
    if let Some(analyze) = unless_missing(on_path("systemd-analyze"), "systemd-analyze") {
        let mut verify = bus.home.foreign(&analyze);
        verify.args(["--user", "verify"]).arg(&unit).env("XDG_RUNTIME_DIR", bus.home.path());
        let verified = Done::of(verify.output().unwrap());
        // What it does not know it only mentions.
        assert!(!verified.ends(0).err.contains("althing.service:"), "{verified:?}");
    }
    bus.home.run(&["service", "uninstall"]).ends(0).says("removed ");
    assert!(!activation.exists() && !unit.exists());
    let none = busctl(&bus, "Messages", "ListProviders", "a{sv}", &json!([{}])).unwrap_err();
    assert!(none.1.contains("was not provided by any .service files"), "{none:?}");
    bus.home.run(&["service", "uninstall"]).ends(0).says("Nothing was installed.");
}
