//! The architecture as a test: who may depend on whom, who may touch the outside world, and the
//! house rules. Changing a table in this file is an architecture decision and is reviewed as one.

mod doors;
mod layers;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;
use std::{fmt, fs, io};

use anyhow::ensure;

use crate::step::Run;
use Reach::{Environment, Files, Processes, Sockets};

/// A crate and the crates of this workspace it may know. Tests of any crate may add `testkit`.
const LAYERS: &[(&str, &[&str])] = &[
    ("stdx", &[]),
    ("chat", &["stdx"]),
    ("jsonrpc", &["stdx"]),
    ("exthost", &["stdx", "jsonrpc"]),
    ("gateway", &["stdx", "chat"]),
    ("agents", &["stdx", "chat"]),
    ("assembly", &["stdx", "chat"]),
    ("hub", &["stdx", "chat", "jsonrpc", "gateway", "agents", "assembly", "exthost", "multifrost"]),
    ("llama", &["stdx"]),
    ("multifrost", &[]),
    ("althing", &["stdx", "chat", "gateway", "assembly", "hub"]),
    ("testkit", &["stdx", "chat"]),
    ("bench/frost", &["multifrost"]),
    ("xtask", &[]),
];

/// A foreign crate and the only crates that may know it; `*` ends a prefix or stands for any crate,
/// `:dev` means their tests only. What is not listed is free.
const RESTRICTED: &[(&str, &[&str])] = &[
    ("anyhow", &["althing", "xtask", "*:dev"]),
    ("axum*", &["hub"]),
    ("clap*", &["althing"]),
    ("genai", &["gateway:dev"]),
    ("llama*", &["llama"]),
    ("rmcp", &["hub"]),
    ("hyper*", &["gateway", "hub", "llama", "testkit"]),
    ("rusqlite", &["hub"]),
    ("zbus*", &["hub"]),
];

/// What lies outside a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Sockets,
    Files,
    Processes,
    Environment,
}

const ALL: &[Reach] = &[Sockets, Files, Processes, Environment];

/// The only files that may touch the outside, and how. A `/` at the end means the whole folder.
const DOORS: &[(&str, &[Reach])] = &[
    ("crates/stdx/src/strays.rs", &[Files, Processes]),
    ("crates/agents/src/process.rs", &[Processes]),
    ("crates/agents/src/process/", &[Files, Processes, Environment]),
    ("crates/exthost/src/supervisor.rs", &[Processes]),
    ("crates/exthost/src/supervisor/", &[Files, Processes, Environment]),
    ("crates/gateway/src/http.rs", &[Sockets, Environment]),
    ("crates/gateway/src/http/", &[Sockets, Environment]),
    ("crates/hub/src/config.rs", &[Files, Environment]),
    ("crates/hub/src/config/", &[Files, Environment]),
    ("crates/hub/src/data_folder.rs", &[Files]),
    ("crates/hub/src/log.rs", &[Files]),
    ("crates/hub/src/store.rs", &[Files]),
    ("crates/hub/src/store/", &[Files]),
    ("crates/hub/src/secrets.rs", &[Files, Environment]),
    ("crates/hub/src/secrets/", &[Files, Environment, Sockets]),
    ("crates/hub/src/local.rs", &[Files, Processes]),
    ("crates/hub/src/local/", &[Files, Processes, Environment, Sockets]),
    ("crates/hub/src/service/streams/", &[Sockets]),
    ("crates/hub/src/pull/held.rs", &[Files]),
    ("crates/hub/src/pull/held/", &[Files]),
    ("crates/hub/src/pull/machine.rs", &[Files]),
    ("crates/hub/src/pull/part.rs", &[Files]),
    ("crates/hub/src/runs.rs", &[Files]),
    ("crates/hub/src/council/", &[Files]),
    ("crates/hub/src/workers/log.rs", &[Files]),
    ("crates/hub/src/extensions/", &[Files]),
    ("crates/hub/src/face/", &[Sockets, Files]),
    ("crates/multifrost/src/socket.rs", &[Sockets]),
    ("crates/multifrost/src/socket/", &[Sockets]),
    ("crates/multifrost/src/process.rs", &[Processes]),
    ("crates/multifrost/src/process/", &[Processes, Files]),
    ("crates/multifrost/src/registry.rs", &[Environment, Processes]),
    ("crates/multifrost/src/registry/", &[Files, Processes]),
    ("crates/multifrost/src/child/start.rs", &[Environment]),
    ("crates/multifrost/examples/", ALL),
    ("crates/althing/", ALL),
    ("crates/llama/", ALL),
    ("crates/testkit/", ALL),
    ("bench/", ALL),
    ("xtask/", ALL),
];

/// Long files are told of from the first limit on, and refused beyond the second.
const RUST_LINES_GOOD: usize = 600;
const RUST_LINES_MAX: usize = 800;

/// Folders with nothing of ours in them.
const NOT_OURS: &[&str] = &["target", ".git", ".peers", "node_modules", "__pycache__"];

/// Every rule sees every file and says what is wrong with it.
const RULES: &[fn(&File) -> Vec<Finding>] = &[
    layers::edges,
    layers::renamed,
    layers::reasons,
    doors::uses,
    text::length,
    text::mod_rs,
    text::machine_paths,
    text::registries,
    text::commands,
];

/// A text file of the project; `path` is relative to the root, with `/`.
struct File {
    path: String,
    text: String,
}

impl File {
    /// Its lines, numbered as editors do.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether it is nothing but tests.
    fn is_test(&self) -> bool {
        let folders = ["/tests/", "/benches/"];
        self.path.ends_with("/tests.rs") || folders.iter().any(|it| self.path.contains(it))
    }

    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into(), only_told: false }
    }
}

/// What is wrong, where, and what to do about it.
struct Finding {
    path: String,
    line: usize,
    what: String,
    /// Worth a look, but no failure.
    only_told: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.only_told { "note: " } else { "" };
        write!(f, "{}:{}: {word}{}", self.path, self.line, self.what)
    }
}

/// Checks every file and tells all that is wrong at once.
pub(crate) async fn run(run: &Run) {
    run.step("tidy", "the layering, the doors and the house rules", async {
        let mut files = Vec::new();
        read_all(&run.root, Path::new(""), &mut files)?;
        let findings = check(&files);
        findings.iter().for_each(|finding| eprintln!("   {finding}"));
        let wrong = findings.iter().filter(|finding| !finding.only_told).count();
        ensure!(wrong == 0, "{wrong} times a rule is broken, each told above");
        eprintln!("   {} files are in order", files.len());
        Ok(())
    })
    .await;
}

fn check(files: &[File]) -> Vec<Finding> {
    let singly = files.iter().flat_map(|file| RULES.iter().flat_map(move |rule| rule(file)));
    singly.chain(layers::rows(files)).collect()
}

/// Every text file below `folder`. Links are not followed, so this ends.
fn read_all(root: &Path, folder: &Path, files: &mut Vec<File>) -> io::Result<()> {
    let mut entries = fs::read_dir(root.join(folder))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let path = folder.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_OURS.iter().any(|skipped| name == *skipped) {
            read_all(root, &path, files)?;
        } else if kind.is_file() {
            // What is not UTF-8 is not text, and none of our business.
            if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                let path = path.to_string_lossy().replace('\\', "/");
                files.push(File { path, text });
            }
        }
    }
    Ok(())
}
