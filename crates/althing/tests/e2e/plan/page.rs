//! A council as a browser shows it, held by one process and served by another.

use super::{JUDGE, PLANNERS, says};
use crate::harness::{Done, Home, on_path, peers, signal, unless_missing};
use crate::sdk::Served;
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex};

/// What a plan must not be able to do.
const HOSTILE: &str = "<script>window.ran = 1</script> <img src=x onerror='window.ran = 1'> \
    \u{202e}backwards\u{2066} and \u{7} a bell";

/// Planners that speak when they are allowed to.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let is_open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(is_open, |is_open| !*is_open).unwrap());
    }
}

/// What the others say, with something in every text that wants to be more than text.
fn hostile(seen: &Seen) -> String {
    let mut said: Value = serde_json::from_str(&says(seen)).unwrap();
    if said.get("merged_plan").is_some() {
        said["merged_plan"]["overview"] = format!("Overview {HOSTILE}").into();
        said["scores"][0]["rationale"] = HOSTILE.into();
        said["scores"][0]["strengths"] = json!(["It is short"]);
        said["scores"][0]["weaknesses"] = json!(["No rehearsal"]);
        said["missing_steps"] = json!(["A backup"]);
    } else {
        said["summary"] = format!("Summary {HOSTILE}").into();
    }
    said.to_string()
}

fn council(gate: &Gate) -> Upstream {
    let gate = gate.clone();
    Upstream::start(Options::default().text(move |seen| {
        gate.pass();
        hostile(seen)
    }))
}

#[test]
fn the_page_from_start_to_plan_in_a_real_browser() {
    let packages = peers().join("browser");
    let found =
        packages.join("node_modules/puppeteer-core").is_dir() && on_path("chromium").is_some();
    let Some(()) = unless_missing(found.then_some(()), "Chromium and puppeteer-core") else {
        return;
    };
    let gate = Gate::default();
    let upstream = council(&gate);
    let home = Home::with(&upstream);
    let served = Served::start(&home);
    // One of them has no key.
    let planners = format!("{PLANNERS},openai:err-401");
    let mut plan = home.spawn(&[
        "plan",
        "--task",
        "Move the <b>shop</b>",
        "--planners",
        &planners,
        "--judge",
        JUDGE,
        "--seed",
        "7",
    ]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/browser/council.mjs");
    let picture = home.path().join("council.png");
    let mut drive = home.foreign(Path::new("node"));
    drive.arg(script).arg(&packages).arg(&served.page);
    drive.arg(&picture).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut browser = drive.spawn().unwrap();
    let mut lines = BufReader::new(browser.stdout.take().unwrap()).lines();
    let mut next = |wanted: &str| {
        let line = lines.next().map(Result::unwrap);
        if line.is_none() {
            // Nobody waits for a planner that waits for us.
            gate.open();
        }
        assert_eq!(line.as_deref(), Some(wanted));
    };
    next("planning");
    let address = served.url.strip_prefix("http://").unwrap().to_string();
    served.stop();
    next("offline");
    gate.open();
    assert!(plan.wait().unwrap().success());
    let served = Served::start_at(&home, &address);
    // Each start has a key of its own.
    writeln!(browser.stdin.take().unwrap(), "{}", served.page).unwrap();
    let last = lines.map(Result::unwrap).last();
    Done::of(browser.wait_with_output().unwrap()).ends(0);
    assert_eq!(last.as_deref(), Some("ok"));
    if let Some(folder) = std::env::var_os("ALTHING_PICTURES") {
        for name in ["council.png", "council-dark.png", "council-narrow.png"] {
            std::fs::copy(home.path().join(name), Path::new(&folder).join(name)).unwrap();
        }
    }
    served.stop();
    home.is_left();
}

#[test]
fn the_page_of_a_run_without_a_plan_says_where_it_stopped() {
    let packages = peers().join("browser");
    let found =
        packages.join("node_modules/puppeteer-core").is_dir() && on_path("chromium").is_some();
    let Some(()) = unless_missing(found.then_some(()), "Chromium and puppeteer-core") else {
        return;
    };
    let upstream = super::council();
    let home = Home::with(&upstream);
    let judge = ["--judge", "openai:err-401", "--no-fallback"];
    super::plan(&home, &[&["--planners", PLANNERS][..], &judge].concat()).ends(4);
    let served = Served::start(&home);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/browser/council.mjs");
    let picture = home.path().join("stopped.png");
    let mut drive = home.foreign(Path::new("node"));
    drive.arg(script).arg(&packages).arg(&served.page);
    drive.arg(&picture).arg("stopped").stdin(Stdio::null());
    Done::of(drive.output().unwrap()).ends(0).says("ok");
    if let Some(folder) = std::env::var_os("ALTHING_PICTURES") {
        std::fs::copy(&picture, Path::new(&folder).join("stopped.png")).unwrap();
    }
    served.stop();
    home.is_left();
}

#[test]
fn plan_ui_serves_its_own_page_while_it_runs() {
    let gate = Gate::default();
    let upstream = council(&gate);
    let home = Home::with(&upstream);
    let args = ["plan", "--task", "Move it", "--ui", "--planners", PLANNERS, "--judge", JUDGE];
    let mut plan = home.spawn(&args);
    let mut lines = BufReader::new(plan.stderr.take().unwrap()).lines().map(Result::unwrap);
    let page = lines.find_map(|line| Some(line.split_once("The page: ")?.1.to_string())).unwrap();
    let (base, token) = page.split_once("/ui/?token=").unwrap();
    let address = base.strip_prefix("http://").unwrap();
    let state = loop {
        let (code, body) = fetch(address, token);
        assert_eq!(code, 200, "{body}");
        let state: Value = serde_json::from_str(&body).unwrap();
        let planners = state["planners"].as_array().unwrap();
        if planners.len() == 3 && planners.iter().all(|it| it["status"] == "running") {
            break state;
        }
    };
    assert_eq!(state["phase"], "planning");
    assert_eq!(state["task_brief"], "Move it");
    assert_eq!(fetch(address, "wrong").0, 401);
    // The token is of this page alone.
    let own = home.run(&["token"]).out;
    assert_eq!(fetch(address, own.trim()).0, 401);
    gate.open();
    // No terminal: it stays all the same, and a page that is open does not hold it up.
    lines.find(|line| line.contains("The page stays until Ctrl-C, or until nobody")).unwrap();
    let (code, body) = fetch(address, token);
    assert!(code == 200 && body.contains("\"phase\":\"complete\""), "{body}");
    // Somebody else's run is newer, and not of this page.
    let other = ["plan", "--task", "Another", "--planners", "demo:a", "--judge", "demo:b"];
    home.run(&other).ends(0);
    assert!(fetch(address, token).1.contains("\"task_brief\":\"Move it\""), "its own run");
    let runs = home.run(&["history", "--json"]).out;
    let newest: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    let other = format!("{token}&run_id={}", newest["id"].as_str().unwrap());
    assert_eq!(fetch(address, &other).0, 404);
    let mut open = TcpStream::connect(address).unwrap();
    write!(open, "GET /ui/events?token={token} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut first = [0; 1];
    open.read_exact(&mut first).unwrap();
    signal(&plan, "INT");
    let mut rest = String::new();
    open.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "ended and not cut off: {rest}");
    assert!(plan.wait().unwrap().success());
    home.is_left();
}

fn fetch(address: &str, token: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    let head = format!("host: {address}\r\nconnection: close");
    write!(socket, "GET /ui/state?token={token} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
}
