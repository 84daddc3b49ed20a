//! What keeps one case from holding up all others: a bound on its time, and children that hear
//! every signal.

use std::path::Path;
use std::process::Command;
use std::sync::Once;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// A case that takes longer hangs: the longest, a discussion of a real model, takes three minutes on
/// an idle machine.
const CASE_TIME_MAX: Duration = Duration::from_secs(30 * 60);
/// The same for the full size.
const SOAK_TIME_MAX: Duration = Duration::from_secs(2 * 60 * 60);
/// How long a case may take to fail once its processes are killed.
const FAIL_TIME_MAX: Duration = Duration::from_secs(60);
/// Signals that a caller may ignore, such as `nohup` does, and their places in the system's mask.
const SIGNALS: &[(SignalKind, u32)] = &[
    (SignalKind::hangup(), 1),
    (SignalKind::interrupt(), 2),
    (SignalKind::quit(), 3),
    (SignalKind::terminate(), 15),
];

/// Ends a case that hangs: the processes in its home are killed, so that it fails; where it hangs
/// all the same, the whole suite ends and names it.
#[derive(Debug)]
pub struct CaseBound {
    /// Dropped with the home, which tells the thread that the case is over.
    _is_running: Sender<()>,
}

impl CaseBound {
    /// Starts the time of the case that runs on this thread.
    pub fn start(home: &Path) -> CaseBound {
        let limit = if super::is_soak() { SOAK_TIME_MAX } else { CASE_TIME_MAX };
        CaseBound::start_with(home, limit)
    }

    fn start_with(home: &Path, limit: Duration) -> CaseBound {
        let (is_running, is_over) = mpsc::channel();
        let case = std::thread::current().name().unwrap_or("a case").to_string();
        let home = home.to_path_buf();
        std::thread::spawn(move || {
            if is_over.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            println!("{case} did not end within {} s; its processes are killed", limit.as_secs());
            kill_all(&home);
            if is_over.recv_timeout(FAIL_TIME_MAX) == Err(RecvTimeoutError::Timeout) {
                println!("{case} does not end without them either, so this suite ends here");
                std::process::exit(101);
            }
        });
        CaseBound { _is_running: is_running }
    }
}

fn kill_all(home: &Path) {
    for (id, command) in super::processes_in(home) {
        println!("  {id}: {command}");
        // It may have ended by itself.
        let _ = Command::new("kill").args(["-KILL", &id]).status();
    }
}

/// Gives the children of this process the default action for signals that it was started to ignore.
/// A signal that is ignored stays so in children; one that has a handler does not. Once is enough.
pub fn reset_ignored_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = ignored_signals(&status);
        // On a thread of its own: the caller's may be one of another runtime.
        let handle = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
            let _guard = runtime.enter();
            for (kind, _) in SIGNALS.iter().filter(|(_, number)| ignored >> (number - 1) & 1 == 1) {
                // The handler stays; this process ignores the signal as before.
                drop(signal(*kind).unwrap());
            }
        };
        std::thread::spawn(handle).join().unwrap();
    });
}

/// The mask of ignored signals in the system's account of a process.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(mask.unwrap_or("0").trim(), 16).unwrap()
}

#[test]
fn a_case_that_hangs_loses_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sleep");
    let mut child = command.arg("3600").env("HOME", folder.path()).spawn().unwrap();
    let bound = CaseBound::start_with(folder.path(), Duration::ZERO);
    assert_eq!(child.wait().unwrap().code(), None, "it was killed");
    drop(bound);
}

/// Started by a shell that ignores SIGHUP, as `nohup` does.
#[test]
fn children_hear_signals_that_the_caller_ignores() {
    let test = std::env::current_exe().unwrap();
    let case = "harness::bound::a_child_hears_a_hangup";
    let shell = format!("trap '' HUP; exec '{}' --exact {case} --ignored", test.display());
    let output = Command::new("sh").args(["-c", &shell]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "a part of the test above"]
fn a_child_hears_a_hangup() {
    reset_ignored_signals();
    let mut child = Command::new("sleep").arg("30").spawn().unwrap();
    super::signal(&child, "HUP");
    assert_eq!(child.wait().unwrap().code(), None, "it ignored SIGHUP");
}
