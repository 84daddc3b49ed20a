//! A runner's process: started, waited for until it can be asked, ended with its whole group.

use super::Options;
use super::place::Place;
use super::program::{Program, Wanted};
use super::tail::Tail;
use althing_stdx::{Fault, Kind, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin};
use tokio::time::{sleep, timeout};

/// A model that is not loaded by then is given up.
const START_MAX: Duration = Duration::from_secs(120);
/// How often a runner that is loading is asked whether it is done.
const POLL: Duration = Duration::from_millis(25);
/// A runner that does not answer such a question in this time is asked again.
const HEALTH_WAIT: Duration = Duration::from_secs(2);
const HEALTH: &[u8] = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const HEALTHY: &[u8] = b"HTTP/1.1 200";

/// A runner that can be asked. Dropping it ends it and all it started, and removes its folder.
#[derive(Debug)]
pub(super) struct Process {
    group: Pid,
    place: Place,
    /// Closing it is how our own runner and the guard learn that we are gone.
    _stdin: Option<ChildStdin>,
}

impl Process {
    /// Starts a runner and waits until it is ready. Dropping the future ends it.
    pub(super) async fn start(options: &Options, wanted: &Wanted<'_>) -> Result<(Process, Child)> {
        let model = wanted.model;
        let program = Program::find(options)?;
        let place = Place::new(options)?;
        let command = &mut program.command(options, wanted, &place.socket());
        let spawned = command.spawn();
        let name = program.name();
        let mut child = spawned.map_err(|error| failed(format!("cannot start {name}: {error}")))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.ok_or_else(|| failed(format!("{name} ended at once")))?;
        let tail = Tail::of(child.stderr.take());
        let process = Process { group, place, _stdin: child.stdin.take() };
        match timeout(START_MAX, process.ready(&mut child)).await {
            Ok(true) => Ok((process, child)),
            Ok(false) => {
                Err(failed(format!("{name} cannot load {}: {}", shown(model), tail.why().await)))
            }
            Err(_) => {
                let text = format!("{name} did not load {} within {START_MAX:?}", shown(model));
                Err(failed(text))
            }
        }
    }

    /// Whether it came so far; false: it ended.
    async fn ready(&self, child: &mut Child) -> bool {
        loop {
            tokio::select! {
                _ = child.wait() => return false,
                healthy = self.is_healthy() => if healthy { return true },
            }
            sleep(POLL).await;
        }
    }

    async fn is_healthy(&self) -> bool {
        let asked = async {
            let mut stream = UnixStream::connect(self.place.socket()).await?;
            stream.write_all(HEALTH).await?;
            let mut status = [0; HEALTHY.len()];
            stream.read_exact(&mut status).await?;
            Ok::<_, std::io::Error>(status == *HEALTHY)
        };
        timeout(HEALTH_WAIT, asked).await.is_ok_and(|asked| asked.unwrap_or(false))
    }

    /// Whether anybody listens. The socket of a process that died refuses at once.
    pub(super) async fn listens(&self) -> bool {
        let connected = timeout(HEALTH_WAIT, UnixStream::connect(self.place.socket())).await;
        connected.is_ok_and(|connected| connected.is_ok())
    }

    pub(super) fn url(&self) -> String {
        format!("{}/v1", althing_gateway::unix_url(&self.place.socket()))
    }
}

impl Drop for Process {
    /// Synchronous on purpose: it needs no runtime, and takes along what the runner started.
    fn drop(&mut self) {
        // Gone already is fine.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

/// Loading it again would fail again, so this is no kind that is tried again.
fn failed(text: String) -> Fault {
    Fault::new(Kind::Upstream, text)
}

fn shown(model: &Path) -> String {
    model.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
