//! What `doctor` wants to know of an agent.

use crate::agent::{Adapter, Agent, Limits, Options};
use crate::invocation::Invocation;
use crate::process::{Ended, Event, Running, Workspace, find_program, has_file};
use crate::row::{Login, Row};
use althing_stdx::Result;
use althing_stdx::text::one_line;
use std::path::PathBuf;
use std::time::Duration;

/// How long a question about an agent may take: some need half a minute to start on a busy machine.
const PROBE_MAX: Duration = Duration::from_secs(60);
/// Lines of an answer that are looked at; the rest is not.
const LINES_MAX: usize = 100;
const VERSION_CHARS_MAX: usize = 60;

/// An agent that is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub program: PathBuf,
    /// In its own words; none where it did not say.
    pub version: Option<String>,
    /// Whether it can ask its provider, as far as it is known without asking.
    pub logged_in: Option<bool>,
}

impl Agent {
    /// Where its program is, without starting it.
    pub fn locate(&self) -> Result<PathBuf> {
        let options = &*self.options;
        let path = options.environment.get("PATH").map(String::as_str).unwrap_or_default();
        let program = match &*self.adapter {
            Adapter::Known(row) => row.name,
            Adapter::Custom(custom) => custom.words.first().map(String::as_str).unwrap_or_default(),
        };
        find_program(options.program.as_deref().unwrap_or(program), path)
    }

    /// Where it is, its version, and whether it is logged in. Not installed is `NotFound`. No model
    /// is asked and nothing is spent.
    pub async fn probe(&self) -> Result<Installed> {
        let program = self.locate()?;
        let (mut version, mut is_in) = (None, None);
        if let Adapter::Known(row) = &*self.adapter {
            let told = ask(row, &self.options, row.version).await.ok();
            version = told.and_then(|(_, lines)| lines.into_iter().find_map(version_in));
            is_in = logged_in(row, &self.options).await;
        }
        Ok(Installed { program, version, logged_in: is_in })
    }
}

/// `2.1.325 (Claude Code)`, `codex-cli 0.166.0`: the first line with a number that has dots.
fn version_in(line: String) -> Option<String> {
    let is_version =
        |word: &str| word.split('.').count() > 1 && word.starts_with(|c: char| c.is_ascii_digit());
    line.split_whitespace().any(is_version).then(|| one_line(&line, VERSION_CHARS_MAX))
}

async fn logged_in(row: &Row, options: &Options) -> Option<bool> {
    let Login { keys, arguments, no, files } = row.logged_in;
    let is_set = |name: &&str| options.environment.get(*name).is_some_and(|it| !it.is_empty());
    if keys.iter().any(is_set) {
        return Some(true);
    }
    if arguments.is_empty() {
        let home = options.environment.get("HOME").map(String::as_str).unwrap_or_default();
        return Some(files.iter().any(|file| has_file(home, file)));
    }
    let (ended, lines) = ask(row, options, arguments).await.ok()?;
    match ended {
        _ if lines.iter().any(|line| line.contains(no)) => Some(false),
        Ended::Exit(0) => Some(true),
        _ => None,
    }
}

/// What it answers to `arguments`, on both outputs.
async fn ask(row: &Row, options: &Options, arguments: &[&str]) -> Result<(Ended, Vec<String>)> {
    let limits = Limits { idle: PROBE_MAX, total: PROBE_MAX };
    let options = Options { limits, raw: None, repo: None, ..options.clone() };
    let invocation = Invocation::probe(row, &options, arguments);
    let mut running = Running::start(invocation, Workspace::open(None)?, &options)?;
    let mut told = Vec::new();
    loop {
        match running.next().await {
            Event::Output(lines) | Event::Errors(lines) => {
                told.extend(lines.into_iter().take(LINES_MAX - told.len().min(LINES_MAX)));
            }
            Event::Ended(ended) => return Ok((ended, told)),
        }
    }
}
