//! What ends the group of a worker when this process does not live to do it: a shell that waits for
//! the end of a pipe which only this process holds. The system closes that however this process ends.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::Pid;

/// It needs no program but itself, so it works with an empty environment.
const SHELL: &str = "/bin/sh";
/// The first line names the group; then nothing comes. Signals to whatever it was started with are
/// not for it.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r group || exit; read -r nothing; \
                      kill -s KILL -- \"-$group\"";
/// What it is called in a list of processes.
const NAME: &str = "multifrost-watchdog";

/// Ends a group if this process ends without dropping it. It must be dropped before the leader of the
/// group is reaped: then the number may be another's.
#[derive(Debug)]
pub(super) struct Watchdog {
    shell: Child,
    pipe: ChildStdin,
}

impl Watchdog {
    /// Starts it, before there is anything to be ended.
    pub(super) fn start() -> io::Result<Watchdog> {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(SHELL);
        command.args(["-c", SCRIPT, NAME]).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn()?;
        let pipe = shell.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Watchdog { shell, pipe })
    }

    /// From now on it is there for this group.
    pub(super) fn guard(&mut self, group: Pid) -> io::Result<()> {
        writeln!(self.pipe, "{}", group.as_raw_nonzero())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // It may have been ended by somebody else.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
