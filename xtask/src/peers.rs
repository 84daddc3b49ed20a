//! The foreign programs that the tests talk to, installed below the target folder. Each has a
//! folder in `peers/` that says what it is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::step::{Run, download, spawn};

/// What of the system the peers and the local models need: a program, and the packages that have it
/// where there is apt.
const SYSTEM: &[(&str, &str)] = &[
    ("npm", "npm"),
    ("tmux", "tmux"),
    ("dbus-daemon", "dbus"),
    ("busctl", "systemd"),
    ("gdbus", "libglib2.0-bin"),
    ("gnome-keyring-daemon", "gnome-keyring"),
    ("chromium", "chromium"),
    ("Xvfb", "xvfb"),
    ("openbox", "openbox"),
    // llama.cpp is built with cmake, and its headers are read by clang.
    ("cmake", "cmake"),
    ("clang", "clang libclang-dev"),
];

/// One row per peer: what `peers/<name>` asks for is installed at `<target>/peers/<name>`.
const PEERS: &[(&str, &[Part])] = &[
    ("gguf", &[Part::Python(&[])]),
    ("smollm2", &[Part::Python(UNPACKED)]),
    ("litellm", &[Part::Python(&[])]),
    ("quorum", &[Part::Python(UNPACKED), Part::Node]),
    ("mcp", &[Part::Python(&[])]),
    ("dbus", &[Part::Python(&[])]),
    ("sdk", &[Part::Python(&[]), Part::Node]),
    ("agents", &[Part::Node]),
    ("frost", &[Part::Python(&[]), Part::Node]),
    ("hermes", &[Part::Python(&[]), Part::Node]),
    ("browser", &[Part::Node]),
];

/// For a package that only carries files: no matter what it depends on or which Python it is for.
const UNPACKED: &[&str] = &["--no-deps", "--ignore-requires-python", "--target", "unpacked"];

/// Written last, so that an install that broke off is done again. It holds what was asked for, so
/// that a change of the lists or of what reads them is seen.
const STAMP: &str = "installed.txt";

/// Where the packages of a peer come from.
enum Part {
    /// `requirements.txt`, into a venv, by pip with these options. It empties the folder: put it
    /// first.
    Python(&'static [&'static str]),
    /// `package-lock.json`, into `node_modules`.
    Node,
}

/// Where the tests find the peers.
pub(crate) fn folder(run: &Run) -> PathBuf {
    run.target.join("peers")
}

/// Installs what is not there yet.
pub(crate) async fn install(run: &Run) {
    install_programs(run).await;
    install_peers(run).await;
}

/// Installs what cargo needs too: this comes before everything that builds.
pub(crate) async fn install_programs(run: &Run) {
    run.step("peers", "what they need of the system", system()).await;
}

/// Installs the peers themselves, while cargo builds.
pub(crate) async fn install_peers(run: &Run) {
    for (name, parts) in PEERS {
        let about = format!("{name}, for the tests to talk to");
        run.step("peers", &about, peer(run, name, parts)).await;
    }
}

async fn system() -> Result<()> {
    let missing = SYSTEM.iter().filter(|(program, _)| !is_on_path(program));
    let missing: Vec<_> = missing.flat_map(|(_, packages)| packages.split(' ')).collect();
    if missing.is_empty() {
        eprintln!("   all of it is there already");
        return Ok(());
    }
    let by_hand = || format!("install {} by hand", missing.join(" and "));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments);
        command
    };
    download(|| apt(&["update"])).await.with_context(by_hand)?;
    let install = [&["install", "--yes", "--no-install-recommends"], &missing[..]].concat();
    download(|| apt(&install)).await.with_context(by_hand)
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

async fn peer(run: &Run, name: &str, parts: &[Part]) -> Result<()> {
    let lists = run.root.join("peers").join(name);
    let home = folder(run).join(name);
    let stamp = home.join(STAMP);
    let mut wanted = String::new();
    for part in parts {
        wanted += &part.wanted(&lists).await?;
    }
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        eprintln!("   {name} is there already");
        return Ok(());
    }
    for part in parts {
        match part {
            Part::Python(options) => python(&lists, &home, options).await?,
            Part::Node => node(&lists, &home).await?,
        }
    }
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

impl Part {
    /// What is asked for, and the version of what reads it.
    async fn wanted(&self, lists: &Path) -> Result<String> {
        let (program, list) = match self {
            Part::Python(_) => ("python3", "requirements.txt"),
            Part::Node => ("node", "package-lock.json"),
        };
        let version = Command::new(program).arg("--version").output().await;
        let version = version.with_context(|| format!("cannot start {program}"))?.stdout;
        let list = lists.join(list);
        let text =
            fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        Ok(format!("{}{text}", String::from_utf8_lossy(&version)))
    }
}

async fn python(lists: &Path, home: &Path, options: &[&str]) -> Result<()> {
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(home);
    spawn(create).await?;
    let fill = || {
        let mut fill = Command::new(home.join("bin/python"));
        fill.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(options);
        fill.arg("--requirement").arg(lists.join("requirements.txt")).current_dir(home);
        fill
    };
    download(fill).await
}

async fn node(lists: &Path, home: &Path) -> Result<()> {
    fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
    for list in ["package.json", "package-lock.json"] {
        fs::copy(lists.join(list), home.join(list))
            .with_context(|| format!("cannot copy {list} to {}", home.display()))?;
    }
    let fill = || {
        let mut fill = Command::new("npm");
        fill.args(["ci", "--no-audit", "--no-fund"]).current_dir(home);
        fill
    };
    download(fill).await
}
