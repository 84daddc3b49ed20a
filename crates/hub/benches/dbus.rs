//! The D-Bus face beside a bare zbus service, over a daemon of the bench's own: calls per second, one
//! at a time and sixteen at once. `cargo bench` measures; without it the run is small. Where there is
//! no `dbus-daemon` it says so and ends.

#![allow(clippy::print_stdout, reason = "a bench reports on standard output")]

use althing_hub::config::World;
use althing_hub::face::dbus::{BUS_NAME, BusAddress, Face, MESSAGES_INTERFACE, OBJECT_PATH};
use althing_hub::service::Service;
use futures_util::future::join_all;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zbus::{Connection, OwnedVariant, Variant, connection, interface};

const BARE_NAME: &str = "org.althing.Bare1";
const BARE_INTERFACE: &str = "org.althing.Bare1";
const AT_ONCE: usize = 16;

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={folder}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
"#;

/// Answers what `ListConnections` answers to its only client.
struct Bare;

#[interface(name = "org.althing.Bare1")]
impl Bare {
    fn list_connections(
        &self,
        _request: HashMap<String, OwnedVariant>,
    ) -> HashMap<&'static str, Variant<'static>> {
        let result = HashMap::from([("success", Variant::from(true))]);
        let connection = HashMap::from([
            ("connection_id", Variant::from("conn_1")),
            ("client_name", Variant::from("dbus")),
            ("requests_count", Variant::from(1_i64)),
            ("face", Variant::from("dbus")),
        ]);
        HashMap::from([
            ("success", Variant::from(true)),
            ("result", Variant::from(result)),
            ("connections", Variant::from(vec![connection])),
        ])
    }
}

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // Already gone is fine too.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let calls = if is_bench { 20_000 } else { 50 };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_daemon) = daemon(folder.path()) else {
        println!("no dbus-daemon here: nothing is measured");
        return;
    };
    let address = format!("unix:path={}/bus", folder.path().display());
    let stop = CancellationToken::new();
    let service = serve(&address, folder.path(), stop.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    println!("D-Bus, a{{sv}} to a{{sv}}, calls per second: bare zbus service | althing | ratio");
    for at_once in [1, AT_ONCE] {
        let [mut bare, mut ours] = [0.0_f64; 2];
        // In turns, so that both meet the same noise; the best of each counts.
        for _ in 0..3 {
            bare = bare.max(runtime.block_on(measure(
                &address,
                BARE_NAME,
                BARE_INTERFACE,
                calls,
                at_once,
            )));
            ours = ours.max(runtime.block_on(measure(
                &address,
                BUS_NAME,
                MESSAGES_INTERFACE,
                calls,
                at_once,
            )));
        }
        println!("{at_once:>3} at once: {bare:8.0} | {ours:8.0} | {:.2}", ours / bare);
    }
    stop.cancel();
    service.join().expect("the service ends");
}

/// The daemon, listening.
fn daemon(folder: &Path) -> Option<Daemon> {
    let config = folder.join("bus.conf");
    std::fs::write(&config, BUS.replace("{folder}", &folder.display().to_string())).ok()?;
    let mut command = Command::new("dbus-daemon");
    command.arg("--config-file").arg(config).args(["--nofork", "--print-address"]);
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
    Some(Daemon(child))
}

/// Both services on a thread of their own, as in another process.
fn serve(address: &str, home: &Path, stop: CancellationToken) -> std::thread::JoinHandle<()> {
    let (address, home) = (address.to_string(), home.to_path_buf());
    let (ready, is_ready) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let bare = connection::Builder::address(address.as_str());
            let bare = bare.serve_at(OBJECT_PATH, Bare).name(BARE_NAME);
            let _bare = bare.build().await.expect("the bare service");
            let env = BTreeMap::from([("ALTHING_SECRETS".to_string(), "file".to_string())]);
            let world = World { env, cwd: home.clone(), home };
            let service = Service::open(world).await.expect("the service");
            let face = Face::open(service, &BusAddress::new(address)).await.expect("the face");
            ready.send(()).expect("somebody waits");
            face.run(stop).await.expect("it ends in order");
        });
    });
    is_ready.recv().expect("both are there");
    thread
}

async fn measure(address: &str, name: &str, interface: &str, calls: usize, at_once: usize) -> f64 {
    let bus = connection::Builder::address(address).build().await.expect("a connection");
    let began = Instant::now();
    let each = calls / at_once;
    join_all((0..at_once).map(|_| call_often(&bus, name, interface, each))).await;
    (each * at_once) as f64 / began.elapsed().as_secs_f64()
}

async fn call_often(bus: &Connection, name: &str, interface: &str, calls: usize) {
    let nothing: HashMap<&str, Variant<'_>> = HashMap::new();
    for _ in 0..calls {
        let called =
            bus.call_method(Some(name), OBJECT_PATH, Some(interface), "ListConnections", &nothing);
        called.await.expect("an answer");
    }
}
