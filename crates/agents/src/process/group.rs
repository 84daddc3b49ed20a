//! A process group: a child and all that it starts, ended together. The child is waited for on a
//! thread that leaves it unreaped as long as its number is needed, so no other group can be hit.

use super::Workspace;
use super::holder::Leash;
use super::ledger::Entry;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// How long the end of agents that were ended is waited for; what is left then is swept by the
/// next program.
const SETTLE_MAX: Duration = Duration::from_secs(5);

/// How many groups are not wholly gone.
static LIVING: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Waits until nothing is left of any agent of this process: no process, note or folder. For the
/// end of a program that has dropped all its agents.
pub async fn settle() {
    let mut living = LIVING.subscribe();
    // Neither a late end nor a sender that cannot go away is anything to be told.
    let _ = timeout(SETTLE_MAX, living.wait_for(|count| *count == 0)).await;
}

/// A group that is counted.
struct Living;

impl Living {
    fn new() -> Living {
        LIVING.send_modify(|count| *count += 1);
        Living
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        LIVING.send_modify(|count| *count -= 1);
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
}

/// A child that was started, with its end and its pipes.
pub(super) struct Started {
    pub group: Group,
    pub exit: oneshot::Receiver<Exit>,
    pub stdin: Option<ChildStdin>,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// Dropping it ends the group. That is synchronous on purpose: it needs no runtime, and works in a
/// panic too.
#[derive(Debug)]
pub(super) struct Group {
    pid: Pid,
    /// Where there is a holder it ends everything once this is gone.
    leash: Option<Leash>,
    /// Dropped after the group was ended: then the child may be reaped.
    _held: Sender<()>,
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.leash.take().is_none() {
            // Gone already is fine.
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }
}

impl Group {
    /// Starts `command`, whose outputs are piped and whose group is its own. `entry` and
    /// `workspace` last as long as the group.
    pub(super) fn spawn(
        command: &mut Command,
        leash: Option<Leash>,
        mut entry: Entry,
        workspace: Workspace,
    ) -> io::Result<Started> {
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
        let (held, released) = channel();
        let group = Group { pid, leash, _held: held };
        let stdin = child.stdin.take();
        let pipes = child.stdout.take().zip(child.stderr.take());
        let (stdout, stderr) = pipes.ok_or(io::ErrorKind::InvalidInput)?;
        let noted = entry.started(child.id());
        let (tell, exit) = oneshot::channel();
        let living = Living::new();
        let reap = move || {
            // Nobody has to be there any more to hear of it.
            let _ = tell.send(wait(pid));
            end(pid, child, &released);
            entry.end_strays();
            drop((workspace, entry, living));
        };
        thread::Builder::new().name("agent".into()).spawn(reap)?;
        noted?;
        Ok(Started { group, exit, stdin, stdout, stderr })
    }
}

/// Waits for the end of the child without reaping it.
fn wait(pid: Pid) -> Exit {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => return exit(&status),
            Err(Errno::INTR) => {}
            // There is nothing to wait for.
            Ok(None) | Err(_) => return Exit::Code(0),
        }
    }
}

fn exit(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

/// Ends what is left of the group once nobody listens to it any more, then reaps the child.
fn end(pid: Pid, mut child: Child, released: &Receiver<()>) {
    // An error is the release: nothing is ever sent.
    let _ = released.recv();
    // The group may be empty by now.
    let _ = kill_process_group(pid, Signal::KILL);
    // It has ended, so this does not wait.
    let _ = child.wait();
}
