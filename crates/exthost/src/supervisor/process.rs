//! The process of an extension: it and all that it starts are one group, and end together. What
//! leaves the group is known by a mark in its environment, and ends too.

mod environment;
mod output;

use crate::extension::{Extension, FEED_MAX, Notice};
use crate::lifecycle::Input;
use crate::log::{Level, Source};
use crate::record::Tap;
use crate::serve::Session;
use crate::shared::Shared;
use althing_jsonrpc::{ContentLength, Ended, Options, Peer, WhenFull, connect};
use althing_stdx::strays;
use output::{Lent, drain, log_stderr};
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until, timeout};

/// How long a process whose connection is over has to end by itself before that counts as a crash:
/// usually it is about to, and its exit code says more.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// How long the last words of a dead process are waited for: one that left its group may hold the
/// pipe open.
const LAST_WORDS_MAX: Duration = Duration::from_millis(200);
/// Lines of them in a reason.
const LAST_WORDS_LINES: usize = 3;

/// Marks what a process starts, wherever that goes.
const MARK: &str = "ALTHING_EXTENSION";

/// Requests of an extension at work, and bytes of their parameters together; beyond either one more is
/// refused. An extension that sends all it wants before it reads an answer stays far below.
const REQUESTS_MAX: usize = 4_096;
const REQUESTS_BYTES_MAX: usize = 32 << 20;
/// Bytes that wait for an extension to read; beyond them its answers wait.
const OUTBOX_BYTES_MAX: usize = 4 << 20;
/// Beyond these an extension that asks but does not read is given up. More than the longest answer.
const OUTBOX_BYTES_HARD_MAX: usize = 64 << 20;
/// Frames in a row that are no messages; one more and the extension is given up.
const BROKEN_MAX: usize = 32;

/// Ends what is left of extensions whose host was killed and could not end them.
pub(crate) fn sweep() {
    strays::sweep(MARK);
}

pub(super) struct Process {
    child: Child,
    group: Pid,
    mark: String,
    shared: Arc<Shared>,
    extension: Arc<Extension>,
    data_dir: PathBuf,
    peer: Peer,
    /// Until it has ended.
    connection: Option<JoinHandle<Ended>>,
    /// When an ended connection counts as a crash, and why.
    lost: Option<(Instant, String)>,
    stdout: Option<oneshot::Receiver<ChildStdout>>,
    stderr: JoinHandle<()>,
    tasks: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts an extension; the second part is where its notifications go.
    pub(super) fn start(
        shared: &Arc<Shared>,
        extension: &Arc<Extension>,
    ) -> Result<(Process, mpsc::Sender<Notice>), String> {
        let (mut command, data_dir) = environment::command(shared, extension)?;
        let mark = strays::owned(fastrand::u128(..));
        command.env(MARK, &mark);
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let mut child =
            command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.ok_or_else(|| format!("{program} ended at once"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(format!("{program} has no pipes"));
        };
        let (stdout, back) = Lent::new(stdout);
        let framing = Tap {
            framing: ContentLength::new(extension.entry.frame_bytes_max, true),
            recorder: shared.recorder.clone(),
            extension: extension.id.clone(),
            started: shared.started,
        };
        let session = Session { shared: shared.clone(), extension: extension.clone() };
        let (peer, connection) = connect(stdout, stdin, framing, session, options());
        let (feed, fed) = mpsc::channel(FEED_MAX);
        let process = Process {
            child,
            group,
            mark,
            shared: shared.clone(),
            extension: extension.clone(),
            data_dir,
            connection: Some(tokio::spawn(connection)),
            lost: None,
            stdout: Some(back),
            stderr: tokio::spawn(log_stderr(stderr, shared.clone(), extension.clone())),
            tasks: vec![tokio::spawn(feed_peer(peer.clone(), fed))],
            peer,
        };
        Ok((process, feed))
    }

    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(super) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// What happens to it next. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Input {
        loop {
            let lost = self.lost.clone();
            let lost_at = async {
                match lost {
                    Some((at, why)) => {
                        sleep_until(at).await;
                        why
                    }
                    None => std::future::pending().await,
                }
            };
            let ended = async {
                match &mut self.connection {
                    Some(connection) => connection.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                status = self.child.wait() => return Input::Gone(self.how(status.ok()).await),
                ended = ended => self.disconnected(ended),
                why = lost_at => {
                    self.lost = None;
                    return Input::Lost(why);
                }
            }
        }
    }

    /// How it ended, with its last words. What is left of its group ends now.
    async fn how(&mut self, status: Option<ExitStatus>) -> String {
        self.kill();
        // Lasts until the pipe closes, or not; both are fine.
        let _ = timeout(LAST_WORDS_MAX, &mut self.stderr).await;
        let mut how = environment::exit(status);
        let words = self.extension.status().log.last_words(LAST_WORDS_LINES);
        if !words.is_empty() {
            how = format!("{how}: {}", words.join(" | "));
        }
        how
    }

    fn disconnected(&mut self, ended: Result<Ended, JoinError>) {
        self.connection = None;
        if let Some(back) = self.stdout.take() {
            let (shared, extension) = (self.shared.clone(), self.extension.clone());
            self.tasks.push(tokio::spawn(drain(back, shared, extension)));
        }
        match ended {
            Ok(Ended::Closed) => {}
            Ok(ended) => {
                self.shared.log(
                    &self.extension,
                    Source::Host,
                    Level::Warning,
                    &format!("the connection is over: {ended}"),
                );
                self.lost = Some((Instant::now() + EXIT_GRACE, ended.to_string()));
            }
            Err(_) => self.lost = Some((Instant::now(), "the host failed to serve it".into())),
        }
    }

    /// Ends its input; its output is read on.
    pub(super) fn close_stdin(&mut self) {
        self.peer.close();
    }

    pub(super) fn terminate(&self) {
        // Gone already is fine.
        let _ = kill_process_group(self.group, Signal::TERM);
    }

    pub(super) fn kill(&self) {
        // Gone already is fine.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

impl Drop for Process {
    /// Synchronous on purpose: it needs no runtime.
    fn drop(&mut self) {
        self.kill();
        strays::end(MARK, &self.mark);
        self.stderr.abort();
        self.connection.iter().for_each(JoinHandle::abort);
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn options() -> Options {
    let mut options = Options::peer();
    options.when_full = WhenFull::Refuse { outbox_bytes_hard_max: OUTBOX_BYTES_HARD_MAX };
    options.null_params = true;
    options.batches = true;
    options.limits.requests_max = REQUESTS_MAX;
    options.limits.requests_bytes_max = REQUESTS_BYTES_MAX;
    options.limits.outbox_bytes_max = OUTBOX_BYTES_MAX;
    options.limits.broken_max = BROKEN_MAX;
    options
}

/// Passes notifications on, in their order, as fast as the extension reads.
async fn feed_peer(peer: Peer, mut fed: mpsc::Receiver<Notice>) {
    while let Some(notice) = fed.recv().await {
        match notice {
            Notice::Tell(method, params) => {
                if peer.notify(method, params).await.is_err() {
                    return;
                }
            }
            // Who waited may have given up.
            Notice::Reached(reached) => drop(reached.send(())),
        }
    }
}
