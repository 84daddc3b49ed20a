//! What a process says outside of messages.

use crate::extension::Extension;
use crate::log::{LINE_BYTES_MAX, Level, Source, tagged};
use crate::shared::Shared;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::oneshot;

const READ_BYTES: usize = 4 << 10;

/// Reads lines until the end, whatever bytes they are, and logs them.
pub(super) async fn log_stderr(
    mut stderr: ChildStderr,
    shared: Arc<Shared>,
    extension: Arc<Extension>,
) {
    let mut read = [0; READ_BYTES];
    let mut line = Vec::new();
    // Ends with the pipe. An error means the same.
    while let Ok(count @ 1..) = stderr.read(&mut read).await {
        for piece in read[..count].split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES_MAX - line.len();
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                log_line(&shared, &extension, &line);
                line.clear();
            }
        }
    }
    log_line(&shared, &extension, &line);
}

fn log_line(shared: &Shared, extension: &Extension, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    let (level, said) = tagged(&line);
    if !said.is_empty() {
        shared.log(extension, Source::Stderr, level, said);
    }
}

/// Standard output that comes back when the connection is over, so that the pipe stays open: who
/// writes to a closed one dies before its own cleaning up.
pub(super) struct Lent {
    stdout: Option<ChildStdout>,
    back: Option<oneshot::Sender<ChildStdout>>,
}

impl Lent {
    pub(super) fn new(stdout: ChildStdout) -> (Lent, oneshot::Receiver<ChildStdout>) {
        let (sender, back) = oneshot::channel();
        (Lent { stdout: Some(stdout), back: Some(sender) }, back)
    }
}

impl AsyncRead for Lent {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stdout {
            Some(stdout) => Pin::new(stdout).poll_read(cx, buf),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(stdout), Some(back)) = (self.stdout.take(), self.back.take()) {
            // Nobody wants it back when the process is gone.
            let _ = back.send(stdout);
        }
    }
}

/// Reads what comes after the connection and lets go of it.
pub(super) async fn drain(
    back: oneshot::Receiver<ChildStdout>,
    shared: Arc<Shared>,
    extension: Arc<Extension>,
) {
    let Ok(mut stdout) = back.await else { return };
    let mut read = [0; READ_BYTES];
    let mut bytes = 0_u64;
    while let Ok(count @ 1..) = stdout.read(&mut read).await {
        bytes += count as u64;
    }
    if bytes > 0 {
        let said = format!("{bytes} bytes came after the connection was over");
        shared.log(&extension, Source::Host, Level::Info, &said);
    }
}
