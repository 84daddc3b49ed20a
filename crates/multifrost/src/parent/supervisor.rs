//! What keeps a worker there: a process that is watched, or a service that is looked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::heartbeat;
use super::options::{Options, Stream};
use super::shared::Shared;
use crate::error::{Error, Exit};
use crate::limits::{CONNECT_PAUSE, EXIT_MAX, LAST_WORDS_MAX};
use crate::process::{self, Lines, Process, Program};
use crate::registry::Registry;
use crate::socket::{self, Link, Server, Terms};
use crate::wait;
use crate::zmtp::Role;
use rustix::process::Signal;

/// How long one look at a process takes; it is looked at until it ends.
const WATCH: Duration = Duration::from_secs(3600);

/// What is told of a connection that is not the worker's.
const STRANGER: &str = "refused a connection from a process that is not of the worker's group";

#[derive(Debug)]
pub(super) enum Worker {
    Spawned { server: Server, process: Current },
    Service,
}

/// The process there is now; after a restart it is another.
type Current = Arc<Mutex<Arc<Process>>>;

fn now(current: &Current) -> Arc<Process> {
    current.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Worker {
    /// Listens, and then starts the program that connects.
    pub(super) fn spawn(shared: &Arc<Shared>, program: Program) -> Result<Worker, Error> {
        let options = &shared.options;
        let bound = Server::bind(options.ip, 0);
        let (server, listening) =
            bound.map_err(|error| Error::system("cannot listen for the worker", error))?;
        if !options.ip.is_loopback() {
            let warning = "listening beyond this machine: whoever reaches it can answer calls";
            shared.tell(Stream::Err, warning);
        }
        let port = server.port();
        let process = start_process(shared, &program, port)?;
        let current: Current = Arc::new(Mutex::new(process));
        let worker = Worker::Spawned { server, process: current.clone() };
        let (serving, processes) = (shared.clone(), current.clone());
        let is_told = AtomicBool::new(false);
        let serve = move |link: Arc<Link>, inbox| {
            if is_ours(&serving, &processes, &link) {
                return serving.serve(&link, inbox, |why| reason(&serving, &processes, why));
            }
            link.cut();
            // Once: it may try again and again.
            if !is_told.swap(true, Ordering::SeqCst) {
                serving.tell(Stream::Err, STRANGER);
            }
        };
        let terms = terms(options);
        let started = start(move || listening.run(terms, serve)).and_then(|()| {
            start_heartbeat(shared, &current)?;
            let shared = shared.clone();
            start(move || supervise(&shared, &current, &program, port))
        });
        if started.is_err() {
            worker.end(Duration::ZERO);
        }
        started.map(|()| worker)
    }

    /// Looks for the service until the stop, and connects whenever it is there.
    pub(super) fn connect(shared: &Arc<Shared>, service: &str) -> Result<Worker, Error> {
        let registry = match &shared.options.registry {
            Some(registry) => registry.clone(),
            None => Registry::of_home()?,
        };
        let (shared, service) = (shared.clone(), service.to_string());
        start(move || seek(&shared, &service, &registry))?;
        Ok(Worker::Service)
    }

    /// Whether it ends with its parent.
    pub(super) fn is_ours(&self) -> bool {
        matches!(self, Worker::Spawned { .. })
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        match self {
            Worker::Spawned { process, .. } => now(process).id(),
            Worker::Service => None,
        }
    }

    pub(super) fn end(&self, grace: Duration) {
        if let Worker::Spawned { server, process } = self {
            server.close();
            process::end(&now(process), grace);
        }
    }
}

fn start_heartbeat(shared: &Arc<Shared>, current: &Current) -> Result<(), Error> {
    let Some(beat) = shared.options.heartbeat else { return Ok(()) };
    let (shared, current) = (shared.clone(), current.clone());
    start(move || heartbeat::run(&shared, beat, || hangs(&shared, &current)))
}

fn start_process(
    shared: &Arc<Shared>,
    program: &Program,
    port: u16,
) -> Result<Arc<Process>, Error> {
    // Weak: what reads a process's output must not keep its parent.
    let (token, shared) = (shared.options.token.clone(), Arc::downgrade(shared));
    let lines: Lines = Arc::new(move |is_error, line| {
        if let Some(shared) = shared.upgrade() {
            shared.tell(if is_error { Stream::Err } else { Stream::Out }, line);
        }
    });
    let started = Process::start(program, port, token.as_ref(), &lines);
    started.map_err(|error| Error::system(&format!("cannot start the worker {program}"), error))
}

fn terms(options: &Options) -> Terms {
    Terms { role: Role::Dealer, message_bytes_max: options.message_bytes_max }
}

/// Whether a connection is to the process that was started, or to one that it has started: another
/// may be quicker, and would get its calls and what it is to know.
fn is_ours(shared: &Shared, current: &Current, link: &Link) -> bool {
    if !shared.options.is_worker_checked {
        return true;
    }
    link.ends().is_ok_and(|(ours, theirs)| now(current).has_end(theirs, ours))
}

/// Why a connection to a process of ours ended. What the process has said is told before.
fn reason(shared: &Shared, current: &Current, why: String) -> Error {
    let exit = now(current).ended(EXIT_MAX);
    shared.teller.flush(LAST_WORDS_MAX);
    exit.map_or(Error::Disconnected(why), Error::Exited)
}

/// A process that gives no sign of life is ended if another may take its place.
fn hangs(shared: &Shared, current: &Current) {
    if shared.options.restart.is_some() {
        now(current).signal(Signal::KILL);
    }
}

/// Waits for the end of the process, and starts it again as often as is allowed.
fn supervise(shared: &Arc<Shared>, current: &Current, program: &Program, port: u16) {
    let mut attempts = 0;
    loop {
        let began = wait::now();
        let exit = watch(current);
        if let Some(link) = shared.link_now() {
            link.cut();
        }
        let over = Error::Exited(exit);
        shared.teller.flush(LAST_WORDS_MAX);
        shared.fail_all(&over);
        let Some(restart) = shared.options.restart else { return shared.over(over) };
        if began.elapsed() >= restart.sound_after {
            attempts = 0;
        }
        if attempts >= restart.attempts_max {
            return shared.over(over);
        }
        if shared.pause(restart.pause_after(attempts)) {
            return;
        }
        attempts += 1;
        // Whoever asks whose a connection is waits until it is known which process is meant.
        let mut process = current.lock().unwrap_or_else(PoisonError::into_inner);
        match start_process(shared, program, port) {
            Ok(started) => {
                *process = started;
                drop(process);
                // The stop may have come between the two, and ended only the old one.
                if shared.is_stopping() {
                    return now(current).signal(Signal::KILL);
                }
            }
            Err(error) => {
                drop(process);
                return shared.over(error);
            }
        }
    }
}

fn watch(current: &Current) -> Exit {
    let process = now(current);
    loop {
        if let Some(exit) = process.ended(WATCH) {
            return exit;
        }
    }
}

fn seek(shared: &Shared, service: &str, registry: &Registry) {
    let mut was_there = false;
    loop {
        let found = registry.find(service);
        let connected = found.and_then(|it| socket::connect(it.port, terms(&shared.options)).ok());
        let is_there = match connected {
            Some((link, inbox)) => {
                was_there = true;
                shared.serve(&link, inbox, Error::Disconnected);
                // It may have ended this connection only.
                registry.find(service).is_some()
            }
            None => false,
        };
        if was_there && !is_there {
            shared.lose(Error::NoService(service.into()));
        }
        if shared.pause(CONNECT_PAUSE) {
            return;
        }
    }
}

fn start(run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let thread = thread::Builder::new().name("multifrost-parent".into());
    thread.spawn(run).map(drop).map_err(|error| Error::system("cannot start a thread", error))
}
