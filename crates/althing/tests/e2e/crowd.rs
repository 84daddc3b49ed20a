//! Very many clients at once, by real sockets, and many of them die: everything comes back, and
//! every request is counted.

use crate::dbus::bus::{Bus, Serving, until, until_quiet};
use crate::harness::{Home, is_soak, on_path};
use althing_chat::Message;
use althing_hub::face::dbus::{BusAddress, Client};
use althing_testkit::{Options, Upstream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

const CLIENTS: u64 = 60;
const CLIENTS_SOAK: u64 = 1000;
/// One client of so many comes over the bus, whose daemon takes 256 of one person.
const BUS_EVERY: u64 = 5;
const MODEL: &str = "openai:fake-large";
const CHUNKS: usize = 30;
/// Between two chunks: no stream may end before the last one has begun.
const DELAY: Duration = Duration::from_millis(50);
const DELAY_SOAK: Duration = Duration::from_secs(1);
/// The service is started with fewer descriptors than it has clients; it can have more.
const DESCRIPTORS: &str = "40";
/// Connections to the upstream that the service may keep for later, and a few files.
const KEPT_MAX: usize = 64 + 8;
/// Kilobytes that may stay of a small crowd: those connections, and pages of the store. Of a large
/// one half may: what lies too scattered to be given back, and is used again by the next.
const KEPT_KB_MAX: u64 = 4 * 1024;
/// What the allocator is told: to keep nothing for later. Then what the process has is what the
/// program has, whatever the crowd before took.
const KEEP_NOTHING: [(&str, &str); 4] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "1024"),
    ("MALLOC_TRIM_THRESHOLD_", "0"),
    ("MALLOC_TOP_PAD_", "0"),
];
/// All of it takes seconds; this only catches a hang.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Where the service is.
struct Place {
    http: String,
    token: String,
    bus: BusAddress,
    process: u32,
    /// Kilobytes it has when all are there.
    crowded: AtomicU64,
    /// Nobody goes on, or dies, before every stream has begun.
    begun: Barrier,
}

/// The service on both faces, with few descriptors to begin with.
fn serve(bus: &Bus) -> Serving {
    let mut command = bus.home.foreign(&on_path("sh").unwrap());
    let script = format!("ulimit -Sn {DESCRIPTORS}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_althing"), "serve", "--http", "127.0.0.1:0"]);
    command.envs(KEEP_NOTHING);
    Serving::start(&bus.home, command)
}

impl Place {
    /// Waits until every stream has begun.
    async fn all_there(&self) {
        if self.begun.wait().await.is_leader() {
            self.crowded.store(held(self.process).1, Ordering::Relaxed);
        }
    }
}

/// One client; half of them die at some point after their stream has begun.
async fn client(place: Arc<Place>, number: u64) {
    let mut dice = fastrand::Rng::with_seed(number);
    let life = if dice.bool() { dice.usize(1..CHUNKS) } else { usize::MAX };
    match number.is_multiple_of(BUS_EVERY) {
        true => over_bus(&place, life).await,
        false => over_http(&place, life).await,
    }
}

async fn over_http(place: &Place, life: usize) {
    let body = format!(
        r#"{{"model":"{MODEL}","stream":true,"messages":[{{"role":"user","content":"Go"}}]}}"#
    );
    let (host, token, length) = (&place.http, &place.token, body.len());
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut socket = TcpStream::connect(host).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    for read in 0..life {
        let length = socket.read(&mut piece).await.unwrap();
        if length == 0 {
            let heard = String::from_utf8_lossy(&heard);
            assert!(heard.contains("data: [DONE]"), "{heard}");
            return;
        }
        heard.extend_from_slice(&piece[..length]);
        if read == 0 {
            assert!(heard.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&heard));
            place.all_there().await;
        }
    }
}

async fn over_bus(place: &Place, life: usize) {
    let client = Client::connect(&place.bus).await.unwrap().expect("the service is there");
    let stream = client.create_stream(MODEL).await.unwrap();
    client.send_message(&stream, Message::user("Go"), vec![]).await.unwrap();
    for read in 0..life {
        let received = client.receive_stream(&stream, None, 4).await.unwrap();
        if read == 0 {
            place.all_there().await;
        }
        if received.done {
            return;
        }
    }
}

fn crowd(place: &Arc<Place>, clients: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut all: JoinSet<()> =
            (0..clients).map(|number| client(place.clone(), number)).collect();
        let ended = async {
            while let Some(ended) = all.join_next().await {
                ended.unwrap()
            }
        };
        timeout(WAIT_MAX, ended).await.expect("every client comes to its end");
    });
}

/// What the service holds: descriptors, and kilobytes of memory that are not a file's.
fn held(process: u32) -> (usize, u64) {
    let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    (descriptors, line.split_whitespace().nth(1).unwrap().parse().unwrap())
}

/// What another client of the bus sees: connections besides its own, requests, and failures.
fn seen(place: &Place) -> (usize, i64, i64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::connect(&place.bus).await.unwrap().expect("the service is there");
        let used = client.snapshot().await.unwrap();
        let others = client.connections().await.unwrap().len() - 1;
        (others, used.requests_total, used.requests_failed)
    })
}

#[test]
fn soak_a_crowd_that_dies_leaves_nothing_behind() {
    let (clients, delay) = if is_soak() { (CLIENTS_SOAK, DELAY_SOAK) } else { (CLIENTS, DELAY) };
    let upstream = Upstream::start(Options::default().chunks(CHUNKS).delay(delay));
    let Some(bus) = Bus::start_in(Home::with(&upstream)) else { return };
    let serving = serve(&bus);
    let token = bus.home.run(&["token"]).ends(0).out.trim().to_string();
    let place = Arc::new(Place {
        http: serving.http(),
        token,
        bus: bus.address(),
        process: serving.child.id(),
        crowded: AtomicU64::new(0),
        begun: Barrier::new(clients as usize),
    });
    let (descriptors, before) = held(place.process);
    let mut crowds = Vec::new();
    for round in 1..=2 {
        crowd(&place, clients);
        until_quiet(&upstream);
        assert_eq!(upstream.peak_in_flight(), clients as usize, "all at once");
        let want = (0, (round * clients) as i64, 0);
        until("every connection is gone and every request counted", || seen(&place) == want);
        assert_eq!(upstream.count("fake-large") as u64, round * clients);
        let (now, kilobytes) = held(place.process);
        assert!(now <= descriptors + KEPT_MAX, "{now} descriptors, {descriptors} before");
        let crowded = place.crowded.load(Ordering::Relaxed);
        let may_stay = KEPT_KB_MAX.max((crowded - before) / 2);
        let memory = format!("{kilobytes} kB, {before} before and {crowded} in the crowd");
        assert!(kilobytes <= before + may_stay, "{memory}");
        crowds.push(crowded);
    }
    assert!(crowds[1] <= crowds[0] * 5 / 4, "{crowds:?} kB");
}
