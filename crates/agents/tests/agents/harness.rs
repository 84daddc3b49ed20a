//! A home of its own for every test: whatever runs with it in its environment was started there.

use althing_agents::{Adapter, Agent, Auth, Custom, Limits, Options};
use althing_chat::{Answer, Ask, Model};
use althing_stdx::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A test that takes longer hangs.
const HANG: Duration = Duration::from_secs(60);
/// How often a process may be found still alive: ten seconds, to catch a hang.
const LEFT_POLLS_MAX: u32 = 200;

pub struct Home {
    pub folder: tempfile::TempDir,
    pub environment: BTreeMap<String, String>,
}

impl Home {
    pub fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        let home = folder.path().to_str().unwrap().to_string();
        // Temporary folders of agents are ours to look for too.
        let environment = [("PATH".into(), path), ("HOME".into(), home)].into();
        Home { folder, environment }
    }

    pub fn set(mut self, name: &str, value: &str) -> Home {
        self.environment.insert(name.into(), value.into());
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn ledger(&self) -> PathBuf {
        self.path("ledger")
    }

    pub fn options(&self, limits: Limits) -> Options {
        Options {
            model: None,
            fallbacks: vec![],
            auth: Auth::Any,
            effort: None,
            program: None,
            arguments: vec![],
            repo: None,
            config: None,
            environment: self.environment.clone(),
            variables: vec![],
            limits,
            ledger: self.ledger(),
            raw: None,
        }
    }

    /// The fake agent, told how to behave.
    pub fn fake(&self, behaviour: &str) -> Custom {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fake/agent.sh");
        Custom::new("fake", &format!("'{}' {behaviour}", script.display())).unwrap()
    }

    pub async fn ask(&self, custom: Custom, options: Options) -> Result<Answer> {
        answer(&Agent::new(Adapter::Custom(custom), options), "Plan it.").await
    }

    /// Nothing that was started in this home runs any more, and nothing is noted.
    pub async fn is_left(&self) {
        for _ in 0..LEFT_POLLS_MAX {
            if self.running().is_empty() && self.noted() == 0 {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
        panic!("still running: {:#?}, {} noted", self.running(), self.noted());
    }

    pub fn noted(&self) -> usize {
        std::fs::read_dir(self.ledger()).map_or(0, Iterator::count)
    }

    /// The processes with this home in their environment: id and command line.
    pub fn running(&self) -> Vec<(String, String)> {
        let home = format!("HOME={}", self.folder.path().display());
        let read = |id: &str, file: &str| std::fs::read(format!("/proc/{id}/{file}"));
        let is_ours = |id: &String| {
            let variables = read(id, "environ").unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        };
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(is_ours)
            .map(|id| {
                let command = read(&id, "cmdline").unwrap_or_default();
                (id, String::from_utf8_lossy(&command).replace('\0', " "))
            })
            .collect()
    }

    /// Waits until so many processes sleep for ever.
    pub async fn has_asleep(&self, count: usize) {
        for _ in 0..LEFT_POLLS_MAX {
            if self.asleep() >= count {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
        panic!("only {:#?}", self.running());
    }

    pub fn asleep(&self) -> usize {
        self.running().iter().filter(|(_, command)| command.starts_with("sleep ")).count()
    }
}

pub async fn answer(agent: &Agent, question: &str) -> Result<Answer> {
    let answered = Answer::collect(agent.speak(Ask::new("", question)));
    timeout(HANG, answered).await.expect("it hangs")
}

/// Time enough for everything, and little for who hangs.
pub fn limits(idle_ms: u64, total_ms: u64) -> Limits {
    Limits { idle: Duration::from_millis(idle_ms), total: Duration::from_millis(total_ms) }
}

pub const PATIENT: Limits =
    Limits { idle: Duration::from_secs(50), total: Duration::from_secs(50) };
