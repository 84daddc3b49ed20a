//! A person's machine, and a frontend that is connected to the backend on it.

use super::super::{ready, serve};
use crate::book::Library;
use crate::config::{Config, World};
use crate::runs::Runs;
use crate::secrets::Secrets;
use crate::store::Store;
use althing_assembly::demo::{PREFIX, Pace};
use althing_chat::{Model, Stop};
use althing_stdx::Fault;
use althing_stdx::fault::CODES;
use althing_testkit::{Scripted, Stage, Step};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Bytes on their way in each direction.
const PIPE_BYTES: usize = 64 * 1024;
/// Longer than anything takes: nothing comes any more.
const FOR_EVER: Duration = Duration::from_secs(1_000_000);
/// In less than this the backend is gone after the frontend.
const GONE_MAX: Duration = Duration::from_secs(1);
/// Real time after which a clock that was held stands still no longer: the test has failed.
const STILL_MAX: Duration = Duration::from_secs(30);

/// Voices that follow a script. Each takes a moment longer than the one before, so that it is known
/// who is done first.
const CAST: [&str; 4] = ["ada", "bob", "cy", "dee"];

/// A key that is none.
pub const KEY: &str = "sk-proj-abcdefghijklmnop-1234";

/// A machine.
pub struct Machine {
    pub home: TempDir,
    pub store: Store,
    pub stage: Stage,
    secrets: Secrets,
    env: BTreeMap<String, String>,
    voices: HashMap<String, Vec<String>>,
}

impl Machine {
    /// With nothing on it, and a store in memory.
    pub fn new() -> Machine {
        let home = tempfile::tempdir().unwrap();
        let (store, stage) = (Store::in_memory().unwrap(), Stage::default());
        let voices = CAST.map(|name| (name.to_string(), vec![])).into_iter().collect();
        let secrets = Secrets::in_memory();
        Machine { home, store, stage, secrets, env: BTreeMap::new(), voices }
    }

    /// As `new`, with a store on disk.
    pub fn on_disk() -> Machine {
        let machine = Machine::new();
        let store = Store::open(&machine.database()).unwrap();
        Machine { store, ..machine }
    }

    pub fn database(&self) -> PathBuf {
        self.home.path().join("data/althing.db")
    }

    pub fn env(mut self, name: &str, value: &str) -> Machine {
        self.env.insert(name.into(), value.into());
        self
    }

    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Machine {
        let path = self.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// One more turn of the voice `demo:<name>`; see [`steps`]. Past its last turn it says its name
    /// and the number of the turn.
    pub fn voice(mut self, name: &str, turn: &str) -> Machine {
        self.voices.entry(name.into()).or_default().push(turn.into());
        self
    }

    fn world(&self) -> World {
        let home = self.home.path().to_path_buf();
        World { env: self.env.clone(), cwd: home.clone(), home }
    }

    pub fn config(&self) -> Config {
        let mut config = Config::load(&self.world());
        // Servers that are only looked for are somebody else's.
        config.endpoints.retain(|configured| configured.explicit);
        config
    }

    /// Its book; all of them know the same secrets.
    pub fn library(&self) -> Arc<Library> {
        let config = Arc::new(self.config());
        Library::new(self.world(), config, self.store.clone(), self.secrets.clone())
    }

    pub fn runs(&self) -> Runs {
        let voices = self.voices.iter().map(|(name, turns)| {
            let id = format!("{PREFIX}{name}");
            let voice: Arc<dyn Model> = Arc::new(scripted(&id, name, turns).on(&self.stage));
            (id, voice)
        });
        let (library, pace) = (self.library(), Pace { word_ms: 0 });
        Runs { library, metrics: None, pace, voices: voices.collect() }
    }

    /// A frontend on it.
    pub fn connect(&self) -> Client {
        let (here, there) = duplex(PIPE_BYTES);
        let (reader, writer) = split(there);
        let (stop, stopped) = oneshot::channel();
        let (runs, home) = (self.runs(), self.home.path().to_path_buf());
        let serving = tokio::spawn(async move {
            let stopped = async {
                // A frontend that keeps the sender never stops the backend.
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            serve(runs, home, reader, writer, stopped).await;
        });
        let (reader, writer) = split(here);
        let reader = BufReader::new(reader);
        Client { reader, writer, serving, stop: Some(stop), last_id: 0 }
    }
}

fn scripted(id: &str, name: &str, turns: &[String]) -> Scripted {
    let moment = 1 + CAST.iter().position(|known| *known == name).unwrap_or(CAST.len()) as u64;
    let (name, turns) = (name.to_string(), turns.to_vec());
    Scripted::from_fn(id, move |_, nth| {
        let default = format!("{name} {}", nth + 1);
        let turn = steps(turns.get(nth).unwrap_or(&default));
        [vec![Step::WaitMs(moment)], turn].concat()
    })
}

/// What a voice does in a turn: `~` hangs, `-` says nothing, `!kind text` fails, all else is said;
/// `+5s` before any of these waits. `*99 text` says it so many times, `^ text` says it and is then at
/// its limit of tokens.
fn steps(turn: &str) -> Vec<Step> {
    if let Some((wait, rest)) = turn.strip_prefix('+').and_then(|turn| turn.split_once("s ")) {
        return [vec![Step::Wait(wait.parse().unwrap())], steps(rest)].concat();
    }
    if let Some((kind, text)) = turn.strip_prefix('!').and_then(|turn| turn.split_once(' ')) {
        let kind = CODES.iter().find(|row| row.name == kind).expect("a kind of fault").kind;
        return vec![Step::FailWith(Fault::new(kind, text))];
    }
    let say = |text: &str| Step::SayText(text.replace("\\n", "\n"));
    if let Some((times, text)) = turn.strip_prefix('*').and_then(|turn| turn.split_once(' '))
        && let Ok(times) = times.parse()
    {
        return vec![say(&format!("{text} ").repeat(times))];
    }
    if let Some(text) = turn.strip_prefix("^ ") {
        return vec![say(text), Step::End(Stop::Length)];
    }
    match turn {
        "~" => vec![Step::Hang],
        "-" => vec![],
        text => vec![say(text)],
    }
}

/// An event: its name and its parameters.
pub type Event = (String, Value);

/// The parameters of the events called `name`.
pub fn named<'a>(events: &'a [Event], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event.0 == name).map(|event| &event.1).collect()
}

/// A frontend.
pub struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
    last_id: u64,
}

impl Client {
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.write_all(bytes.as_ref()).await.unwrap();
    }

    /// The next line; none where the connection is over.
    pub async fn read(&mut self) -> Option<String> {
        self.read_within(FOR_EVER).await.expect("a line, or the end")
    }

    /// The next line, if it comes within `max`. On a paused clock that is until nobody has anything
    /// left to do.
    pub async fn read_within(&mut self, max: Duration) -> Option<Option<String>> {
        let mut line = String::new();
        let read = timeout(max, self.reader.read_line(&mut line)).await.ok()?;
        read.unwrap();
        Some(line.strip_suffix('\n').map(String::from))
    }

    /// Sends a line and returns the next one as JSON.
    pub async fn say(&mut self, line: impl AsRef<[u8]>) -> Value {
        self.write(line).await;
        self.write("\n").await;
        let answer = self.read().await.expect("an answer");
        serde_json::from_str(&answer).unwrap()
    }

    /// Calls a method that sends no events; its result or its error.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let line = self.read().await.expect("an answer");
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        let outcome = if answer["error"].is_null() { "result" } else { "error" };
        answer[outcome].take()
    }

    /// Holds a discussion to its end: its events and its answer.
    pub async fn run(&mut self, ids: &[&str], options: Value) -> (Vec<Event>, Value) {
        let params = json!({"question": "Why?", "model_ids": ids, "options": options});
        self.request("run_discussion", params).await;
        let mut events = Vec::new();
        loop {
            let line = self.read().await.expect("an event or the answer");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            match message["method"].as_str() {
                Some(name) => events.push((name.to_string(), message["params"].take())),
                None => return (events, message),
            }
        }
    }

    /// Sends a request and waits for nothing.
    pub async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(format!("{request}\n")).await;
        id
    }

    /// Closes the frontend's end.
    pub async fn close(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    pub fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Breaks off in both directions; the backend ends in time.
    pub async fn gone(mut self) {
        let (nowhere, _) = duplex(1);
        let (reader, writer) = split(nowhere);
        (self.reader, self.writer) = (BufReader::new(reader), writer);
        self.ended().await;
    }

    /// Everything that still comes; the backend ends in time.
    pub async fn rest(&mut self) -> Vec<String> {
        let (began, mut lines) = (Instant::now(), Vec::new());
        while let Some(line) = self.read().await {
            lines.push(line);
        }
        self.ended().await;
        assert!(began.elapsed() < GONE_MAX, "{:?}", began.elapsed());
        lines
    }

    /// The backend ends in time, read or not.
    pub async fn ended(&mut self) {
        timeout(GONE_MAX, &mut self.serving).await.expect("it ends in time").unwrap();
    }
}

/// An address where nobody listens.
pub fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// Holds a paused clock still, for a test that talks to real sockets. Without it the clock runs
/// ahead while all that is left to do is on its way.
pub struct Still(#[expect(dead_code)] std::sync::mpsc::Sender<()>);

impl Still {
    pub fn hold() -> Still {
        let (sender, receiver) = std::sync::mpsc::channel();
        // While a blocking task runs, the clock does not move by itself.
        tokio::task::spawn_blocking(move || receiver.recv_timeout(STILL_MAX));
        Still(sender)
    }
}

#[test]
fn the_first_line_says_that_it_is_ready() {
    let line: Value = serde_json::from_str(&ready()).unwrap();
    let params = json!({"version": env!("CARGO_PKG_VERSION"), "protocol_version": "1.0.0"});
    assert_eq!(line, json!({"jsonrpc": "2.0", "method": "ready", "params": params}));
    assert!(!ready().contains('\n'));
}
