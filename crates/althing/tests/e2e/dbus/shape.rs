//! What a stranger finds: interfaces, versions, capabilities; and what the service says when it
//! cannot start.

use super::bus::{Bus, until};
use crate::harness::{Done, on_path, unless_missing};
use althing_hub::face::dbus::{BUS_NAME, Client, OBJECT_PATH};

const INTERFACES: &[&str] =
    &["Providers", "Models", "Routing", "Chat", "Streams", "Metrics", "Connections", "Messages"];

/// Beyond the nineteen.
const MORE: &[&str] = &[
    ".OpenStreamFd method s h",
    ".TestProvider method s a{sv}",
    ".ListAliases method - as",
    ".ProviderAdded signal s -",
    ".ProviderRemoved signal s -",
    ".ProviderChanged signal s -",
    ".ModelsChanged signal s -",
    ".RouteChanged signal s -",
    ".ConnectionOpened signal s -",
    ".ConnectionClosed signal s -",
    ".Capabilities property as 10 \"messages\"",
    ".AddApiKeyProvider method ssa{sv} a{sv}",
    ".AddApiKeyProvider method a{sv} a{sv}",
    ".Complete method saa{sv}a{sv} a{sv}",
    ".ReceiveStream method sa{sv} a{sv}",
];

#[test]
fn everything_can_be_seen_by_introspection() {
    let Some(bus) = Bus::start() else { return };
    if unless_missing(on_path("busctl"), "busctl").is_none() {
        return;
    }
    let _serving = bus.serve();
    let shown =
        bus.command("busctl").args(["--user", "introspect", BUS_NAME, OBJECT_PATH]).output();
    let shown = Done::of(shown.unwrap());
    let lines: Vec<String> = shown
        .out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for name in INTERFACES {
        let full = format!("{BUS_NAME}.{name} interface");
        assert!(lines.iter().any(|line| line.starts_with(&full)), "no {full} in {shown:#?}");
    }
    let versions = lines.iter().filter(|line| *line == ".Version property u 1 const");
    assert_eq!(versions.count(), INTERFACES.len() + 1, "{shown:#?}");
    for member in MORE {
        assert!(lines.iter().any(|line| line.starts_with(member)), "no {member} in {shown:#?}");
    }
}

#[test]
fn a_name_that_is_taken_stays_taken() {
    let Some(bus) = Bus::start() else { return };
    let serving = bus.serve();
    let second = bus.home.run(&["serve", "--no-http"]);
    second.ends(4).warns(&format!("taken on this bus by althing (process {})", serving.child.id()));
}

#[test]
fn the_end_of_the_bus_is_told() {
    let Some(mut bus) = Bus::start() else { return };
    let mut serving = bus.serve();
    bus.daemon.kill().unwrap();
    until("the service ends", || serving.child.try_wait().unwrap().is_some());
    assert_eq!(serving.child.wait().unwrap().code(), Some(16));
    let said = serving.said();
    assert!(said.contains("the session bus went away"), "{said}");
}

#[tokio::test]
async fn a_client_finds_no_service_and_starts_none() {
    let Some(bus) = Bus::start() else { return };
    assert!(Client::connect(&bus.address()).await.unwrap().is_none());
    let address = bus.address();
    drop(bus);
    assert!(Client::connect(&address).await.unwrap().is_none());
}
