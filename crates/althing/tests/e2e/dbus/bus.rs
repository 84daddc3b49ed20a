//! A bus of the test's own, and the service on it.

use crate::harness::{Home, on_path, really_wait, unless_missing};
use althing_hub::face::dbus::{BUS_NAME, BusAddress};
use althing_testkit::Upstream;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What is waited for happens in milliseconds; this only catches a hang.
const POLLS_MAX: u32 = 1000;
const POLL: Duration = Duration::from_millis(20);

/// A key that must never be seen outside a call.
pub const KEY: &str = "sk-test-0123456789abcdef0123";

/// A daemon in a home of its own, ended when the test is over.
pub struct Bus {
    pub home: Home,
    pub daemon: Child,
}

/// `althing serve`, killed when the test is over.
pub struct Serving(pub Child);

impl Bus {
    /// None where the machine has no daemon and need not.
    pub fn start() -> Option<Bus> {
        let program = unless_missing(on_path("dbus-daemon"), "dbus-daemon")?;
        let home = Home::new();
        let folder = home.path().display().to_string();
        let address = format!("unix:path={folder}/bus");
        let config = home.path().join("bus.conf");
        fs::create_dir(home.path().join("services")).unwrap();
        fs::write(&config, CONFIG.replace("{folder}", &folder)).unwrap();
        let home = home.set("DBUS_SESSION_BUS_ADDRESS", &address);
        let mut command = home.foreign(&program);
        command.arg("--config-file").arg(&config).args(["--nofork", "--print-address"]);
        let mut daemon = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with(&address), "the daemon said {line:?}");
        Some(Bus { home, daemon })
    }

    /// The service on it, ready.
    pub fn serve(&self) -> Serving {
        let mut child = self.home.spawn(&["serve", "--no-http"]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(BUS_NAME)));
        assert!(ready.is_some(), "{:?}", child.wait_with_output());
        // It may go on talking.
        std::thread::spawn(move || lines.for_each(drop));
        Serving(child)
    }

    pub fn address(&self) -> BusAddress {
        BusAddress::new(format!("unix:path={}/bus", self.home.path().display()))
    }

    /// A program that finds this bus.
    pub fn command(&self, program: &str) -> Command {
        self.home.foreign(&on_path(program).unwrap())
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // Already gone is fine too. Whom the daemon started leaves with the bus.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Already gone is fine too.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `is_so`, which another process brings about.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..POLLS_MAX {
        if is_so() {
            return;
        }
        really_wait(POLL);
    }
    panic!("waited in vain: {what}");
}

/// Waits until nobody asks the upstream anything any more.
#[track_caller]
pub fn until_quiet(upstream: &Upstream) {
    until("the upstream's requests end", || upstream.in_flight() == 0);
}

const CONFIG: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={folder}/bus</listen>
  <auth>EXTERNAL</auth>
  <servicedir>{folder}/services</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;
