//! A child's process: it and all that it starts are one group, and end together, with this process
//! at the latest.

mod drain;
mod owner;
mod watchdog;

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use std::{fmt, io};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::watch;

use crate::error::Exit;
use crate::limits::LAST_WORDS_MAX;
use crate::token::{self, Token};
use crate::wait::block_on;
use drain::Tail;
use watchdog::Watchdog;

/// How the names of Python's interpreters begin, and what their library wants to hear.
const PYTHONS: &[&str] = &["python", "pypy"];
const WORKER_FLAG: &str = "--worker";

/// What is started to be a child.
#[derive(Clone)]
pub struct Program {
    executable: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    is_bare: bool,
    folder: Option<PathBuf>,
    name: String,
}

/// The values of variables may be keys.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        let mut debug = f.debug_struct("Program");
        debug.field("executable", &self.executable).field("arguments", &self.arguments);
        debug.field("variables", &names).field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// What is started, and where: either may be what is missing.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.executable.display())?;
        self.folder.as_ref().map_or(Ok(()), |folder| write!(f, " in '{}'", folder.display()))
    }
}

impl Program {
    /// A program that is a worker itself.
    pub fn new(executable: impl Into<PathBuf>) -> Program {
        let executable = executable.into();
        let name = file_name(&executable);
        Program {
            executable,
            arguments: vec![],
            variables: vec![],
            is_bare: false,
            folder: None,
            name,
        }
    }

    /// A script and what runs it, with [`Program::worker_flag`].
    pub fn script(executable: impl Into<PathBuf>, script: impl Into<PathBuf>) -> Program {
        let script = script.into();
        let name = file_name(&script);
        Program { name, ..Program::new(executable).argument(script) }.worker_flag()
    }

    /// What tells a program that it is a worker, behind the arguments so far, if it has to be told
    /// and was not: Python's library wants that.
    pub fn worker_flag(self) -> Program {
        let name = file_name(&self.executable);
        let is_python = PYTHONS.iter().any(|it| name.starts_with(it));
        let is_told = self.arguments.iter().any(|it| it == WORKER_FLAG);
        if is_python && !is_told { self.argument(WORKER_FLAG) } else { self }
    }

    /// One more argument.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Program {
        self.arguments.push(argument.into());
        self
    }

    /// A variable of its environment, beside those of this process.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Program {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// It gets nothing of this process's environment: only its own variables.
    pub fn bare(mut self) -> Program {
        self.is_bare = true;
        self
    }

    /// Where it starts; where this process is, if nothing is said.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Program {
        self.folder = Some(folder.into());
        self
    }

    /// What its output is labelled with: the script's or the program's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, port: u16, token: Option<&Token>) -> Command {
        let mut command = Command::new(&self.executable);
        command.args(&self.arguments);
        if self.is_bare {
            command.env_clear();
        }
        // Else Python keeps what is printed until there is much of it, or loses it in a crash.
        command.env("PYTHONUNBUFFERED", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("COMLINK_ZMQ_PORT", port.to_string()).env("COMLINK_WORKER_MODE", "1");
        if let Some(token) = token {
            command.env(token::VARIABLE, token.for_port(port));
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        command
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(OsStr::new("worker")).to_string_lossy().into_owned()
}

/// What is to be done with a line that a process prints; the flag is for standard error.
pub(crate) type Lines = Arc<dyn Fn(bool, &str) + Send + Sync>;

/// A process that was started.
pub(crate) struct Process {
    /// Until it is reaped; then its number may be another's.
    group: Mutex<Option<Pid>>,
    exit: watch::Sender<Option<Exit>>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({:?})", self.lock())
    }
}

impl Process {
    /// Starts it, reads all that it prints, and waits for its end.
    pub(crate) fn start(
        program: &Program,
        port: u16,
        token: Option<&Token>,
        lines: &Lines,
    ) -> io::Result<Arc<Process>> {
        // Before it, so that there is no moment at which nobody would end it.
        let watchdog = Watchdog::start();
        let mut child = program.command(port, token).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
        let watchdog = watchdog.and_then(|mut it| it.guard(pid).map(|()| it));
        if let Err(error) = &watchdog {
            lines(
                true,
                &format!("if this process is killed, the worker stays: no /bin/sh: {error}"),
            );
        }
        let process =
            Arc::new(Process { group: Mutex::new(Some(pid)), exit: watch::Sender::new(None) });
        let tail = Arc::new(Tail::default());
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let (lines, lines_err) = (lines.clone(), lines.clone());
        let (watching, last) = (process.clone(), tail.clone());
        let watch = move || watching.watch(child, pid, watchdog.ok(), &last);
        let started = start(watch)
            .and_then(|()| start(move || drain::read(out, |line| lines(false, line))))
            .and_then(|()| start(move || read_errors(err, &tail, &lines_err)));
        if let Err(error) = started {
            process.signal(Signal::KILL);
            return Err(error);
        }
        Ok(process)
    }

    /// Waits for the end, and takes what is left of the group along before the number is free.
    fn watch(&self, mut child: Child, pid: Pid, watchdog: Option<Watchdog>, tail: &Tail) {
        // An error means that there is nothing to wait for.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let status = {
            let mut group = self.lock();
            if let Some(pid) = group.take() {
                // The group may be empty by now.
                let _ = kill_process_group(pid, Signal::KILL);
            }
            drop(watchdog);
            child.wait()
        };
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        tail.wait(LAST_WORDS_MAX);
        self.exit.send_replace(Some(Exit { status, stderr: tail.lines() }));
    }

    /// A signal to the whole group, if it is still there.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.lock() {
            // It may be about to end by itself.
            let _ = kill_process_group(pid, signal);
        }
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.lock().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
    }

    /// Whether a connection is to a process of the group; it may be where nobody knows.
    pub(crate) fn has_end(&self, theirs: SocketAddr, ours: SocketAddr) -> bool {
        self.lock().is_some_and(|group| owner::has_end(group, theirs, ours).unwrap_or(true))
    }

    /// How it ended, if it does within `max`.
    pub(crate) fn ended(&self, max: Duration) -> Option<Exit> {
        let mut exit = self.exit.subscribe();
        let ended = block_on(exit.wait_for(Option::is_some), max)?;
        ended.ok().and_then(|exit| exit.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pid>> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("multifrost-process".into()).spawn(run).map(drop)
}

fn read_errors(from: Option<ChildStderr>, tail: &Tail, lines: &Lines) {
    drain::read(from, |line| {
        tail.keep(line);
        lines(true, line);
    });
    tail.close();
}

/// Asks it to end, then insists: each step has `grace`.
pub(crate) fn end(process: &Process, grace: Duration) -> Option<Exit> {
    let steps = [None, Some(Signal::TERM), Some(Signal::KILL)];
    steps.into_iter().find_map(|step| {
        step.into_iter().for_each(|signal| process.signal(signal));
        process.ended(grace)
    })
}

#[cfg(test)]
#[test]
fn s8_8_s8_9_s10_1_4_s37_2_only_python_is_told_by_an_argument_that_it_is_a_worker() {
    let said = |program: Program| {
        let command = program.command(5555, Some(&Token::new("secret")));
        let arguments = command.get_args().map(|it| it.to_string_lossy().into_owned());
        let variables = command.get_envs().filter_map(|(name, value)| {
            Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy()))
        });
        (arguments.collect::<Vec<_>>().join(" "), variables.collect::<Vec<_>>().join(" "))
    };
    let variables = "COMLINK_TOKEN=5555:secret COMLINK_WORKER_MODE=1 COMLINK_ZMQ_PORT=5555 \
                     PYTHONUNBUFFERED=1";
    for (program, arguments) in [
        (Program::script("/usr/bin/python3.12", "a.py"), "a.py --worker"),
        (Program::script("pypy3", "a.py"), "a.py --worker"),
        (Program::script("node", "a.mjs"), "a.mjs"),
        (Program::new("worker"), ""),
        (Program::new("worker").worker_flag(), ""),
        (Program::new("python3").argument("-m").argument("a").worker_flag(), "-m a --worker"),
        (Program::new("python3").argument("--worker").argument("b").worker_flag(), "--worker b"),
        (Program::script("python3", "a.py").worker_flag(), "a.py --worker"),
    ] {
        assert_eq!(said(program), (arguments.to_string(), variables.to_string()));
    }
}

#[cfg(test)]
#[test]
fn a_program_does_not_print_the_values_of_its_variables() {
    let program = Program::new("worker").variable("KEY", "a-secret");
    let printed = format!("{program:?}");
    assert!(printed.contains("KEY") && !printed.contains("a-secret"), "{printed}");
}
