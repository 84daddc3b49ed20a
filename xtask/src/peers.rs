//! The foreign programs that the tests talk to, installed below the target folder. Each has a
//! folder in `peers/` that says what it is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::step::{Run, spawn};

/// Peers from PyPI: `peers/<name>/requirements.txt` becomes a venv at `<target>/peers/<name>`.
const PYTHON: &[&str] = &["litellm"];

/// Written last, so that an install that broke off is done again. It holds what was asked for, so
/// that a change of either the requirements or Python is seen.
const STAMP: &str = "installed.txt";

/// Where the tests find the peers.
pub(crate) fn folder(run: &Run) -> PathBuf {
    run.target.join("peers")
}

/// Installs what is not there yet.
pub(crate) async fn install(run: &Run) -> Result<()> {
    for name in PYTHON {
        let about = format!("{name} from PyPI, for the tests to talk to");
        run.step("peers", &about, python(run, name)).await?;
    }
    Ok(())
}

async fn python(run: &Run, name: &str) -> Result<()> {
    let requirements = run.root.join("peers").join(name).join("requirements.txt");
    let venv = folder(run).join(name);
    let stamp = venv.join(STAMP);
    let wanted = wanted(&requirements).await?;
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        eprintln!("   {name} is there already");
        return Ok(());
    }
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&venv);
    spawn(create).await?;
    let mut fill = Command::new(venv.join("bin/python"));
    fill.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    fill.arg(&requirements);
    spawn(fill).await?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

/// The requirements and the Python they are for.
async fn wanted(requirements: &Path) -> Result<String> {
    let version = Command::new("python3").arg("--version").output().await;
    let version = version.context("python3 is needed, and cannot be started")?.stdout;
    let text = fs::read_to_string(requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    Ok(format!("{}{text}", String::from_utf8_lossy(&version)))
}
