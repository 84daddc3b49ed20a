//! Conversations as text files in `testdata`: what a frontend writes, and all it gets.
//!
//! | line | |
//! |---|---|
//! | `env NAME=value` | the environment |
//! | `@ada text` | a turn of the voice `demo:ada`; see `kit::steps` |
//! | `> 1 method {…}` | a request: id (`-`: none), parameters; lines in a row are sent at once |
//! | `--> …` | a line as it is |
//! | `wait 5s` | time passes |
//! | `eof`, `stop`, `restart` | the frontend leaves, the backend is told to end, a new one begins |
//! | `history` | the runs that are kept, the latest first |
//! | `resume` | the latest run goes on to its end, as from the command line |
//! | `calls` | who was called since, and how that ended |
//! | `< 1 {…}`, `< 1 -32602 text` | an answer |
//! | `< event {…}` | an event without its discussion's id, which is checked |
//! | `<-- …` | a line as it is |
//! | `= …` | what is found |
//!
//! `UPDATE_EXPECT=1` writes what comes into the files.

use super::kit::{Client, Machine};
use expect_test::ExpectFile;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// Until nobody has anything left to do: longer than a voice takes without being told to wait, and
/// than a phase's end is held back.
const IDLE: Duration = Duration::from_millis(200);

macro_rules! transcripts {
    ($($name:ident),* $(,)?) => {
        $(#[tokio::test(start_paused = true)]
        async fn $name() {
            play(stringify!($name)).await;
        })*

        #[test]
        fn every_file_is_played() {
            let played = [$(stringify!($name)),*].map(String::from).into_iter().collect();
            let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
            let found: BTreeSet<String> =
                files.map(|file| file.file_stem().unwrap().to_string_lossy().into()).collect();
            assert_eq!(found, played);
        }
    };
}

transcripts! {
    advocate,
    advocate_roles,
    brainstorm,
    cancel_call,
    cancel_pause,
    cancel_waiting,
    cut,
    delphi,
    delphi_settled,
    envelope,
    failed,
    failed_synthesis,
    failed_talk,
    history,
    hung,
    hung_critique,
    leave_asked,
    leave_call,
    leave_pause,
    leave_stop,
    leave_waiting,
    no_synthesis,
    notifications,
    order,
    oxford,
    oxford_roles,
    pause_default,
    pauses,
    resume_early,
    resume_idle,
    resume_waiting,
    roles,
    settings,
    settings_used,
    socratic,
    standard,
    standard_defaults,
    start,
    too_few,
    tradeoff,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/face/quorum/testdata")
}

async fn play(name: &str) {
    let path = folder().join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut player = Player::new(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !is_output(line)).collect();
    for (at, line) in lines.iter().enumerate() {
        writeln!(player.heard, "{line}").unwrap();
        // Requests in a row are one piece, the end of the stream included.
        let is_next = |next: &&str| is_request(next) || *next == "eof";
        let more = is_request(line) && lines.get(at + 1).is_some_and(is_next);
        player.step(line, more).await;
    }
    player.end().await;
    expect_file(path).assert_eq(&player.heard);
}

fn expect_file(path: PathBuf) -> ExpectFile {
    ExpectFile { path, position: file!() }
}

fn is_output(line: &str) -> bool {
    line.starts_with('<') || line.starts_with('=')
}

fn is_request(line: &str) -> bool {
    line.starts_with('>') || line.starts_with("-->")
}

struct Player {
    machine: Machine,
    client: Option<Client>,
    /// The file as it should be.
    heard: String,
    start: Instant,
    /// Seconds when a line last came.
    clock: u64,
    discussion: String,
    /// Whether the next event is another discussion's.
    is_over: bool,
    /// Lines of the stage's log that are noted.
    calls: usize,
}

impl Player {
    fn new(text: &str) -> Player {
        let machine = text.lines().fold(Machine::new(), |machine, line| {
            if let Some((name, value)) = line.strip_prefix("env ").and_then(|it| it.split_once('='))
            {
                machine.env(name, value)
            } else if let Some((name, turn)) =
                line.strip_prefix('@').and_then(|it| it.split_once(' '))
            {
                machine.voice(name, turn)
            } else {
                machine
            }
        });
        Player {
            machine,
            client: None,
            heard: String::new(),
            start: Instant::now(),
            clock: 0,
            discussion: String::new(),
            is_over: true,
            calls: 0,
        }
    }

    async fn step(&mut self, line: &str, more: bool) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            ">" => self.send(&request(rest), more).await,
            "-->" => self.send(rest, more).await,
            "wait" => {
                let seconds = rest.strip_suffix('s').and_then(|it| it.parse().ok()).unwrap();
                self.wait(seconds).await;
            }
            "eof" => {
                self.client().close().await;
                self.close().await;
            }
            "stop" => {
                self.client().stop();
                self.close().await;
            }
            "restart" => drop(self.client.take()),
            "history" => self.history().await,
            "resume" => self.resume().await,
            "calls" => self.calls(),
            _ => {
                let is_known = line.is_empty() || line.starts_with(['#', '@']) || word == "env";
                assert!(is_known, "{line}");
            }
        }
    }

    async fn send(&mut self, line: &str, more: bool) {
        self.client().write(format!("{line}\n")).await;
        if !more {
            self.listen().await;
        }
    }

    /// Notes what comes until nothing more does.
    async fn listen(&mut self) {
        while let Some(line) = self.client().read_within(IDLE).await {
            self.note(&line.expect("the connection is not over"));
        }
    }

    /// Notes what comes in so many seconds.
    async fn wait(&mut self, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds);
        while let Some(line) = self.client().read_within(until - Instant::now()).await {
            self.note(&line.expect("the connection is not over"));
        }
    }

    async fn close(&mut self) {
        let rest = self.client().rest().await;
        rest.iter().for_each(|line| self.note(line));
        self.client = None;
        self.tell("closed");
    }

    async fn end(&mut self) {
        if let Some(mut client) = self.client.take() {
            client.close().await;
            assert_eq!(client.rest().await, Vec::<String>::new(), "after the end");
        }
        for call in self.machine.stage.calls() {
            let prompt: String = call.ask.messages.iter().map(|it| it.text.as_str()).collect();
            assert!(!prompt.contains("[Error"), "a failure in a prompt: {prompt}");
        }
    }

    fn client(&mut self) -> &mut Client {
        self.client.get_or_insert_with(|| self.machine.connect())
    }

    /// Notes a line that came, in short.
    fn note(&mut self, line: &str) {
        let now = self.start.elapsed().as_secs();
        if now != self.clock {
            self.clock = now;
            self.tell(&format!("{now} s"));
        }
        let home = self.machine.home.path().to_string_lossy().into_owned();
        let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
        let line = line.replace(&home, "~").replace(&version, "\"version\":\"..\"");
        let short = self.short(&line).unwrap_or_else(|| format!("<-- {line}"));
        writeln!(self.heard, "{short}").unwrap();
    }

    fn short(&mut self, line: &str) -> Option<String> {
        let mut message: Value = serde_json::from_str(line).unwrap();
        if let Some(id) = message.get("id") {
            let id = id.to_string();
            if line == format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, message["result"]) {
                return Some(format!("< {id} {}", message["result"]));
            }
            let error = message["error"].take();
            let (code, text) = (&error["code"], error["message"].as_str()?);
            assert_eq!(error, serde_json::json!({"code": code, "message": text, "data": null}));
            return Some(format!("< {id} {code} {text}"));
        }
        self.check_discussion(&mut message);
        let keys: Vec<&String> = message.as_object()?.keys().collect();
        assert_eq!(keys, ["jsonrpc", "method", "params"]);
        Some(format!("< {} {}", message["method"].as_str()?, message["params"]))
    }

    /// Takes the discussion's id out of an event: the same from its first to its last.
    fn check_discussion(&mut self, event: &mut Value) {
        let params = event["params"].as_object_mut().unwrap();
        let id = params.shift_remove("discussion_id").unwrap().as_str().unwrap().to_string();
        check_uuid(&id);
        if self.is_over {
            assert_ne!(id, self.discussion);
            self.discussion.clone_from(&id);
        }
        assert_eq!(id, self.discussion);
        let last = ["discussion_complete", "discussion_cancelled", "discussion_error"];
        self.is_over = last.contains(&event["method"].as_str().unwrap());
    }

    async fn history(&mut self) {
        for run in self.machine.store.runs(10).await.unwrap() {
            let (speeches, failures) = (run.speeches, run.failures);
            let line =
                format!("{} {:?}, {speeches} said, {failures} failed", run.method, run.standing);
            self.tell(&line);
        }
    }

    async fn resume(&mut self) {
        let run = self.machine.runs().resume("last", None, false).await.unwrap();
        run.control.go_on();
        let ending = run.ending().await.unwrap();
        self.tell(&format!("{ending:?}"));
    }

    fn calls(&mut self) {
        let log = self.machine.stage.log();
        let lines = log.lines().skip(self.calls).filter_map(|line| Some(line.split_once("ms ")?.1));
        // Calls of one phase begin in any order.
        let mut lines: Vec<&str> = lines.collect();
        lines.sort_unstable();
        self.calls += lines.len();
        lines.iter().for_each(|line| self.tell(line));
    }

    fn tell(&mut self, what: &str) {
        writeln!(self.heard, "= {what}").unwrap();
    }
}

/// `1 method {…}` as it goes over the wire; `-` for the id is none.
fn request(short: &str) -> String {
    let mut words = short.splitn(3, ' ');
    let (id, method) = (words.next().unwrap(), words.next().unwrap());
    let id = if id == "-" { String::new() } else { format!(r#""id":{id},"#) };
    let params = words.next().map_or(String::new(), |params| format!(r#","params":{params}"#));
    format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}"{params}}}"#)
}

/// A random one: version 4, variant 10.
#[track_caller]
fn check_uuid(id: &str) {
    let lengths: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
    assert!(id.chars().all(|c| c == '-' || matches!(c, '0'..='9' | 'a'..='f')), "{id}");
    assert!(id[14..].starts_with('4') && id[19..].starts_with(['8', '9', 'a', 'b']), "{id}");
}
