//! Peers whose sockets we did not write, as processes of a test.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use multifrost::Program;
use multifrost::parent::Options;
use multifrost::registry::Registry;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Language {
    Python,
    Node,
}

pub use Language::{Node, Python};

/// The scripts of a peer, and where they lie.
const SCRIPTS: &[(&str, &[&str])] = &[
    (
        "examples/workers",
        &["worker.py", "parent.py", "starter.py", "worker.mjs", "parent.mjs", "starter.mjs"],
    ),
    ("peers/frost", &["registry.py", "registry.mjs"]),
];

/// What a test needs of a peer: its interpreter, and its scripts where they find their packages.
pub struct Peer {
    pub language: Language,
    pub interpreter: PathBuf,
    /// A home of the test's own: the registry is there.
    pub home: tempfile::TempDir,
}

impl Peer {
    /// None where the peers are not installed and need not be.
    pub fn of(language: Language) -> Option<Peer> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let peers = std::env::var_os("ALTHING_PEERS_DIR");
        let peers = peers.map_or(root.join("target/peers"), PathBuf::from).join("frost");
        if !peers.join("bin/python").is_file() || !peers.join("node_modules").is_dir() {
            let is_required = std::env::var_os("ALTHING_PEERS").is_some_and(|it| it == "required");
            assert!(!is_required, "the peer frost is missing; cargo xtask peers installs it");
            println!("skipped: no peer frost; cargo xtask peers installs it");
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        for (folder, files) in SCRIPTS {
            for file in *files {
                std::fs::copy(root.join(folder).join(file), home.path().join(file)).unwrap();
            }
        }
        // Node looks for packages beside the script.
        symlink(peers.join("node_modules"), home.path().join("node_modules")).unwrap();
        let interpreter =
            if language == Python { peers.join("bin/python") } else { PathBuf::from("node") };
        Some(Peer { language, interpreter, home })
    }

    pub fn script(&self, name: &str) -> PathBuf {
        let ending = if self.language == Python { "py" } else { "mjs" };
        self.home.path().join(format!("{name}.{ending}"))
    }

    pub fn registry(&self) -> Registry {
        Registry::at(self.home.path().join(".multifrost"))
    }

    pub fn options(&self) -> Options {
        let connect_max = Duration::from_secs(60);
        Options { registry: Some(self.registry()), connect_max, ..Options::default() }
    }

    pub fn worker(&self) -> Program {
        Program::script(&self.interpreter, self.script("worker"))
    }

    /// A process in the home of this test.
    pub fn start(&self, program: &Path, arguments: &[&str]) -> Running {
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", self.home.path()).env_remove("COMLINK_ZMQ_PORT");
        Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// One of the scripts, run by what its name says.
    pub fn command(&self, script: &str) -> Command {
        let mut command = match self.language {
            Python if script.ends_with(".py") => Command::new(&self.interpreter),
            _ if script.ends_with(".py") => Command::new("python3"),
            _ => Command::new("node"),
        };
        command.arg(self.home.path().join(script));
        command
    }

    pub fn run_script(&self, name: &str, arguments: &[&str]) -> Running {
        let script = self.script(name);
        let script = script.to_str().unwrap();
        self.start(&self.interpreter, &[&[script], arguments].concat())
    }
}

/// A process that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Running {
    /// Its standard output, when it ends well.
    #[track_caller]
    pub fn says(&mut self) -> String {
        let text = std::io::read_to_string(self.0.stdout.take().unwrap()).unwrap();
        assert!(self.0.wait().unwrap().success(), "{text}");
        text
    }
}

pub const RUST: &str = env!("CARGO_BIN_EXE_frost-worker");

pub async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it never came to be");
}

pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}
