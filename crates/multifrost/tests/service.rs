//! Services: a child that registers, and parents that find it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use multifrost::parent::{Blocking, Options};
use multifrost::registry::Registry;
use multifrost::{Error, Parent};

/// A service that ends with the test.
struct Service(Child);

impl Service {
    fn start(folder: &std::path::Path) -> Service {
        let mut command = Command::new(env!("CARGO_BIN_EXE_frost-worker"));
        command.arg("math").arg(folder).env_remove("COMLINK_ZMQ_PORT");
        Service(command.stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn options(folder: &std::path::Path) -> Options {
    let connect_max = Duration::from_secs(60);
    Options { registry: Some(Registry::at(folder)), connect_max, ..Options::default() }
}

#[tokio::test]
async fn s10_2_1_s10_2_2_s24_1_s24_3_s24_5_s26_5_several_parents_call_a_service() {
    let folder = tempfile::tempdir().unwrap();
    let _service = Service::start(folder.path());
    let one = Parent::connect("math", options(folder.path())).await.unwrap();
    let two = Parent::connect("math", options(folder.path())).await.unwrap();
    assert_eq!(one.call("add", (1, 2)).await, Ok(3));
    assert_eq!(two.call("add", (3, 4)).await, Ok(7));
    drop(one);
    assert_eq!(two.call("add", (5, 6)).await, Ok(11), "a parent that leaves ends nothing");
}

#[test]
fn s40_2_a_service_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.connect_max = Duration::ZERO;
    let error = Blocking::connect("math", options).unwrap_err();
    assert_eq!(error, Error::NoService("math".into()));
}

#[tokio::test]
async fn a_service_that_dies_fails_its_calls_and_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    let parent = Parent::connect("math", options(folder.path())).await.unwrap();
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let sleeping = parent.clone();
    let pending = tokio::spawn(async move { sleeping.call::<f64>("sleep", (60.0,)).await });
    // Now it runs, and sends before it waits.
    tokio::task::yield_now().await;
    let registry = Registry::at(folder.path());
    assert!(registry.find("math").is_some());
    drop(service);
    let lost = pending.await.unwrap();
    assert!(matches!(lost, Err(Error::Disconnected(_))), "{lost:?}");
    assert_eq!(registry.find("math"), None, "its entry is stale");
    // At once, and not only when the time of a call is over.
    let gone = parent.call::<i64>("add", (1, 2)).await;
    assert_eq!(gone, Err(Error::NoService("math".into())));
    let _again = Service::start(folder.path());
    let back = async {
        while !parent.is_connected() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), back).await.unwrap();
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
}

#[tokio::test]
async fn s24_6_s32_2_a_service_that_is_asked_to_end_unregisters() {
    for name in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let mut service = Service::start(folder.path());
        let parent = Parent::connect("math", options(folder.path())).await.unwrap();
        assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
        let pid = service.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
        assert_eq!(service.0.wait().unwrap().code(), Some(0), "{name}");
        let left = std::fs::read_to_string(folder.path().join("services.json")).unwrap();
        assert_eq!(left.trim(), "{}");
    }
}

#[test]
fn s18_2_a_service_beyond_this_machine_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_frost-worker"));
    command.arg("math").arg(folder.path()).env_remove("COMLINK_ZMQ_PORT");
    command.env("FROST_IP", "0.0.0.0").stdin(Stdio::null()).stderr(Stdio::piped());
    let mut service = Service(command.spawn().unwrap());
    let mut line = String::new();
    let errors = service.0.stderr.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(errors), &mut line).unwrap();
    assert_eq!(line, "math: listening beyond this machine: whoever reaches it can call\n");
}

#[test]
fn s10_1_5_a_child_without_port_and_service_exits() {
    for port in [None, Some("80"), Some("x")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_frost-worker"));
        command.env_remove("COMLINK_ZMQ_PORT").stderr(Stdio::null());
        command.envs(port.map(|port| ("COMLINK_ZMQ_PORT", port)));
        assert_eq!(command.status().unwrap().code(), Some(1), "{port:?}");
    }
}
