//! The one place where agents are processes: started in a group of their own, fed, listened to,
//! and ended with everything they started.

pub(crate) mod group;
pub(crate) mod holder;
pub(crate) mod ledger;
mod pipe;
mod program;
mod raw;
mod workspace;

pub(crate) use program::{find as find_program, has_file};
pub(crate) use workspace::Workspace;

use crate::agent::Options;
use crate::invocation::{GUARD, Invocation};
use crate::timer::{Limit, Timer};
use althing_stdx::{Fault, Kind, Result};
use group::{Exit, Group, Started};
use holder::Leash;
use ledger::Entry;
use pipe::{Feed, Pipe};
use raw::Raw;
use std::io::PipeReader;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// An agent that runs. Dropping it ends its whole group at once.
pub(crate) struct Running {
    stdin: Feed<ChildStdin>,
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
    exit: oneshot::Receiver<Exit>,
    ended: Option<Ended>,
    timer: Timer,
    _group: Group,
}

/// What an agent does.
#[derive(Debug)]
pub(crate) enum Event {
    /// Lines of standard output.
    Output(Vec<String>),
    /// Lines of standard error.
    Errors(Vec<String>),
    /// Its end; nothing comes after it.
    Ended(Ended),
}

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Exit(i32),
    Signal(i32),
    /// By us: a limit of its time.
    Late(Limit),
    /// By us: there was nothing more to hope for.
    Stopped,
}

impl Running {
    /// Starts it. Only inside a runtime.
    pub(crate) fn start(
        invocation: Invocation,
        workspace: Workspace,
        options: &Options,
    ) -> Result<Running> {
        let entry = Entry::open(&options.ledger, workspace.temporary())?;
        let (mut command, held) = command(&invocation, &workspace, &entry)?;
        let (leash, line) = held.unzip();
        let started = Group::spawn(&mut command, leash, entry, workspace);
        // The holder has its own by now.
        drop(line);
        let Started { group, exit, stdin, stdout, stderr } = started.map_err(failed)?;
        // While it comes up; where it cannot be kept, the group ends here.
        let raw = raw::start(options.raw.as_deref())?;
        let raw = raw.as_deref();
        let (out, err) = (Raw::open(raw, "stdout.txt")?, Raw::open(raw, "stderr.txt")?);
        Ok(Running {
            stdin: Feed::new(stdin, invocation.input).map_err(failed)?,
            stdout: Pipe::new(ChildStdout::from_std(stdout).map_err(failed)?, out),
            stderr: Pipe::new(ChildStderr::from_std(stderr).map_err(failed)?, err),
            exit,
            ended: None,
            timer: Timer::new(options.limits, Instant::now()),
            _group: group,
        })
    }

    /// What happens next. Both pipes are read whatever the other does, so it never waits to write.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            if let Some(ended) = self.ended.filter(|_| self.is_drained()) {
                return Event::Ended(ended);
            }
            let (at, limit) = self.timer.next();
            tokio::select! {
                lines = self.stdout.lines() => match lines.is_empty() {
                    // Half a line is a sign of life too.
                    true => self.progress(),
                    false => return Event::Output(lines),
                },
                lines = self.stderr.lines() => match lines.is_empty() {
                    true => self.progress(),
                    false => return Event::Errors(lines),
                },
                () = self.stdin.write() => {}
                exit = &mut self.exit, if self.ended.is_none() => {
                    self.ended = Some(exit.map_or(Ended::Stopped, Ended::from));
                    self.stdin.close();
                    self.timer.ended(Instant::now());
                }
                () = sleep_until(at) => if let Some(event) = self.reached(limit) {
                    return event;
                },
            }
        }
    }

    /// Something new was said.
    pub(crate) fn progress(&mut self) {
        self.timer.heard(Instant::now());
    }

    /// Whether all it said last is that it tries again.
    pub(crate) fn tries(&mut self, is_trying: bool) {
        self.timer.tries(is_trying);
    }

    /// The answer is whole: it may leave.
    pub(crate) fn answered(&mut self) {
        self.timer.answered(Instant::now());
    }

    fn is_drained(&self) -> bool {
        self.stdout.is_closed() && self.stderr.is_closed()
    }

    fn reached(&mut self, limit: Limit) -> Option<Event> {
        if limit != Limit::Draining {
            return Some(Event::Ended(Ended::Late(limit)));
        }
        // Something holds the pipes; what the agent itself wrote has been read.
        self.stderr.close();
        let lines = self.stdout.close();
        (!lines.is_empty()).then_some(Event::Output(lines))
    }
}

impl From<Exit> for Ended {
    fn from(exit: Exit) -> Ended {
        match exit {
            Exit::Code(code) => Ended::Exit(code),
            Exit::Signal(signal) => Ended::Signal(signal),
        }
    }
}

fn command(
    invocation: &Invocation,
    workspace: &Workspace,
    entry: &Entry,
) -> Result<(Command, Option<(Leash, PipeReader)>)> {
    let path = invocation.environment.get("PATH").map(String::as_str).unwrap_or_default();
    let program = program::find(&invocation.program, path)?;
    let (mut command, held) = holder::command(&program).map_err(failed)?;
    command.args(&invocation.arguments).current_dir(workspace.path());
    command.env_clear().envs(&invocation.environment).env(GUARD, entry.id());
    let is_fed = !invocation.input.is_empty();
    command.stdin(if is_fed { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    Ok((command, held))
}

fn failed(error: std::io::Error) -> Fault {
    Fault::new(Kind::Upstream, format!("cannot be started: {error}"))
}
