//! A command is a few steps; each tells what it is, what it runs and how long it took.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Command;
use tokio::time::{Instant, timeout};

/// A child that takes longer hangs: it is killed and its step fails.
const CHILD_TIME_MAX: Duration = Duration::from_secs(2 * 60 * 60);
/// A download that takes longer hangs, and how often one is begun.
const DOWNLOAD_TIME_MAX: Duration = Duration::from_secs(8 * 60);
const DOWNLOADS_MAX: u32 = 3;

/// One run of one command: where things are, and what is done so far.
pub(crate) struct Run {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    started: Instant,
    done: RefCell<Vec<String>>,
}

impl Run {
    pub(crate) fn new() -> Result<Run> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
        let manifest = PathBuf::from(manifest.context("start it as `cargo xtask`")?);
        let root = manifest.parent().context("xtask lies inside the workspace")?.to_path_buf();
        let target = root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()));
        Ok(Run { root, target, started: Instant::now(), done: RefCell::default() })
    }

    /// Does `work` as the step `name`, telling the reader what it is for.
    pub(crate) async fn step(
        &self,
        name: &str,
        about: &str,
        work: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        eprintln!("\n== {name}: {about}");
        let started = Instant::now();
        work.await.with_context(|| format!("step `{name}`"))?;
        let took = format!("{name} {:.1} s", started.elapsed().as_secs_f64());
        eprintln!("== done: {took}");
        self.done.borrow_mut().push(took);
        Ok(())
    }

    /// The cargo that started us, at the root of the workspace.
    pub(crate) fn cargo(&self, arguments: &str) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or(OsString::from("cargo"));
        let mut command = Command::new(cargo);
        command.args(arguments.split(' ')).current_dir(&self.root);
        command
    }

    /// The last line of a run in which all went well.
    pub(crate) fn summary(&self) -> String {
        let steps = self.done.borrow().join(", ");
        format!("all well after {:.1} s ({steps})", self.started.elapsed().as_secs_f64())
    }
}

/// Runs `command` to its end with its output passed through; anything but success is an error that
/// shows how to run it alone. The child dies with the step: the first failure drops all others.
pub(crate) async fn spawn(command: Command) -> Result<()> {
    spawn_within(CHILD_TIME_MAX, command).await
}

/// Runs a command that fetches things from elsewhere. One that fails or hangs is started again:
/// a connection that went silent is no reason to give up.
pub(crate) async fn download(command: impl Fn() -> Command) -> Result<()> {
    for attempt in 1..DOWNLOADS_MAX {
        match spawn_within(DOWNLOAD_TIME_MAX, command()).await {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("   attempt {attempt} of {DOWNLOADS_MAX}: {error:#}"),
        }
    }
    spawn_within(DOWNLOAD_TIME_MAX, command()).await
}

async fn spawn_within(limit: Duration, mut command: Command) -> Result<()> {
    let shown = show(&command);
    eprintln!("   $ {shown}");
    let ending = timeout(limit, command.kill_on_drop(true).status()).await;
    let status = ending.with_context(|| format!("`{shown}` did not end"))?;
    let status = status.with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` {}", said(status));
    }
    Ok(())
}

fn said(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with exit code {code}"),
        None => format!("was stopped: {status}"),
    }
}

/// The command as one would type it: the program by its name, not by where it lies.
fn show(command: &Command) -> String {
    let command = command.as_std();
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
