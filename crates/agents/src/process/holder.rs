//! A small process of ours between an agent and us. What an agent leaves behind becomes its child,
//! whatever group, session and environment that has, so it can end all of it; and it does so where we are
//! gone without a word, too.

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, wait};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How a program that carries this is started to be a holder.
const HOLD: &str = "--hold-agent";
/// What an agent has started may go on so long after its end, as without a holder; then it is ended.
const LINGER_POLLS: u32 = 60;
/// When it is given up: a process that no signal ends.
const POLLS_MAX: u32 = 1_000;
const POLL_EVERY: Duration = Duration::from_millis(5);
/// Where the system shows what is open, by its number.
const LINES: &str = "/proc/self/fd";
/// The exit code of what cannot be started, as in a shell.
const NOT_STARTED: u8 = 126;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Lets every agent be held by `program`, which calls [`run_holder`] before it does anything else. Only
/// where the system has what a holder needs.
pub fn hold_agents_with(program: PathBuf) {
    if !cfg!(target_os = "linux") || !Path::new(LINES).is_dir() {
        return;
    }
    // Set once; a second time changes nothing.
    let _ = PROGRAM.set(program);
}

/// Is a holder where the arguments of this process say so, with the program's own name before them.
pub fn run_holder(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != HOLD {
        return None;
    }
    let held = arguments.next().zip(arguments.next());
    let (line, program) = held?;
    Some(hold(&line, &program, arguments))
}

/// The end of the line that a holder listens to: what it holds ends when this is dropped.
#[derive(Debug)]
pub(super) struct Leash {
    /// Its reader sees the end.
    _line: PipeWriter,
}

/// `program` as a command, with a holder around it where there is one. The reader has to live until
/// it is started.
pub(super) fn command(program: &Path) -> io::Result<(Command, Option<(Leash, PipeReader)>)> {
    let Some(holder) = PROGRAM.get() else { return Ok((Command::new(program), None)) };
    let (reader, writer) = io::pipe()?;
    // Others that are started at this moment get it too, and can do nothing with it.
    fcntl_setfd(&reader, FdFlags::empty())?;
    let mut command = Command::new(holder);
    command.arg(HOLD).arg(reader.as_raw_fd().to_string()).arg(program);
    Ok((command, Some((Leash { _line: writer }, reader))))
}

fn hold(line: &OsStr, program: &OsStr, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    adopt_orphans();
    let mut command = Command::new(program);
    let agent = match command.args(arguments).process_group(0).spawn() {
        Ok(agent) => agent,
        Err(e) => {
            // Nobody left to tell if this fails.
            let _ = writeln!(io::stderr(), "Error: cannot be started: {e}");
            return ExitCode::from(NOT_STARTED);
        }
    };
    let agent = i32::try_from(agent.id()).ok().and_then(Pid::from_raw);
    let is_released = Arc::new(AtomicBool::new(false));
    listen(line, agent, is_released.clone());
    let status = wait_for(agent);
    end_rest(&is_released);
    leave_as(status)
}

/// Makes what loses its parent below us our child. Where that is refused, what leaves the group is found
/// by its mark, as without a holder.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// Ends the agent as soon as nobody holds the line any more.
fn listen(line: &OsStr, agent: Option<Pid>, is_released: Arc<AtomicBool>) {
    let path = Path::new(LINES).join(line);
    std::thread::spawn(move || {
        // Without a line the agent ends by itself or with its group.
        let Ok(mut line) = File::open(path) else { return };
        // Nothing is ever written: the end and an error are the same.
        let _ = line.read(&mut [0]);
        is_released.store(true, Ordering::SeqCst);
        if let Some(agent) = agent {
            // It may have ended by itself.
            let _ = kill_process_group(agent, Signal::KILL);
        }
    });
}

/// Reaps until the agent has ended.
fn wait_for(agent: Option<Pid>) -> Option<ExitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == agent => {
                return Some(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Waits for what the agent has left behind, and ends it where that takes too long.
fn end_rest(is_released: &AtomicBool) {
    for poll in 0..POLLS_MAX {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                // There is nobody left.
                Err(_) => return,
            }
        }
        if poll >= LINGER_POLLS || is_released.load(Ordering::SeqCst) {
            // The children of those that end become ours, and are found by the next look.
            for pid in children() {
                // It may end by itself in this moment.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        #[expect(clippy::disallowed_methods, reason = "a process of its own, without a runtime")]
        std::thread::sleep(POLL_EVERY);
    }
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let Ok(all) = fs::read_dir("/proc") else { return vec![] };
    let ids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_ours = |id: &i32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: the state, then the parent.
        let parent =
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        parent == Some(own)
    };
    ids.filter(is_ours).filter_map(Pid::from_raw).collect()
}

/// Ends as the agent did.
fn leave_as(status: Option<ExitStatus>) -> ExitCode {
    let Some(status) = status else { return ExitCode::FAILURE };
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // Where it does not end us, the code below says so.
        let _ = kill_process(getpid(), signal);
    }
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
