//! `althing serve` as the official SDKs and two agents see it.

mod agents;

use crate::harness::{Done, Home, peers, signal, unless_missing};
use althing_testkit::{Dialect, Options, Seen, Upstream};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Lines of the greeting before the address has to be there.
const GREETING_LINES_MAX: usize = 20;

/// The service on a free port, ended with the test.
pub struct Served {
    child: Child,
    /// Without `/v1`.
    pub url: String,
    pub token: String,
    /// The address of its pages, with what opens them.
    pub page: String,
}

impl Served {
    #[track_caller]
    pub fn start(home: &Home) -> Served {
        Served::start_at(home, "127.0.0.1:0")
    }

    #[track_caller]
    pub fn start_at(home: &Home, address: &str) -> Served {
        let mut child = home.spawn(&["serve", "--no-dbus", "--http", address]);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.take(GREETING_LINES_MAX).map(Result::unwrap);
        let mut next = || {
            let found = lines.find_map(|line| Some(line.split_once("http://")?.1.to_string()));
            format!("http://{}", found.expect("it says where it listens"))
        };
        let (models, page) = (next(), next());
        let url = models.split("/v1").next().unwrap().to_string();
        let token = home.run(&["token"]).ends(0).out.trim().to_string();
        Served { child, url, token, page }
    }

    /// Ends it as a service manager does.
    #[track_caller]
    pub fn stop(mut self) {
        signal(&self.child, "TERM");
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Already gone is fine too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An upstream that always says the same.
pub fn upstream() -> Upstream {
    Upstream::start(Options::default().text(|_| "Hello there.".into()))
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/sdk").join(name)
}

#[track_caller]
fn check(upstream: &Upstream, drive: impl Fn(&Home, &Served) -> Command, says: &[&str]) {
    let home = Home::with_all(upstream);
    let served = Served::start(&home);
    let done = Done::of(drive(&home, &served).output().unwrap());
    done.ends(0);
    for words in says {
        done.says(&format!("{words}\n"));
    }
    served.stop();
    home.is_left();
}

#[test]
fn the_python_sdks() {
    let python = peers().join("sdk/bin/python");
    let python = python.is_file().then_some(python);
    let Some(python) = unless_missing(python, "the Python SDKs") else { return };
    let drive = |home: &Home, served: &Served| {
        let mut drive = home.foreign(&python);
        drive.arg(script("drive.py")).args([&served.url, &served.token]);
        drive
    };
    check(
        &upstream(),
        drive,
        &[
            "openai chat openai:fake-large",
            "openai chat anthropic:fake-large",
            "openai tools openai:fake-large",
            "openai tools anthropic:fake-large",
            "openai completions openai:fake-large",
            "openai completions anthropic:fake-large",
            "openai responses anthropic:fake-large",
            "pictures",
            "anthropic messages openai:fake-large",
            "anthropic messages anthropic:fake-large",
            "models",
            "errors",
            "50 at once",
            "discussion",
        ],
    );
}

#[test]
fn the_node_sdks() {
    let folder = peers().join("sdk");
    let folder = folder.join("node_modules/openai").is_dir().then_some(folder);
    let Some(folder) = unless_missing(folder, "the Node SDKs") else { return };
    let upstream = upstream();
    let drive = |home: &Home, served: &Served| {
        let mut drive = home.foreign(Path::new("node"));
        drive.arg(script("drive.mjs")).arg(&folder).args([&served.url, &served.token]);
        drive
    };
    check(
        &upstream,
        drive,
        &[
            "openai chat openai:fake-large",
            "openai chat anthropic:fake-large",
            "openai completions openai:fake-large",
            "openai completions anthropic:fake-large",
            "openai responses anthropic:fake-large",
            "anthropic messages openai:fake-large",
            "anthropic messages anthropic:fake-large",
            "errors",
            "50 at once",
            "left",
        ],
    );
    upstream.wait_for_sync(|seen| seen.iter().any(|it| it.model == "stall" && Seen::aborted(it)));
}

/// A server as most are that copy OpenAI's: it chats, and has no other path.
fn chatting() -> Upstream {
    let options = Options::default().text(|_| "Hello there.".into());
    Upstream::start(options.speaks([Dialect::OpenAi]))
}

const CHATTING_SAYS: [&str; 2] =
    ["openai responses openai:fake-large", "openai completions openai:fake-large"];

#[test]
fn the_python_sdk_by_a_server_that_only_chats() {
    let python = peers().join("sdk/bin/python");
    let python = python.is_file().then_some(python);
    let Some(python) = unless_missing(python, "the Python SDKs") else { return };
    let drive = |home: &Home, served: &Served| {
        let mut drive = home.foreign(&python);
        drive.arg(script("drive.py")).args([&served.url, &served.token, "chats"]);
        drive
    };
    check(&chatting(), drive, &CHATTING_SAYS);
}

#[test]
fn the_node_sdk_by_a_server_that_only_chats() {
    let folder = peers().join("sdk");
    let folder = folder.join("node_modules/openai").is_dir().then_some(folder);
    let Some(folder) = unless_missing(folder, "the Node SDKs") else { return };
    let drive = |home: &Home, served: &Served| {
        let mut drive = home.foreign(Path::new("node"));
        drive.arg(script("drive.mjs")).arg(&folder).args([&served.url, &served.token, "chats"]);
        drive
    };
    check(&chatting(), drive, &CHATTING_SAYS);
}
