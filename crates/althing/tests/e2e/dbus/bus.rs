//! A bus of the test's own, and the service on it.

use crate::harness::{Home, on_path, really_wait, unless_missing};
use althing_hub::face::dbus::BusAddress;
use althing_testkit::Upstream;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// `althing serve`, killed when the test is over. What it says goes to files in the home, where a
/// search for secrets finds them.
pub struct Serving {
    pub child: Child,
    log: [PathBuf; 2],
}

impl Bus {
    /// None where the machine has no daemon and need not.
    pub fn start() -> Option<Bus> {
        Bus::start_in(Home::new())
    }

    pub fn start_in(home: Home) -> Option<Bus> {
        let program = unless_missing(on_path("dbus-daemon"), "dbus-daemon")?;
        let folder = home.path().display().to_string();
        let address = format!("unix:path={folder}/bus");
        let config = home.path().join("bus.conf");
        fs::write(&config, CONFIG.replace("{folder}", &folder)).unwrap();
        let home = home.set("DBUS_SESSION_BUS_ADDRESS", &address);
        let daemon = launch(home.foreign(&program), &config, &address);
        Some(Bus { home, daemon })
    }

    /// Ends the daemon as a crash does; nobody is told.
    pub fn kill(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
    }

    /// Another daemon at the same address.
    pub fn start_again(&mut self) {
        let config = self.home.path().join("bus.conf");
        let address = format!("unix:path={}/bus", self.home.path().display());
        self.daemon = launch(self.command("dbus-daemon"), &config, &address);
    }

    /// The service on it, ready.
    pub fn serve(&self) -> Serving {
        Serving::start(&self.home, self.home.command(&["serve", "--no-http"]))
    }

    /// The service on both faces, ready.
    pub fn serve_both(&self) -> Serving {
        Serving::start(&self.home, self.home.command(&["serve", "--http", "127.0.0.1:0"]))
    }

    pub fn address(&self) -> BusAddress {
        BusAddress::new(format!("unix:path={}/bus", self.home.path().display()))
    }

    /// A program that finds this bus.
    pub fn command(&self, program: &str) -> Command {
        self.home.foreign(&on_path(program).unwrap())
    }
}

/// A daemon that listens.
fn launch(mut command: Command, config: &Path, address: &str) -> Child {
    command.arg("--config-file").arg(config).args(["--nofork", "--print-address"]);
    let mut daemon = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with(address), "the daemon said {line:?}");
    daemon
}

impl Serving {
    /// Waits for the end of its greeting.
    pub fn start(home: &Home, mut command: Command) -> Serving {
        let log = ["serve.out", "serve.err"].map(|name| home.path().join(name));
        let [out, err] = log.each_ref().map(|path| File::create(path).unwrap());
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().unwrap();
        let mut serving = Serving { child, log };
        until("the service is there", || {
            assert!(serving.child.try_wait().unwrap().is_none(), "{}", serving.said());
            serving.said().contains("Ctrl-C ends it.")
        });
        serving
    }

    /// Everything it has said so far.
    pub fn said(&self) -> String {
        self.log.each_ref().map(|path| fs::read_to_string(path).unwrap()).concat()
    }

    /// Where it listens for HTTP: address and port.
    pub fn http(&self) -> String {
        let said = self.said();
        let (_, rest) = said.split_once("http://").expect("it says where it listens");
        rest.split('/').next().unwrap().to_string()
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
        let _ = self.child.kill();
        let _ = self.child.wait();
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

/// From an hour ago to a minute from now, in milliseconds.
pub fn last_hour() -> [i64; 2] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    [now - 3_600_000, now + 60_000]
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
  <servicedir>{folder}/.local/share/dbus-1/services</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;
