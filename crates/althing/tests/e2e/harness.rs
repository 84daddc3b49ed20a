//! A fresh machine for every test: an empty home, no keys, no local servers, and the real binary.

mod bound;
pub mod unread;

use althing_assembly::Event;
use althing_testkit::{Options, Upstream};
use bound::{CaseBound, reset_ignored_signals};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A port nobody listens on: bound once, closed at once, and never given out again soon.
const NOBODY: &str = "http://127.0.0.1:9";

/// How often a process of ours may be found still alive: ten seconds, to catch a hang.
const LEFT_POLLS_MAX: u32 = 200;

/// An empty home folder and what is set in its environment.
pub struct Home {
    pub folder: tempfile::TempDir,
    env: Vec<(String, String)>,
    _bound: CaseBound,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Home {
        let env = ["OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMASWAP_BASE_URL"];
        let env = env.map(|name| (name.to_string(), NOBODY.to_string())).to_vec();
        reset_ignored_signals();
        let folder = tempfile::tempdir().unwrap();
        let bound = CaseBound::start(folder.path());
        Home { folder, env, _bound: bound }
    }

    /// A home whose OpenAI key leads to `upstream`.
    pub fn with(upstream: &Upstream) -> Home {
        Home::new()
            .set("OPENAI_API_KEY", "sk-test-0123456789abcdef")
            .set("OPENAI_BASE_URL", &format!("{}/v1", upstream.url()))
    }

    /// A home in which one provider of every dialect leads to `upstream`.
    pub fn with_all(upstream: &Upstream) -> Home {
        let url = upstream.url();
        let key = "sk-test-0123456789abcdef";
        let home =
            Home::with(upstream).set("ANTHROPIC_API_KEY", key).set("ANTHROPIC_BASE_URL", &url);
        home.set("GOOGLE_API_KEY", key).set("GOOGLE_BASE_URL", &url).set("OLLAMA_BASE_URL", &url)
    }

    pub fn set(mut self, name: &str, value: &str) -> Home {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join(".local/share/althing")
    }

    /// The binary in this home, with nothing of ours in its environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_althing"));
        command
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", self.path())
            .current_dir(self.path());
        command.envs(self.env.iter().map(|(name, value)| (name, value))).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Another program in this home, which finds what it needs on the person's own `PATH`.
    pub fn foreign(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.env("HOME", self.path()).env("PATH", std::env::var_os("PATH").unwrap());
        command.current_dir(self.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> Done {
        Done::of(self.command(args).output().unwrap())
    }

    pub fn run_with_input(&self, args: &[&str], input: &str) -> Done {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Done::of(child.wait_with_output().unwrap())
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// Nothing that was started in this home is running any more, whoever started it.
    #[track_caller]
    pub fn is_left(&self) {
        for _ in 0..LEFT_POLLS_MAX {
            if self.running().is_empty() {
                return;
            }
            really_wait(Duration::from_millis(50));
        }
        panic!("still running: {:#?}", self.running());
    }

    /// No process has a path of this home among its arguments.
    #[track_caller]
    pub fn is_named_nowhere(&self) {
        let home = self.path().display().to_string();
        let named = || {
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            let lines = all.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
            let lines = lines.map(|it| String::from_utf8_lossy(&it).replace('\0', " "));
            lines.filter(|line| line.contains(&home)).collect::<Vec<_>>()
        };
        for _ in 0..LEFT_POLLS_MAX {
            if named().is_empty() {
                return;
            }
            really_wait(Duration::from_millis(50));
        }
        panic!("still running: {:#?}", named());
    }

    /// The processes with this home in their environment: id and command line.
    pub fn running(&self) -> Vec<(String, String)> {
        processes_in(self.path())
    }

    /// The events of a run, as `show --json` gives them.
    #[track_caller]
    pub fn events(&self, run: &str) -> Vec<Event> {
        let shown = self.run(&["show", run, "--json"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        shown.events()
    }
}

impl Done {
    pub fn of(output: std::process::Output) -> Done {
        Done {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Its lines as events.
    #[track_caller]
    pub fn events(&self) -> Vec<Event> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    /// The exit code, with everything said where it differs.
    #[track_caller]
    pub fn ends(&self, code: i32) -> &Done {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub fn says(&self, words: &str) -> &Done {
        assert!(self.out.contains(words), "no '{words}' in {self:#?}");
        self
    }

    #[track_caller]
    pub fn warns(&self, words: &str) -> &Done {
        assert!(self.err.contains(words), "no '{words}' in {self:#?}");
        self
    }
}

/// An upstream that answers at once.
pub fn upstream() -> Upstream {
    Upstream::start(Options::default())
}

/// Three models of one upstream.
pub const THREE: &str = "openai:ada,openai:bob,openai:cyd";

/// A wait in real time, for what happens in another process.
pub fn really_wait(wait: Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    // On a thread of its own: the caller's may be one of another runtime.
    let waiting = move || runtime.block_on(async { tokio::time::sleep(wait).await });
    std::thread::spawn(waiting).join().unwrap();
}

/// Sends a signal by its name: this crate forbids the unsafe call.
pub fn signal(child: &Child, name: &str) {
    let sent =
        Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// What a test needs, or none where it is missing and may be: then a line says so.
pub fn unless_missing<T>(found: Option<T>, what: &str) -> Option<T> {
    if found.is_none() {
        let is_required =
            std::env::var_os("ALTHING_PEERS").is_some_and(|value| value == "required");
        assert!(!is_required, "{what} is missing; cargo xtask peers installs it");
        println!("skipped: no {what}; cargo xtask peers installs it");
    }
    found
}

/// The processes with this home in their environment: id and command line.
fn processes_in(home: &Path) -> Vec<(String, String)> {
    let home = format!("HOME={}", home.display());
    let read = |id: &str, file: &str| std::fs::read(format!("/proc/{id}/{file}"));
    let is_in_home = |id: &String| {
        let variables = read(id, "environ").unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(is_in_home)
        .map(|id| {
            let command = read(&id, "cmdline").unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            (id, command)
        })
        .collect()
}

/// Where `cargo xtask peers` puts the foreign programs that the tests talk to.
pub fn peers() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("ALTHING_PEERS_DIR").map_or(root.join("target/peers"), PathBuf::from)
}

/// A program of the system.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whether the tests that can be large shall be.
pub fn is_soak() -> bool {
    std::env::var_os("ALTHING_SOAK").is_some()
}

/// Holds the database against every writer until it is dropped.
pub struct Locked(Child);

impl Locked {
    pub fn hold(home: &Home) -> Locked {
        let script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); \
                      db.execute('BEGIN IMMEDIATE'); print('locked', flush=True); sys.stdin.read()";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(home.data().join("althing.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "locked\n");
        Locked(child)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends with its input.
        let _ = self.0.wait();
    }
}
