//! A command is a few steps; each tells what it is, what it runs and how long it took. A step that
//! fails does not stop the others: the last lines name every failure.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
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
/// How long the last lines of a command that has ended are waited for. Only a process that outlives
/// it and holds its output takes that long.
const LAST_LINES_TIME_MAX: Duration = Duration::from_secs(10);

/// One run of one command: where things are, and what is done so far.
pub(crate) struct Run {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    started: Instant,
    done: RefCell<Vec<String>>,
    failed: RefCell<Vec<String>>,
}

impl Run {
    pub(crate) fn new() -> Result<Run> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
        let manifest = PathBuf::from(manifest.context("start it as `cargo xtask`")?);
        let root = manifest.parent().context("xtask lies inside the workspace")?.to_path_buf();
        let target = root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()));
        let (started, done, failed) = (Instant::now(), RefCell::default(), RefCell::default());
        Ok(Run { root, target, started, done, failed })
    }

    /// Does `work` as the step `name`, telling the reader what it is for, and returns whether it
    /// succeeded. A failure is kept for the summary.
    pub(crate) async fn step(
        &self,
        name: &str,
        about: &str,
        work: impl Future<Output = Result<()>>,
    ) -> bool {
        eprintln!("\n== {name}: {about}");
        let started = Instant::now();
        let result = work.await;
        let took = format!("{name} {:.1} s", started.elapsed().as_secs_f64());
        match &result {
            Ok(()) => eprintln!("== done: {took}"),
            Err(error) => {
                eprintln!("== FAILED: {took}: {error:#}");
                self.failed.borrow_mut().push(format!("{name} ({about}): {error:#}"));
            }
        }
        self.done.borrow_mut().push(took);
        result.is_ok()
    }

    /// The cargo that started us, at the root of the workspace.
    pub(crate) fn cargo(&self, arguments: &str) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or(OsString::from("cargo"));
        let mut command = Command::new(cargo);
        command.args(arguments.split(' ')).current_dir(&self.root);
        command
    }

    /// Returns the last lines: how long the steps took, or all that failed.
    pub(crate) fn summary(&self) -> Result<String, String> {
        let took = format!("after {:.1} s", self.started.elapsed().as_secs_f64());
        let failed = self.failed.borrow();
        if failed.is_empty() {
            return Ok(format!("all well {took} ({})", self.done.borrow().join(", ")));
        }
        let lines: String = failed.iter().map(|it| format!("\n  {it}")).collect();
        Err(format!("{} of {} steps failed {took}:{lines}", failed.len(), self.done.borrow().len()))
    }
}

/// Runs `command` to its end with its output passed through; anything but success is an error that
/// shows how to run it alone. The child dies with the step.
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
    let child = command.kill_on_drop(true).spawn();
    let mut child = child.with_context(|| format!("cannot start `{shown}`"))?;
    let ending = timeout(limit, child.wait()).await;
    let status = ending.with_context(|| format!("`{shown}` did not end"))?;
    check_status(&shown, status.with_context(|| format!("cannot wait for `{shown}`"))?)
}

/// Runs `command` as [`spawn`] does and gives each line of its output, of both kinds in the order of
/// their writing, to `read` before it is passed through.
pub(crate) async fn spawn_and_read(
    mut command: Command,
    mut read: impl FnMut(&str) + Send + 'static,
) -> Result<()> {
    let (output, input) = std::io::pipe().context("cannot make a pipe")?;
    command.stdout(input.try_clone().context("cannot share a pipe")?).stderr(input);
    let reader = tokio::task::spawn_blocking(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            read(String::from_utf8_lossy(&line).trim_end());
            // Nobody is left to tell where this fails.
            let _ = std::io::stderr().write_all(&line);
            line.clear();
        }
    });
    // The command holds the writing end, so it goes before the reader is waited for.
    let result = spawn(command).await;
    let all_read = timeout(LAST_LINES_TIME_MAX, reader).await;
    if all_read.is_err() {
        eprintln!("   something it started still holds its output");
    }
    result
}

fn check_status(shown: &str, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("`{shown}` {}", describe_status(status));
    }
    Ok(())
}

fn describe_status(status: ExitStatus) -> String {
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
